// Builds stage configurations. Their RFC 8785 form is put together from the canonical forms of their parts,
// keys in order, because an experiment may have 100,000 trials that share nearly everything.
#include "core/experiment/plan/identity.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base/sha256.h"

namespace locus {
namespace {

using Members = std::vector<std::pair<std::string_view, std::string>>;  // name -> canonical value

// Whether another choice there makes another stage of this kind: the catalog's fact.
bool takes(const CatalogItem& stage, const Section& section) {
  const auto without = stage.facts.find("independent_of");
  return without == stage.facts.end() || std::find(without->begin(), without->end(), section.member) == without->end();
}

std::string revisions_of(const std::vector<const CatalogItem*>& items) {
  Json out = Json::object();
  for (const CatalogItem* item : items) out[item->kind + "/" + item->id] = item->revision;
  return canonical_json(out);
}

// What all trials of a cell share; a section that is left out leaves no trace.
Members shared_members(const Configuration& cell, const std::vector<Section>& sections, const ResolvedStage& stage) {
  std::vector<const CatalogItem*> items = {stage.item};
  Members out = {{"kind", canonical_json(stage.item->id)},
                 {"priors", cell.priors->canonical},
                 {"stage", canonical_json({{"options", stage.scientific}})}};
  // Known to the scheduler by the configuration, since it asks no catalog.
  if (stage.item->facts.value("exclusive", false)) out.emplace_back("exclusive", "true");
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const ResolvedSection& chosen = *cell.sections[i];
    if (chosen.canonical.empty() || !takes(*stage.item, sections[i])) continue;
    out.emplace_back(sections[i].member, chosen.canonical);
    items.push_back(chosen.item);
  }
  for (const ResolvedPrior& prior : cell.priors->list) items.push_back(prior.item);
  out.emplace_back("revisions", revisions_of(items));
  return out;
}

std::string put_together(Members members) {
  std::sort(members.begin(), members.end());
  std::string out;
  for (const auto& [name, value] : members)
    out.append(out.empty() ? "{\"" : ",\"").append(name).append("\":").append(value);
  return out + "}";
}

}  // namespace

std::vector<PlannedStage> identify(const Configuration& cell, const std::vector<Section>& sections,
                                   const std::vector<ResolvedStage>& stages, std::int64_t seed) {
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
    Members members = shared_members(cell, sections, stage);
    members.emplace_back("inputs", canonical_json(inputs));
    members.emplace_back("seed", canonical_json(seed));
    planned.config_json = put_together(std::move(members));
    planned.identity = sha256_hex(planned.config_json);
    out.push_back(std::move(planned));
  }
  return out;
}

}  // namespace locus
