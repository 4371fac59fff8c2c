// Reads phases and makes of each a specification of its own.
#include "core/experiment/plan/phases.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/ids.h"
#include "core/base/nearest.h"
#include "core/catalog/options.h"
#include "core/experiment/plan/fields.h"
#include "core/experiment/plan/key_reader.h"
#include "core/experiment/plan/search_section.h"
#include "core/limits.h"

namespace locus {
namespace {

constexpr char kPhases[] = "phases";
const char* const kReplaced[] = {"replicates", "search", "stages"};

std::vector<std::string> paths_of(const Json& json, const std::string& field, const std::vector<Section>& sections,
                                  Mistakes& mistakes) {
  std::vector<std::string> out;
  if (!mistakes.note(check_list(json, field))) return out;
  if (json.empty())
    mistakes.note(refuse(ErrorReason::kEmptyMatrix, field + " names no factor; write one, as in [train.lr]", field));
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string place = indexed(field, i);
    auto path = mistakes.value(text_of(json[i], place));
    if (!path || !mistakes.note(check_config_path(sections, *path, place))) continue;
    if (std::find(out.begin(), out.end(), *path) == out.end()) {
      out.push_back(*std::move(path));
    } else {
      mistakes.note(invalid_search(field + " names " + *path + " twice", place));
    }
  }
  return out;
}

void read_require(const Json& json, const std::string& field, PhaseChoice& out, Mistakes& mistakes) {
  if (json == "all") return;
  if (!json.is_object()) {
    mistakes.note(
        refuse(ErrorReason::kWrongType, field + " is all, or {at_least: SEEDS}, not " + describe_json(json), field));
    return;
  }
  KeyReader keys(json, field, "require", {"at_least"}, mistakes);
  keys.require("at_least", "give the seeds that a candidate must have, as in {at_least: 4}");
  out.at_least = keys.integer("at_least", 1);
}

void read_choice(const Json& json, const std::vector<Section>& sections, Phase& phase, Mistakes& mistakes) {
  const std::string field = phase.field + ".choose";
  KeyReader keys(json, field, "choose", {"factors", "by", "per", "require"}, mistakes);
  PhaseChoice out;
  phase.names_factors = keys.has("factors");
  phase.names_per = keys.has("per");
  if (phase.names_factors) out.factors = paths_of(keys["factors"], keys.at("factors"), sections, mistakes);
  if (phase.names_per) out.per = paths_of(keys["per"], keys.at("per"), sections, mistakes);
  const auto by = keys.word("by", {"mean", "median", "rank"});
  if (by == "median") out.by = ChoiceBy::kMedian;
  if (by == "rank") out.by = ChoiceBy::kRank;
  if (keys.has("require")) read_require(keys["require"], keys.at("require"), out, mistakes);
  phase.choose = std::move(out);
}

// The place of an earlier phase that chooses; a note of why there is none.
std::optional<std::size_t> chooser(const std::string& name, const std::vector<Phase>& phases,
                                   const std::vector<std::string>& names, const std::string& field,
                                   Mistakes& mistakes) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    const auto nearest = nearest_name(name, names);
    mistakes.note(refuse(ErrorReason::kInvalidSpecification,
                         "there is no phase '" + name + "'" + (nearest ? "; did you mean '" + *nearest + "'?" : ""),
                         field, {{"phase", name}}));
    return std::nullopt;
  }
  const auto place = static_cast<std::size_t>(found - names.begin());
  if (place + 1 >= phases.size()) {
    const bool self = place + 1 == phases.size();
    mistakes.note(invalid_search(std::string("a phase uses what an earlier one has chosen, and '") + name +
                                     (self ? "' is this phase itself" : "' comes later, which would make a circle") +
                                     "; put the choice first",
                                 field));
    return std::nullopt;
  }
  if (!phases[place].choose) {
    mistakes.note(
        invalid_search("the phase '" + name + "' chooses nothing; add choose: {factors: [...]} to it", field));
    return std::nullopt;
  }
  return place;
}

void read_use(const Json& json, const std::vector<Section>& sections, const std::vector<std::string>& names,
              std::vector<Phase>& phases, Mistakes& mistakes) {
  const std::string field = phases.back().field + ".use";
  if (!mistakes.note(check_mapping(json, field))) return;
  if (json.empty()) {
    mistakes.note(refuse(ErrorReason::kMissingKey,
                         field + " uses nothing; write a path and the phase that chooses it, as in {train.lr: select}",
                         field));
  }
  for (const auto& [path, value] : json.items()) {
    const std::string place = field + "." + path;
    if (!mistakes.note(check_config_path(sections, path, place))) continue;
    const auto name = mistakes.value(text_of(value, place));
    if (!name) continue;
    if (const auto from = chooser(*name, phases, names, place, mistakes)) phases.back().use.push_back({path, *from});
  }
}

// Whether it is a mapping of something.
bool filled(const Json& json, const std::string& place, Mistakes& mistakes) {
  if (!mistakes.note(check_mapping(json, place))) return false;
  if (json.empty())
    mistakes.note(refuse(ErrorReason::kEmptyMatrix, place + " says nothing; fill it or take it out", place));
  return !json.empty();
}

// The keys that the phase brings in place of the document's.
void merge_sections(const Json& json, Phase& phase, Mistakes& mistakes) {
  const std::string& field = phase.field;
  for (const char* key : kReplaced) {
    if (!json.contains(key)) continue;
    phase.document[key] = json[key];
    phase.fields[key] = field + "." + key;
  }
  for (const char* key : {"matrix", "metric"}) {
    if (!json.contains(key)) continue;
    const std::string place = field + "." + key;
    if (!filled(json[key], place, mistakes)) continue;
    if (!phase.document.contains(key) || !phase.document[key].is_object()) {
      phase.document[key] = json[key];
      phase.fields[key] = place;
      continue;
    }
    for (const auto& [name, value] : json[key].items()) {
      phase.document[key][name] = value;
      phase.fields[std::string(key) + "." + name] = place + "." + name;
    }
  }
}

std::string name_of_phase(const Json& json, const std::string& field, Mistakes& mistakes) {
  KeyReader keys(json, field, "a phase",
                 {"name", "set", "matrix", "replicates", "search", "stages", "metric", "choose", "use"}, mistakes);
  keys.require("name", "a phase needs a name that later ones can use, as in name: select");
  const auto name = keys.text("name");
  if (!name) return "";
  if (valid_name(*name)) return *name;
  mistakes.note(refuse(ErrorReason::kInvalidName,
                       "the name '" + *name + "' is not allowed; use 1 to " + std::to_string(kNameLength) +
                           " lower-case letters, digits and hyphens, a letter first and no hyphen last",
                       keys.at("name"), {{"name", *name}}));
  return "";
}

}  // namespace

const char* to_string(ChoiceBy by) {
  switch (by) {
    case ChoiceBy::kMean:
      return "mean";
    case ChoiceBy::kMedian:
      return "median";
    case ChoiceBy::kRank:
      break;
  }
  return "rank";
}

std::vector<Phase> parse_phases(const Json& document, const Catalog& catalog, Mistakes& mistakes) {
  Phase whole;
  whole.document = document;
  if (!document.is_object() || !document.contains(kPhases)) return {whole};
  whole.document.erase(kPhases);
  const Json& list = document[kPhases];
  if (!mistakes.note(check_list(list, kPhases))) return {};
  if (list.empty() || list.size() > kPhasesMost) {
    mistakes.note(refuse(list.empty() ? ErrorReason::kEmptyMatrix : ErrorReason::kLimitExceeded,
                         "phases lists " + std::to_string(list.size()) + "; give 1 to " + std::to_string(kPhasesMost) +
                             ", or leave it out",
                         kPhases));
    return {};
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < list.size(); ++i) {
    names.push_back(name_of_phase(list[i], indexed(kPhases, i), mistakes));
    if (names.back().empty() || std::find(names.begin(), names.end() - 1, names.back()) == names.end() - 1) continue;
    mistakes.note(invalid_search("two phases are called '" + names.back() + "'; a phase needs a name of its own",
                                 indexed(kPhases, i) + ".name"));
  }
  std::vector<Phase> out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_object()) continue;
    out.push_back(whole);
    Phase& phase = out.back();
    phase.name = names[i];
    phase.field = indexed(kPhases, i);
    merge_sections(list[i], phase, mistakes);
    const auto set = list[i].find("set");
    if (set != list[i].end() && filled(*set, phase.field + ".set", mistakes)) phase.set = *set;
    if (list[i].contains("choose")) read_choice(list[i]["choose"], catalog.sections(), phase, mistakes);
    if (list[i].contains("use")) read_use(list[i]["use"], catalog.sections(), names, out, mistakes);
  }
  return out;
}

absl::Status relocate_to(const Phase& phase, const absl::Status& status) {
  const auto detail = error_detail(status);
  if (!detail) return status;
  for (const auto& [from, to] : phase.fields) {
    const bool inside =
        detail->field == from || detail->field.starts_with(from + ".") || detail->field.starts_with(from + "[");
    if (!inside) continue;
    return make_error(status.code(), detail->reason, std::string(status.message()),
                      to + detail->field.substr(from.size()), detail->metadata);
  }
  return status;
}

}  // namespace locus
