// Builds stage configurations. Their RFC 8785 form is put together from the canonical forms of their parts,
// keys in order, because an experiment may have 100,000 trials that share nearly everything.
#include "core/experiment/plan/identity.h"

#include <algorithm>

#include "core/base/sha256.h"

namespace locus {
namespace {

// Whether a stage of this kind is the same whatever the recipe: the catalog's fact.
bool takes_recipe(const CatalogItem& stage) {
  const Json without = stage.facts.value("independent_of", Json::array());
  return std::find(without.begin(), without.end(), "recipe") == without.end();
}

std::string revisions_of(const Configuration& cell, const CatalogItem& stage) {
  Json out = Json::object();
  const auto add = [&out](const CatalogItem& item) { out[item.kind + "/" + item.id] = item.revision; };
  for (const ResolvedSection* section : {cell.dataset, cell.task, cell.model}) add(*section->item);
  if (takes_recipe(stage)) add(*cell.recipe->item);
  for (const ResolvedPrior& prior : cell.priors->list) add(*prior.item);
  add(stage);
  return canonical_json(out);
}

}  // namespace

std::vector<PlannedStage> identify(const Configuration& cell, const std::vector<ResolvedStage>& stages,
                                   std::int64_t seed) {
  std::vector<PlannedStage> out;
  for (const ResolvedStage& stage : stages) {
    PlannedStage planned;
    planned.role = stage.role;
    planned.kind = stage.item->id;
    Json inputs = Json::object();
    for (const auto& [slot, source] : stage.inputs) {
      planned.inputs.emplace_back(slot, out[source].identity);
      inputs[slot] = out[source].identity;
    }
    std::string& config = planned.config_json;
    config.append("{\"dataset\":").append(cell.dataset->canonical);
    // Known to the scheduler by the configuration, since it asks no catalog.
    if (stage.item->facts.value("exclusive", false)) config.append(",\"exclusive\":true");
    config.append(",\"inputs\":").append(canonical_json(inputs));
    config.append(",\"kind\":").append(canonical_json(planned.kind));
    config.append(",\"model\":").append(cell.model->canonical);
    config.append(",\"priors\":").append(cell.priors->canonical);
    if (takes_recipe(*stage.item)) config.append(",\"recipe\":").append(cell.recipe->canonical);
    config.append(",\"revisions\":").append(revisions_of(cell, *stage.item));
    config.append(",\"seed\":").append(canonical_json(seed));
    config.append(",\"stage\":").append(canonical_json({{"options", stage.scientific}}));
    config.append(",\"task\":").append(cell.task->canonical).append("}");
    planned.identity = sha256_hex(config);
    out.push_back(std::move(planned));
  }
  return out;
}

}  // namespace locus
