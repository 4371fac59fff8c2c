// Resolves every cell's sections and checks them against each other.
#include "core/experiment/plan/configure.h"

#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/experiment/plan/cost.h"
#include "core/experiment/plan/refusals.h"
#include "core/experiment/plan/remarks.h"

namespace locus {
namespace {

constexpr int kMostFailures = 1000;  // cells: by then every value of a large matrix has been seen

std::string section_of(const std::string& path) { return path.substr(0, path.find('.')); }

// The sections whose values a survey brings together as no cell may.
std::set<std::string> loose_sections(const Specification& spec) {
  std::set<std::string> out;
  const auto add = [&out](const Settings& settings) {
    for (const auto& [path, setting] : settings) out.insert(section_of(path));
  };
  for (const std::string& path : spec.unread) out.insert(section_of(path));
  for (const Axis& axis : spec.axes) {
    for (const Factor& factor : axis) {
      if (factor.path != "prior" || !spec.exclude.empty()) out.insert(section_of(factor.path));
    }
  }
  for (const Settings& one : spec.include) add(one);
  for (const Override& one : spec.overrides) add(one.set);
  return out;
}

class Configurer {
 public:
  Configurer(const Specification& spec, bool surveyed, Resolver& resolver, Mistakes& mistakes)
      : spec_(spec), resolver_(resolver), mistakes_(mistakes) {
    if (surveyed) loose_ = loose_sections(spec);
  }

  // The sections and priors of a cell, null where they have no meaning, checked against each other.
  Configuration configure(Effective settings) {
    Configuration out;
    for (const Section& one : resolver_.catalog().sections()) {
      out.sections.push_back(section(one, settings));
      if (out.sections.size() - 1 != kDatasetSection || !out.dataset()) continue;
      add_defaults_of(*out.dataset()->item, resolver_, settings);
    }
    out.priors = priors(settings);
    if (!out.model() || !out.dataset()) return out;
    out.images = model_images(*out.dataset(), out.sections);
    if (out.recipe()) out.images.batch = batch_at_once(out.recipe()->resolved);
    if (!note(check_images(out.images, *out.dataset(), resolver_.catalog()), {"dataset"})) return out;
    check_sections(out, settings);
    if (out.recipe()) note(check_size(out, cost(out), spec_.memory_gib), {"model", "dataset", "train"});
    if (out.priors)
      note(check_together(*out.priors, *out.model(), *out.dataset(), out.images), {"prior", "model", "dataset"});
    return out;
  }

  void check_stages(const std::vector<ResolvedStage>& stages, const Configuration& cell) {
    if (!cell.dataset() || !cell.model()) return;
    note(check_splits(stages, *cell.dataset()), {"dataset"});
    if (cell.recipe()) note(check_best(stages, *cell.recipe(), *cell.dataset()), {"train", "dataset"});
    for (const ResolvedStage& stage : stages) {
      note(check_requirements(*stage.item, stage.resolved, *cell.model(), cell.images, stage.field),
           {"model", "dataset"});
      if (cell.task() != nullptr)
        note(check_map_options(*stage.item, stage.resolved, *cell.task()->item, stage.field), {"task"});
    }
  }

  bool note(const absl::Status& status, std::initializer_list<std::string> sections = {}) {
    bool firm = true;
    for (const std::string& section : sections) firm &= !loose_.contains("") && !loose_.contains(section);
    if (firm) return mistakes_.note(status);
    for (const absl::Status& one : violations_of(status).list) {
      const auto detail = error_detail(one);
      const bool together = detail && (detail->reason == ErrorReason::kConstraintViolated ||
                                       detail->reason == ErrorReason::kConflictingPriors ||
                                       detail->reason == ErrorReason::kLimitExceeded);
      if (!together) mistakes_.note(one);
    }
    return status.ok();
  }

  // Of a cell with dataset, model and recipe: cells that differ in nothing but seeds cost the same.
  const CellCost& cost(const Configuration& cell) {
    const auto [found, fresh] = costs_.try_emplace({cell.sections, cell.priors});
    if (fresh) found->second = cost_of(cell);
    return found->second;
  }

 private:
  const ResolvedSection* section(const Section& section, const Effective& settings) {
    if (!settings.contains(section.id_path) && !spec_.knows_all_of(section.id_path)) return nullptr;
    const auto found = resolver_.section(section, settings);
    return note(found.status(), {section.key}) ? *found : nullptr;
  }

  // What the items ask of the model, the dataset and the task.
  void check_sections(const Configuration& cell, const Effective& settings) {
    const auto& sections = resolver_.catalog().sections();
    for (std::size_t i = 0; i < sections.size(); ++i) {
      if (!cell.sections[i]) continue;
      const ResolvedSection& chosen = *cell.sections[i];
      absl::Status met = check_requirements(*chosen.item, chosen.resolved, *cell.model(), cell.images, sections[i].key);
      if (met.ok()) met = check_refusals(*chosen.item, chosen.resolved, *cell.model(), cell.images, sections[i].key);
      note(relocate(met, settings), {sections[i].key, "model", "dataset"});
      if (cell.task() == nullptr) continue;
      note(relocate(check_served(*chosen.item, *cell.task()->item, sections[i].id_path), settings),
           {sections[i].key, "task"});
    }
    if (cell.task() == nullptr) return;
    note(relocate(check_target(*cell.task()->item, *cell.dataset()->item, "task"), settings), {"task", "dataset"});
  }

  const ResolvedPriors* priors(const Effective& settings) {
    const auto prior = settings.find("prior");
    if (prior != settings.end()) {
      const auto found = resolver_.priors(*prior->second);
      return mistakes_.note(found.status()) ? *found : nullptr;
    }
    if (spec_.knows_all_of("prior")) {
      mistakes_.note(refuse(ErrorReason::kMissingKey,
                            "the specification names no prior; add it as a factor, matrix: {prior: [none, "
                            "learned-absolute]}, or fixed, prior: none",
                            "prior", {{"key", "prior"}}));
    }
    return nullptr;
  }

  const Specification& spec_;
  Resolver& resolver_;
  Mistakes& mistakes_;
  std::set<std::string> loose_;
  std::map<std::pair<std::vector<const ResolvedSection*>, const ResolvedPriors*>, CellCost> costs_;
};

}  // namespace

Effective effective_settings(const Specification& spec, const CellDraft& cell, const Resolver& resolver) {
  Effective out;
  for (const Settings* layer : {&resolver.initial(), &spec.fixed}) {
    for (const auto& [path, setting] : *layer) out[path] = &setting;
  }
  for (const auto& [path, setting] : cell.assignment) out[path] = setting;
  for (const Override* one : cell.overrides) {
    for (const auto& [path, setting] : one->set) out[path] = &setting;
  }
  return out;
}

void add_defaults_of(const CatalogItem& dataset, Resolver& resolver, Effective& settings) {
  const Settings& initial = resolver.initial();
  for (const auto& [path, setting] : resolver.defaults_of(dataset)) {
    const auto [found, fresh] = settings.emplace(path, &setting);
    if (fresh) continue;
    const auto usual = initial.find(path);
    if (usual != initial.end() && found->second == &usual->second) found->second = &setting;
  }
}

std::optional<Configured> configure(const Specification& spec, const std::vector<CellDraft>& drafts, bool surveyed,
                                    Resolver& resolver, Mistakes& mistakes) {
  Configured out;
  Configurer configurer(spec, surveyed, resolver, mistakes);
  const Configuration first = configurer.configure(effective_settings(spec, drafts.front(), resolver));
  bool staged = false;
  if (first.task()) {
    // Stages are looked at under the contract, or the usual one where that is wrong.
    out.metric = mistakes.value(resolve_metric(spec.metric, *first.task())).value_or(MetricContract{});
    auto stages = mistakes.value(resolve_stages(spec, out.metric, resolver.catalog(), out.warnings));
    staged = stages.has_value();
    if (staged) out.stages = *std::move(stages);
  }
  int failures = 0;
  for (const CellDraft& draft : drafts) {
    const Configuration one = configurer.configure(effective_settings(spec, draft, resolver));
    if (one.task() && one.task() != first.task()) mistakes.note(resolve_metric(spec.metric, *one.task()).status());
    if (staged) configurer.check_stages(out.stages, one);
    out.cells.push_back(one);
    if (!mistakes.none() && ++failures > kMostFailures) break;
  }
  if (!mistakes.none()) return std::nullopt;
  for (const Configuration& one : out.cells) out.costs.push_back(configurer.cost(one));
  return out;
}

}  // namespace locus
