// Evaluates the formulas of a backbone (facts.costs) over its options and the dataset's facts.
#include "core/experiment/plan/cost.h"

#include <algorithm>
#include <optional>
#include <string>

#include "core/catalog/expression.h"

namespace locus {
namespace {

constexpr double kNumberBytes = 4;          // float32
constexpr double kCopiesOfParameters = 4;   // weights, gradients, two moments of AdamW
constexpr int kMostSteps = 8;               // formulas may name formulas, never in a circle

class Names {
 public:
  explicit Names(const Configuration& cell)
      : options_(cell.model->resolved), costs_(cell.model->item->facts.value("costs", Json::object())) {
    const Json& dataset = cell.dataset->item->facts;
    const Json extent = dataset.value("extent", Json::array());
    if (extent.size() == 2) facts_["height"] = extent[0], facts_["width"] = extent[1];
    for (const char* name : {"channels", "classes"}) {
      if (dataset.contains(name)) facts_[name] = dataset[name];
    }
  }

  // Of a formula by its name; nothing where there is none, or it names what this dataset has not.
  std::optional<double> formula(const std::string& name, int depth = 0) const {
    if (!costs_.contains(name) || !costs_[name].is_string() || depth > kMostSteps) return std::nullopt;
    const auto value = evaluate_expression(costs_[name].get<std::string>(), [&](std::string_view word) {
      const std::string text(word);
      return costs_.contains(text) ? formula(text, depth + 1) : number(text);
    });
    if (!value.ok()) return std::nullopt;
    return *value;
  }

 private:
  std::optional<double> number(const std::string& name) const {
    for (const Json* place : {&options_, &facts_}) {
      if (!place->contains(name)) continue;
      const Json& value = (*place)[name];
      if (value.is_number()) return value.get<double>();
      if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
    }
    const std::size_t dot = name.find('.');  // "pool.cls": whether the option is at that value
    if (dot == std::string::npos || !options_.contains(name.substr(0, dot))) return std::nullopt;
    return options_[name.substr(0, dot)] == name.substr(dot + 1) ? 1 : 0;
  }

  const Json& options_;
  Json costs_, facts_ = Json::object();
};

std::int64_t steps_of(const Configuration& cell) {
  const Json& recipe = cell.recipe->resolved;
  const Json splits = cell.dataset->item->facts.value("splits", Json::object());
  std::int64_t images = splits.value("train", std::int64_t{0});
  const auto limit = recipe.value("limit", std::int64_t{0});
  if (limit > 0) images = std::min(images, limit);
  const std::int64_t batch = std::min(images, recipe.value("batch", std::int64_t{0}));
  return batch > 0 ? recipe.value("epochs", std::int64_t{0}) * (images / batch) : -1;
}

}  // namespace

CellCost cost_of(const Configuration& cell) {
  CellCost out;
  out.steps = steps_of(cell);
  const Names names(cell);
  out.parameters = names.formula("parameters").value_or(-1);
  const auto activations = names.formula("activations");
  const double batch = cell.recipe->resolved.value("batch", 1.0);
  if (out.parameters >= 0 && activations)
    out.memory_bytes = kNumberBytes * (kCopiesOfParameters * out.parameters + batch * *activations);
  return out;
}

}  // namespace locus
