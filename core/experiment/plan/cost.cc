// Evaluates the formulas of a backbone and its priors (facts.costs) over their options and the dataset's facts.
#include "core/experiment/plan/cost.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "core/catalog/expression.h"
#include "core/catalog/facts.h"

namespace locus {
namespace {

constexpr double kNumberBytes = 4;         // float32
constexpr double kCopiesOfParameters = 4;  // weights, gradients, two moments of AdamW
constexpr double kLabelBytes = 8;          // of an image in memory, beside a byte a pixel and channel
constexpr int kMostSteps = 8;              // formulas may name formulas, never in a circle

// A number or a boolean of that name among `options`, or whether one of them has a value: "pool.cls". A list is how
// many it holds.
std::optional<double> number_in(const Json& options, const std::string& name) {
  if (const auto found = options.find(name); found != options.end()) {
    if (found->is_number()) return found->get<double>();
    if (found->is_boolean()) return found->get<bool>() ? 1 : 0;
    if (found->is_array()) return static_cast<double>(found->size());
  }
  const std::size_t dot = name.find('.');
  if (dot == std::string::npos) return std::nullopt;
  const auto found = options.find(name.substr(0, dot));
  if (found == options.end()) return std::nullopt;
  return *found == name.substr(dot + 1) ? 1 : 0;
}

using Lookup = std::function<std::optional<double>(const std::string& name)>;

// The formulas of one item over its own options, and over what else is known.
class Formulas {
 public:
  Formulas(const CatalogItem& item, const Json& options, Lookup beyond)
      : options_(options), costs_(item.facts.value("costs", Json::object())), beyond_(std::move(beyond)) {}

  // Nothing where there is no formula of that name, or it names what this model or dataset has not.
  std::optional<double> formula(const std::string& name, int depth = 0) const {
    if (!costs_.contains(name) || !costs_[name].is_string() || depth > kMostSteps) return std::nullopt;
    const auto value = evaluate_expression(costs_[name].get<std::string>(),
                                           [&](std::string_view word) { return named(std::string(word), depth + 1); });
    if (!value.ok()) return std::nullopt;
    return *value;
  }
  std::optional<double> named(const std::string& name, int depth = 0) const {
    if (costs_.contains(name)) return formula(name, depth);
    if (const auto own = number_in(options_, name)) return own;
    return beyond_(name);
  }

 private:
  const Json& options_;
  Json costs_;
  Lookup beyond_;
};

// Of images of that extent.
Json facts_of(const ResolvedSection& dataset, const Json& extent) {
  const Json facts = dataset_facts(*dataset.item, dataset.resolved);
  Json out = Json::object();
  if (extent.size() == 2) out["height"] = extent[0], out["width"] = extent[1];
  for (const char* name : {"channels", "classes", "rank"}) {
    if (facts.contains(name)) out[name] = facts[name];
  }
  return out;
}

// Where the prefix tokens are, which one prior decides and others' tables go by.
struct Prefix {
  double at_stem = 0;  // how many the stem has
  double blocks = 0;   // how many blocks have them
};

class Network {
 public:
  explicit Network(const Configuration& cell)
      : facts_(facts_of(*cell.dataset(), cell.images.extent)),
        model_(*cell.model()->item, cell.model()->resolved,
               [this](const std::string& name) { return number_in(facts_, name); }) {
    if (cell.priors == nullptr) return;
    for (const ResolvedPrior& prior : cell.priors->list) {
      names_.push_back(prior.item->id);
      alike_.push_back(prior.stages.differs.empty());
      priors_.emplace_back(*prior.item, prior.resolved, [this](const std::string& name) { return shared(name); });
    }
    place_prefix();
  }
  Network(const Network&) = delete;  // the formulas refer to it
  Network& operator=(const Network&) = delete;

  std::optional<double> activations() const { return model_.formula("activations"); }

  void count(CellCost& out) const {
    const auto bare = model_.formula("parameters");
    double own = 0, replaced = 0;
    for (std::size_t i = 0; i < priors_.size(); ++i) {
      const auto count = alike_[i] ? priors_[i].formula("parameters") : std::nullopt;
      if (!count) out.uncounted.push_back(names_[i]);
      own += count.value_or(0);
      replaced += priors_[i].formula("replaced").value_or(0);
      out.training_parameters += priors_[i].formula("training_only").value_or(0);
    }
    if (out.uncounted.empty()) out.prior_parameters = own;
    if (bare) out.parameters = *bare - replaced + own;
  }

 private:
  std::optional<double> shared(const std::string& name) const {
    if (name == "stem_prefix") return prefix_.at_stem;
    if (name == "prefixed") return prefix_.blocks;
    return model_.named(name);
  }
  void place_prefix() {
    const double tokens = model_.named("prefix").value_or(0), depth = model_.named("depth").value_or(0);
    double from = 0;
    for (const Formulas& prior : priors_) from = std::max(from, prior.formula("prefix_from").value_or(0));
    from = std::min(from, depth - 1);
    prefix_ = {from > 0 ? 0 : tokens, tokens > 0 ? depth - from : 0};
  }

  Json facts_;
  Formulas model_;
  std::vector<std::string> names_;
  std::vector<bool> alike_;  // in every stage of the backbone: formulas speak of one setting
  std::vector<Formulas> priors_;
  Prefix prefix_;
};

// Of the training images, which are kept as bytes where they are used; none of those that are read from files as they are
// needed (facts.stored, or facts.resident false), or that have no size in common.
double resident_bytes(const ResolvedSection& dataset) {
  const Json known = dataset_facts(*dataset.item, dataset.resolved);
  if (!known.value("resident", !known.contains("stored"))) return 0;
  const Json facts = facts_of(dataset, dataset_extent(*dataset.item, dataset.resolved));
  double pixels = 1;
  for (const char* side : {"height", "width", "channels"}) pixels *= facts.value(side, 0.0);
  const auto images = static_cast<double>(images_of_split(*dataset.item, dataset.resolved, "train"));
  return pixels > 0 ? images * (pixels + kLabelBytes) : 0;
}

}  // namespace

CellCost cost_of(const Configuration& cell) {
  CellCost out;
  const Network network(cell);
  network.count(out);
  out.data_bytes = resident_bytes(*cell.dataset());
  const auto activations = network.activations();
  const Json& recipe = cell.recipe()->resolved;
  const double batch = std::ceil(recipe.value("batch", 1.0) / recipe.value("accumulate", 1.0));  // at once
  if (out.parameters < 0 || !activations) return out;
  const double trained = out.parameters + out.training_parameters;
  out.memory_bytes = kNumberBytes * (kCopiesOfParameters * trained + batch * *activations) + out.data_bytes;
  return out;
}

}  // namespace locus
