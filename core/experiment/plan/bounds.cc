// Sizes of splits beside the limits put on scoring them.
#include "core/experiment/plan/bounds.h"

#include <algorithm>

#include "core/catalog/facts.h"

namespace locus {
namespace {

// 0 where the catalog does not say.
std::int64_t images_of(const ResolvedSection& dataset, const std::string& split) {
  return images_of_split(*dataset.item, dataset.resolved, split);
}

std::int64_t number(const Json& options, const char* name) { return options.value(name, std::int64_t{0}); }

void check_limit(const std::string& field, std::int64_t limit, const std::string& split, const ResolvedSection& dataset,
                 std::vector<std::string>& out) {
  const std::int64_t all = images_of(dataset, split);
  if (all <= 0 || limit <= all) return;
  std::string sentence = field + " is " + std::to_string(limit) + ", but '" + dataset.item->id + "' has only " +
                         std::to_string(all) + " " + split + " images; all of them are used";
  if (std::find(out.begin(), out.end(), sentence) == out.end()) out.push_back(std::move(sentence));
}

}  // namespace

std::int64_t scored_images(const ResolvedStage& stage, const ResolvedSection& dataset) {
  const std::int64_t limit = number(stage.resolved, "images");
  const std::int64_t all = images_of(dataset, stage.resolved.value("split", ""));
  return all > 0 && limit >= all ? 0 : limit;
}

std::vector<std::string> unreached(const std::vector<Configuration>& cells, const std::vector<ResolvedStage>& stages) {
  std::vector<std::string> out;
  for (const Configuration& cell : cells) {
    check_limit("train.validation_images", number(cell.recipe()->resolved, "validation_images"), "validation",
                *cell.dataset(), out);
    for (const ResolvedStage& stage : stages) {
      if (stage.item->id == "evaluate")
        check_limit(stage.role + ".images", number(stage.resolved, "images"), stage.resolved.value("split", ""),
                    *cell.dataset(), out);
    }
  }
  return out;
}

std::string partial_report(const MetricContract& metric, const Json& labels, const ResolvedSection& dataset) {
  const std::int64_t images = number(labels, "images");
  if (images <= 0) return "";
  return "the reported " + metric.name + " is that of " + std::to_string(images) + " of the " +
         std::to_string(images_of(dataset, metric.reports)) + " " + metric.reports +
         " images, and is labeled so; add an evaluate stage without images for all of them";
}

}  // namespace locus
