// Compares what a recipe asks for with what there is.
#include "core/experiment/plan/remarks.h"

#include <cstdio>
#include <utility>

#include "core/catalog/facts.h"
#include "core/catalog/options.h"

namespace locus {
namespace {

std::string three_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value < 100 ? "%.3g" : "%.0f", value);
  return text;
}

// Three digits, with the word for the rest: "1.65 trillion".
std::string rounded(double value) {
  constexpr std::pair<double, const char*> kWords[] = {{1e12, " trillion"}, {1e9, " billion"}, {1e6, " million"}};
  for (const auto& [size, word] : kWords) {
    if (value >= size) return three_digits(value / size) + word;
  }
  return three_digits(value);
}

}  // namespace

std::vector<std::string> unfilled(const Configuration& cell) {
  std::vector<std::string> out;
  const std::int64_t images = images_of_split(*cell.dataset()->item, cell.dataset()->resolved, "train");
  if (images <= 0) return out;
  const Json& recipe = cell.recipe()->resolved;
  const auto limit = recipe.value("limit", std::int64_t{0}), batch = recipe.value("batch", std::int64_t{0});
  if (limit > images) {
    out.push_back("train.limit is " + show_json(limit) + ", but '" + cell.dataset()->item->id + "' has only " +
                  show_json(images) + " training images; all of them are used");
  }
  const std::int64_t used = limit > 0 && limit < images ? limit : images;
  if (batch > used) {
    out.push_back("train.batch is " + show_json(batch) + ", but an epoch has only " + show_json(used) +
                  " images; every step takes all of them");
  }
  return out;
}

absl::Status check_size(const Configuration& cell, const CellCost& cost, double memory_gib) {
  constexpr double kGib = 1024.0 * 1024 * 1024;
  const double gib = cost.memory_bytes / kGib;
  if (gib <= memory_gib) return absl::OkStatus();
  const std::string needs = rounded(gib);
  return refuse(ErrorReason::kLimitExceeded,
                "a model of about " + rounded(cost.parameters) + " parameters, trained on " +
                    show_json(cell.recipe()->resolved.value("batch", 1)) + " images a step, needs about " + needs +
                    " GiB of memory, and limits.memory_gib is " + show_json(memory_gib) +
                    "; make it smaller, or raise limits.memory_gib if it is meant",
                "limits.memory_gib", {{"memory_gib", needs}, {"parameters", rounded(cost.parameters)}});
}

}  // namespace locus
