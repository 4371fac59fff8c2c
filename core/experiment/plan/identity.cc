// Builds stage configurations. Their RFC 8785 form is put together from the canonical forms of their parts,
// keys in order, because an experiment may have 100,000 trials that share nearly everything.
#include "core/experiment/plan/identity.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base/sha256.h"
#include "core/experiment/required_code.h"

namespace locus {
namespace {

using Members = std::vector<std::pair<std::string_view, std::string>>;  // name -> canonical value

// Whether another choice there makes another stage of this kind: the catalog's fact.
bool takes(const CatalogItem& stage, const Section& section) {
  const auto without = stage.facts.find("independent_of");
  return without == stage.facts.end() || std::find(without->begin(), without->end(), section.member) == without->end();
}

// Whether the section is part of what a stage of this kind is.
bool counts(const CatalogItem& stage, const Section& section, const ResolvedSection& chosen) {
  return !chosen.canonical.empty() && takes(stage, section);
}

// Revisions of catalog items, without the copies of datasets and the code of extensions that workers are asked for beside
// them.
Json item_revisions(const StageRequirements& asked) {
  Json out = Json::object();
  for (const auto& [item, revision] : asked.revisions) {
    if (item.find(kCopyMark) == std::string::npos) out[item] = revision;
  }
  return out;
}

// The code of others that the stage runs, by name: their digests.
Json extension_digests(const StageRequirements& asked) {
  Json out = Json::object();
  for (const auto& [item, revision] : asked.revisions) {
    const auto [name, digest] = extension_of_requirement(item);
    if (!name.empty()) out[std::string(name)] = digest;
  }
  return out;
}

// What all trials of a cell share; a section that is left out leaves no trace.
Members shared_members(const Configuration& cell, const std::vector<Section>& sections, const ResolvedStage& stage,
                       const StageRequirements& asked) {
  Members out = {{"kind", canonical_json(stage.item->id)},
                 {"priors", cell.priors->canonical},
                 {"revisions", canonical_json(item_revisions(asked))},
                 {"stage", canonical_json({{"options", stage.scientific}})}};
  // Known to the daemon by the configuration, since it asks no catalog.
  if (asked.exclusive) out.emplace_back("exclusive", "true");
  if (const Json digests = extension_digests(asked); !digests.empty())
    out.emplace_back("extensions", canonical_json(digests));
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const ResolvedSection& chosen = *cell.sections[i];
    if (counts(*stage.item, sections[i], chosen)) out.emplace_back(sections[i].member, chosen.canonical);
  }
  return out;
}

// A training of its own does what items of this tree would do beside its own: of those only the data is asked.
StageRequirements items_asked(const std::vector<const CatalogItem*>& items) {
  StageRequirements asked;
  const bool own_training =
      std::ranges::any_of(items, [](const CatalogItem* item) { return item->origin.by == kTrainingOrigin; });
  for (const CatalogItem* item : items) {
    if (own_training && !item->origin.outside() && item->kind != "dataset") continue;
    asked.revisions[item->kind + "/" + item->id] = item->revision;
    if (item->origin.outside())
      asked.revisions[extension_requirement(item->origin.name, item->origin.digest)] = kCopyRevision;
  }
  return asked;
}

std::string put_together(Members members) {
  std::sort(members.begin(), members.end());
  std::string out;
  for (const auto& [name, value] : members)
    out.append(out.empty() ? "{\"" : ",\"").append(name).append("\":").append(value);
  return out + "}";
}

}  // namespace

std::vector<RequirementsPtr> requirements_of(const Configuration& cell, const std::vector<Section>& sections,
                                             const std::vector<ResolvedStage>& stages, std::int64_t training_bytes) {
  std::vector<RequirementsPtr> out;
  for (const ResolvedStage& stage : stages) {
    std::vector<const CatalogItem*> items = {stage.item};
    for (std::size_t i = 0; i < sections.size(); ++i) {
      if (counts(*stage.item, sections[i], *cell.sections[i])) items.push_back(cell.sections[i]->item);
    }
    for (const ResolvedPrior& prior : cell.priors->list) items.push_back(prior.item);
    StageRequirements asked = items_asked(items);
    for (std::size_t i = 0; i < sections.size(); ++i) {
      const ResolvedSection& chosen = *cell.sections[i];
      if (chosen.item->kind != "dataset" || !counts(*stage.item, sections[i], chosen)) continue;
      const std::string manifest = chosen.resolved.value("manifest", "");
      if (!manifest.empty()) asked.revisions["dataset/" + chosen.item->id + kCopyMark + manifest] = kCopyRevision;
    }
    asked.exclusive = stage.item->facts.value("exclusive", false);
    if (stage.item->id == "train") asked.memory_bytes = training_bytes;
    out.push_back(std::make_shared<const StageRequirements>(std::move(asked)));
  }
  return out;
}

std::vector<PlannedStage> identify(const Configuration& cell, const std::vector<Section>& sections,
                                   const std::vector<ResolvedStage>& stages,
                                   const std::vector<RequirementsPtr>& requirements, std::int64_t seed) {
  std::vector<PlannedStage> out;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const ResolvedStage& stage = stages[i];
    PlannedStage planned;
    planned.requirements = requirements[i];
    planned.role = stage.role;
    planned.kind = stage.item->id;
    Json inputs = Json::object();
    for (const auto& [slot, source] : stage.inputs) {
      planned.inputs.emplace_back(slot, out[source].identity);
      inputs[slot] = out[source].identity;
    }
    Members members = shared_members(cell, sections, stage, *requirements[i]);
    members.emplace_back("inputs", canonical_json(inputs));
    members.emplace_back("seed", canonical_json(seed));
    planned.config_json = put_together(std::move(members));
    planned.identity = sha256_hex(planned.config_json);
    out.push_back(std::move(planned));
  }
  return out;
}

}  // namespace locus
