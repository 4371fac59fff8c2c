// Compares effective configurations.
#include "core/experiment/plan/matched.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/text.h"

namespace locus {
namespace {

using Flat = std::map<std::string, std::string>;  // config path -> canonical value, defaults included

void flatten(const Section& section, const ResolvedSection& resolved, Flat& out) {
  out[section.id_path] = resolved.item->id;
  for (const auto& [name, value] : resolved.resolved.items()) {
    out[section.key + "." + name] = canonical_json(value);
  }
}

Flat flatten(const Configuration& cell, const std::vector<Section>& sections) {
  Flat out;
  for (std::size_t i = 0; i < sections.size(); ++i) flatten(sections[i], *cell.sections[i], out);
  out["prior"] = cell.priors->canonical;
  return out;
}

// Splits a configuration into the declared factors and the rest; naming a dataset or task names its options
// too.
std::pair<Flat, Flat> split(const Flat& flat, const std::vector<std::string>& declared) {
  std::pair<Flat, Flat> out;
  for (const auto& [path, value] : flat) {
    const bool named = std::any_of(declared.begin(), declared.end(), [&path = path](const std::string& name) {
      return path == name || path.starts_with(name + ".");
    });
    (named ? out.first : out.second)[path] = value;
  }
  return out;
}

// The declared paths, and with a size (model.size) the options that sizes of the section's item give.
std::vector<std::string> with_sizes(const std::vector<std::string>& declared, const std::vector<Section>& sections,
                                    const std::vector<Configuration>& configurations) {
  std::set<std::string> out(declared.begin(), declared.end());
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const std::string start = sections[i].key + ".";
    if (!out.contains(start + kSizeKey)) continue;
    for (const Configuration& one : configurations) {
      for (const auto& [size, options] : one.sections[i]->item->presets) {
        for (const auto& [option, value] : options.items()) out.insert(start + option);
      }
    }
  }
  return {out.begin(), out.end()};
}

std::string differing_paths(const Flat& a, const Flat& b) {
  std::string out;
  for (const auto& [path, value] : a) {
    const auto other = b.find(path);
    if (other != b.end() && other->second == value) continue;
    out +=
        (out.empty() ? "" : ", ") + path + " (" + value + " or " + (other == b.end() ? "absent" : other->second) + ")";
  }
  return out.empty() ? "an option only one of them has" : out;
}

}  // namespace

std::map<std::string, std::string> effective_values(const Configuration& cell, const std::vector<Section>& sections) {
  Flat out = flatten(cell, sections);
  for (const Section& section : sections) out[section.id_path] = canonical_json(out[section.id_path]);
  return out;
}

absl::Status prove_matched(const Specification& spec, const std::vector<CellDraft>& cells,
                           const std::vector<Configuration>& configurations, const std::vector<std::string>& labels) {
  if (spec.matched.empty()) return absl::OkStatus();
  const std::vector<std::string> declared = with_sizes(spec.matched, *spec.sections, configurations);
  std::set<Flat> treatments;
  std::map<Flat, std::map<Flat, std::size_t>> by_rest;  // everything else -> treatment -> a cell
  for (std::size_t i = 0; i < cells.size(); ++i) {
    auto [treatment, rest] = split(flatten(configurations[i], *spec.sections), declared);
    treatments.insert(treatment);
    by_rest[rest].emplace(treatment, i);
  }
  const auto fullest = std::max_element(by_rest.begin(), by_rest.end(),
                                        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  for (const auto& group : by_rest) {
    if (group.second.size() == treatments.size()) continue;
    const auto& other =
        &group == &*fullest ? *(fullest == by_rest.begin() ? std::next(fullest) : by_rest.begin()) : *fullest;
    const std::size_t a = group.second.begin()->second, b = other.second.begin()->second;
    return refuse(ErrorReason::kConstraintViolated,
                  "the specification says that only " + joined(spec.matched) + " differs, but '" + labels[a] +
                      "' and '" + labels[b] + "' also differ in " + differing_paths(group.first, other.first) +
                      ", and not every value of the one comes with every value of the other; make them equal "
                      "or take `matched` out",
                  "matched", {{"cell", labels[a]}, {"other", labels[b]}});
  }
  return absl::OkStatus();
}

std::string describe_difference(const std::vector<CellDraft>& cells, const Values& values,
                                const std::vector<Configuration>& configurations) {
  bool priors_differ = false, rest_differs = false;
  const Configuration& first = configurations.front();
  for (const Configuration& c : configurations) {
    priors_differ |= c.priors->canonical != first.priors->canonical;
    for (std::size_t i = 0; i < c.sections.size(); ++i)
      rest_differs |= c.sections[i]->canonical != first.sections[i]->canonical;
  }
  if (!rest_differs) return priors_differ ? "only the prior differs" : "nothing differs";
  std::map<std::string, std::set<std::string>> varied;
  std::set<std::string> paths;
  for (const CellDraft& cell : cells) {
    for (const auto& [path, setting] : cell.assignment) varied[std::string(path)].insert(values.of(setting).key);
    for (const Override* one : cell.overrides) {
      for (const auto& [path, setting] : one->set) paths.insert(path);
    }
  }
  for (const auto& [path, keys] : varied) {
    if (keys.size() > 1) paths.insert(path);
  }
  paths.erase("prior");
  return (priors_differ ? "besides the prior: " : "the prior is the same; ") + joined(paths) +
         (paths.size() == 1 ? " differs" : " differ");
}

}  // namespace locus
