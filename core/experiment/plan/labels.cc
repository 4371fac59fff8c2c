// Labels of cells.
#include "core/experiment/plan/labels.h"

#include <algorithm>
#include <set>

namespace locus {
namespace {

std::string ids_of(const ResolvedPriors& priors) {
  std::string out;
  for (const ResolvedPrior& prior : priors.list) out += (out.empty() ? "" : " + ") + prior.item->id;
  return out;
}

// The complete options of a prior, so that a default and a given value compare.
Json complete(const Resolver& resolver, const ResolvedPrior& prior) {
  const auto resolved = resolver.catalog().resolve(*prior.item, prior.given, prior.field);
  return resolved.ok() ? *resolved : prior.scientific;
}

}  // namespace

CellLabels::CellLabels(const std::vector<CellDraft>& cells, const Specification& spec, const Values& values,
                       Resolver& resolver)
    : spec_(spec), values_(values), resolver_(resolver) {
  std::map<std::string, std::set<std::string>> distinct;
  std::map<std::string, std::set<const Setting*>> by_ids;
  for (const CellDraft& cell : cells) {
    for (const auto& [path, setting] : cell.assignment) {
      distinct[std::string(path)].insert(values.of(setting).key);
      if (path == "prior") by_ids[values.of(setting).ids].insert(setting);
    }
  }
  std::map<std::string, int> uses;
  const auto last = [](const std::string& path) { return path.substr(path.rfind('.') + 1); };
  for (const auto& [path, keys] : distinct) {
    if (path != "prior" && keys.size() > 1) ++uses[last(path)];
  }
  for (const auto& [path, keys] : distinct) {
    if (path != "prior" && keys.size() > 1) short_names_[path] = uses[last(path)] > 1 ? path : last(path);
  }
  for (const auto& [ids, settings] : by_ids) {
    auto& telling = telling_[ids];
    std::vector<std::map<std::string, std::set<std::string>>> seen;
    for (const Setting* setting : settings) {
      const auto priors = resolver.priors(*setting);
      if (!priors.ok()) continue;
      seen.resize((*priors)->list.size());
      for (std::size_t i = 0; i < seen.size(); ++i) {
        const Json options = complete(resolver, (*priors)->list[i]);
        for (const auto& [name, value] : options.items()) seen[i][name].insert(canonical_json(value));
      }
    }
    telling.resize(seen.size());
    for (std::size_t i = 0; i < seen.size(); ++i) {
      for (const auto& [name, options] : seen[i]) {
        if (options.size() > 1) telling[i].insert(name);
      }
    }
    for (const Setting* setting : settings) texts_[setting] = make_text(*setting);
  }
}

std::string CellLabels::prior_text(const Setting& setting) const {
  const auto known = texts_.find(&setting);
  return known == texts_.end() ? make_text(setting) : known->second;
}

std::string CellLabels::make_text(const Setting& setting) const {
  if (!setting.label.empty()) return setting.label;
  const auto priors = resolver_.priors(setting);
  if (!priors.ok()) return "";
  const auto telling = telling_.find(ids_of(**priors));
  std::string out;
  for (std::size_t i = 0; i < (*priors)->list.size(); ++i) {
    const ResolvedPrior& prior = (*priors)->list[i];
    const bool told = telling != telling_.end() && i < telling->second.size();
    out += (out.empty() ? "" : " + ") + resolver_.text(*prior.item, prior.given,
                                                       told ? telling->second[i] : std::set<std::string>{},
                                                       prior.stages.differs);
  }
  return out;
}

std::string CellLabels::value(const std::string& path, const Setting& setting) const {
  if (path == "prior") return prior_text(setting);
  return setting.label.empty() ? values_.of(&setting).text : setting.label;
}

std::string CellLabels::label(const CellDraft& cell) const {
  const auto prior = cell.assignment.find("prior");
  std::string out;
  if (prior != cell.assignment.end()) {
    out = prior_text(*prior->second);
  } else if (const auto fixed = spec_.fixed.find("prior"); fixed != spec_.fixed.end()) {
    out = prior_text(fixed->second);
  }
  for (const auto& [path, setting] : cell.assignment) {
    const auto name = short_names_.find(std::string(path));
    if (name == short_names_.end()) continue;
    const std::string text = setting->label.empty() ? name->second + "=" + values_.of(setting).text : setting->label;
    out += (out.empty() ? "" : ", ") + text;
  }
  return out;
}

}  // namespace locus
