// Reads the structure of a specification: keys, their types, factors, assignments, stages.
#include "core/experiment/plan/specification.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "core/base/ids.h"
#include "core/catalog/options.h"
#include "core/experiment/labels.h"
#include "core/experiment/plan/factors.h"
#include "core/experiment/plan/fields.h"
#include "core/experiment/plan/key_reader.h"
#include "core/experiment/plan/search_section.h"
#include "core/experiment/schema.h"
#include "core/limits.h"

namespace locus {
namespace {

constexpr int kPriorityMost = 1000;
constexpr int kStageSecondsMost = 31'536'000;  // a year

absl::Status parse_section(const Section& section, const Json& json, Specification& spec) {
  const std::string& name = section.key;
  if (name == section.id_path) return add_setting(spec, spec.fixed, name, json, name);
  if (!json.is_object()) spec.unread.insert(name);
  LOCUS_RETURN_IF_ERROR(check_mapping(json, name));
  Mistakes mistakes;
  for (const auto& [key, value] : json.items()) {
    if (mistakes.note(check_finite(value, name + "." + key)))
      spec.fixed[name + "." + key] = {value, "", name + "." + key};
  }
  return mistakes.status();
}

absl::Status parse_replicates(const Json& json, Specification& spec) {
  LOCUS_RETURN_IF_ERROR(check_mapping(json, "replicates"));
  LOCUS_RETURN_IF_ERROR(check_keys(json, {"seed"}, "replicates", "replicates"));
  if (!json.contains("seed")) {
    return refuse(ErrorReason::kMissingKey, "replicates needs seed, a list of integers", "replicates.seed");
  }
  const Json& seeds = json["seed"];
  const std::string field = "replicates.seed";
  LOCUS_RETURN_IF_ERROR(check_list(seeds, field));
  if (seeds.empty())
    return refuse(ErrorReason::kEmptyMatrix, "replicates.seed lists no seed; give at least one", field);
  OptionSpec rule;
  rule.name = "seed", rule.type = "integer", rule.minimum = 0;
  std::set<std::int64_t> seen;
  Mistakes mistakes;
  spec.seeds.clear();
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    const auto seed = mistakes.value(check_option(rule, seeds[i], indexed(field, i)));
    if (!seed) continue;
    spec.seeds.push_back(seed->get<std::int64_t>());
    if (seen.insert(spec.seeds.back()).second) continue;
    mistakes.note(refuse(ErrorReason::kInvalidSpecification,
                         "the seed " + show_json(*seed) + " is listed twice; a replicate needs a seed of its own",
                         indexed(field, i)));
  }
  return mistakes.status();
}

absl::StatusOr<Override> parse_override(const Json& json, const Specification& spec, const std::string& field) {
  LOCUS_RETURN_IF_ERROR(check_mapping(json, field));
  LOCUS_RETURN_IF_ERROR(check_keys(json, {"where", "set"}, "an override", field));
  for (const char* key : {"where", "set"}) {
    if (json.contains(key)) continue;
    return refuse(ErrorReason::kMissingKey, "an override needs " + std::string(key) + ": {where: {...}, set: {...}}",
                  field + "." + key);
  }
  Mistakes mistakes;
  Override one;
  one.field = field;
  if (auto where = mistakes.value(parse_assignment(spec, json["where"], field + ".where"))) one.where = *where;
  if (auto set = mistakes.value(parse_assignment(spec, json["set"], field + ".set"))) one.set = *set;
  if (!mistakes.none()) return mistakes.status();
  return one;
}

absl::Status parse_overrides(const Json& json, Specification& spec) {
  LOCUS_RETURN_IF_ERROR(check_list(json, "overrides"));
  Mistakes mistakes;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (auto one = mistakes.value(parse_override(json[i], spec, indexed("overrides", i))))
      spec.overrides.push_back(*std::move(one));
  }
  return mistakes.status();
}

absl::StatusOr<StageRequest> parse_stage(const Json& json, const std::string& field) {
  StageRequest stage;
  if (json.is_string()) {
    stage.kind = json.get<std::string>();
    stage.field = field;
  } else {
    LOCUS_RETURN_IF_ERROR(check_mapping(json, field));
    if (json.size() != 1) {
      return refuse(ErrorReason::kInvalidSpecification,
                    field + " must name exactly one stage, as in {evaluate: {resolution: [28, 42]}}", field);
    }
    stage.kind = json.begin().key();
    stage.field = field + "." + stage.kind;
    if (!json.begin()->is_null()) stage.options = *json.begin();
    LOCUS_RETURN_IF_ERROR(check_mapping(stage.options, stage.field));
  }
  if (stage.kind != "train") return stage;
  return refuse(ErrorReason::kInvalidSpecification,
                "train is always the first stage and takes its options from `train`; list only what follows it",
                stage.field);
}

absl::Status parse_stages(const Json& json, Specification& spec) {
  LOCUS_RETURN_IF_ERROR(check_list(json, "stages"));
  Mistakes mistakes;
  std::map<std::string, int> mentions;
  for (std::size_t i = 0; i < json.size(); ++i) {
    auto stage = mistakes.value(parse_stage(json[i], indexed("stages", i)));
    if (!stage) continue;
    const int mention = ++mentions[stage->kind];
    stage->role = mention == 1 ? stage->kind : stage->kind + "-" + std::to_string(mention);
    spec.stages.push_back(*std::move(stage));
  }
  return mistakes.status();
}

// {top: 3} or {at_step: 300}, as one word.
absl::StatusOr<std::string> reducer_of(const Json& json, const std::string& field) {
  for (const auto& [key, word] : {std::pair("top", "top-"), std::pair("at_step", "at-step-")}) {
    if (json.size() == 1 && json.contains(key) && json[key].is_number_integer()) return word + json[key].dump();
  }
  return refuse(ErrorReason::kWrongType, field + " is a word, {top: COUNT} or {at_step: STEP}, not " + show_json(json),
                field);
}

// {top: 3}
void read_over_seeds(const Json& json, MetricRequest& metric, Mistakes& mistakes) {
  KeyReader keys(json, "metric.over_seeds", "over_seeds", {"top"}, mistakes);
  keys.require("top",
               "metric.over_seeds says how many of the best seeds are averaged; write {top: 3}, or leave it out");
  metric.top_seeds = keys.integer("top", 1).value_or(0);
}

absl::Status parse_metric(const Json& json, Specification& spec) {
  LOCUS_RETURN_IF_ERROR(check_mapping(json, "metric"));
  MetricRequest& metric = spec.metric;
  const std::map<std::string, std::optional<std::string>*> keys = {
      {"name", &metric.name},           {"reports", &metric.reports}, {"selects_on", &metric.selects_on},
      {"direction", &metric.direction}, {"reduce", &metric.reduce},   {"unit", &metric.unit}};
  std::vector<std::string> known;
  for (const auto& [key, target] : keys) known.push_back(key);
  known.emplace_back("over_seeds");
  Mistakes mistakes;
  mistakes.note(check_keys(json, known, "metric", "metric"));
  for (const auto& [key, value] : json.items()) {
    const std::string field = "metric." + key;
    const auto found = keys.find(key);
    if (found == keys.end()) continue;
    const bool mapping = key == "reduce" && value.is_object();
    *found->second = mistakes.value(mapping ? reducer_of(value, field) : text_of(value, field));
  }
  if (json.contains("over_seeds")) read_over_seeds(json["over_seeds"], metric, mistakes);
  return mistakes.status();
}

absl::Status parse_factors_left_free(const Json& json, const std::string& field, Specification& spec) {
  if (!json.is_array()) {
    LOCUS_ASSIGN_OR_RETURN(std::string one, text_of(json, field));
    spec.matched = {std::move(one)};
    return check_config_path(*spec.sections, spec.matched.front(), field);
  }
  Mistakes mistakes;
  for (std::size_t i = 0; i < json.size(); ++i) {
    auto one = mistakes.value(text_of(json[i], indexed(field, i)));
    if (one && mistakes.note(check_config_path(*spec.sections, *one, indexed(field, i))))
      spec.matched.push_back(*std::move(one));
  }
  return mistakes.status();
}

// {except: [prior]}, or for short the list or the one path alone.
absl::Status parse_matched(const Json& json, Specification& spec) {
  if (!json.is_object()) return parse_factors_left_free(json, "matched", spec);
  LOCUS_RETURN_IF_ERROR(check_keys(json, {"except"}, "matched", "matched"));
  if (json.contains("except") && !json["except"].empty())
    return parse_factors_left_free(json["except"], "matched.except", spec);
  return refuse(ErrorReason::kMissingKey,
                "matched names what alone may differ, and here it names nothing; write matched: {except: [prior]}",
                "matched.except", {{"key", "except"}});
}

absl::Status parse_name(const Json& json, Specification& spec) {
  LOCUS_ASSIGN_OR_RETURN(spec.name, text_of(json, "name"));
  if (valid_name(spec.name)) return absl::OkStatus();
  return refuse(ErrorReason::kInvalidName,
                "the name '" + spec.name + "' is not allowed; use 1 to " + std::to_string(kNameLength) +
                    " lower-case letters, digits and hyphens, a letter first and no hyphen last",
                "name", {{"name", spec.name}});
}

absl::Status parse_priority(const Json& json, Specification& spec) {
  OptionSpec rule;
  rule.name = "priority", rule.type = "integer", rule.minimum = -kPriorityMost, rule.maximum = kPriorityMost;
  LOCUS_ASSIGN_OR_RETURN(const Json value, check_option(rule, json, "priority"));
  spec.priority = value.get<int>();
  return absl::OkStatus();
}

absl::Status parse_class(const Json& json, Specification& spec) {
  LOCUS_ASSIGN_OR_RETURN(const std::string text, text_of(json, "class"));
  const auto known = parse_service_class(text);
  if (!known) {
    return refuse(ErrorReason::kOptionOutOfRange, "class must be urgent, normal or scavenge, not \"" + text + "\"",
                  "class");
  }
  spec.service_class = *known;
  return absl::OkStatus();
}

absl::Status parse_placement(const Json& json, Specification& spec) {
  LOCUS_ASSIGN_OR_RETURN(const PlacementRules rules, read_placement(json));
  spec.placement = placement_text(rules);
  return absl::OkStatus();
}

absl::Status parse_limits(const Json& json, Specification& spec) {
  LOCUS_RETURN_IF_ERROR(check_mapping(json, "limits"));
  Mistakes mistakes;
  mistakes.note(check_keys(json, {"stage_seconds", "memory_gib"}, "limits", "limits"));
  if (json.empty()) {
    return refuse(ErrorReason::kMissingKey, "limits names no limit; write one, as in limits: {stage_seconds: 3600}",
                  "limits");
  }
  OptionSpec seconds, memory;
  seconds.name = "stage_seconds", seconds.type = "integer", seconds.minimum = 1;
  seconds.maximum = kStageSecondsMost;
  memory.name = "memory_gib", memory.type = "number", memory.exclusive_minimum = 0;
  if (json.contains(seconds.name)) {
    if (auto value = mistakes.value(check_option(seconds, json[seconds.name], "limits.stage_seconds")))
      spec.stage_seconds = value->get<std::int64_t>();
  }
  if (json.contains(memory.name)) {
    if (auto value = mistakes.value(check_option(memory, json[memory.name], "limits.memory_gib")))
      spec.memory_gib = value->get<double>();
  }
  return mistakes.status();
}

// Each phase is a specification of its own by then (plan_protocol()).
absl::Status refuse_phases(const Json&, Specification&) {
  return refuse(ErrorReason::kInvalidSpecification,
                "phases are planned one after another, and here one experiment is asked for; give each phase as a "
                "specification of its own",
                "phases");
}

absl::Status check_over_seeds(const Specification& spec) {
  const auto seeds = static_cast<std::int64_t>(spec.seeds.size());
  if (spec.metric.top_seeds <= seeds || !spec.knows_all_of("replicates")) return absl::OkStatus();
  return refuse(ErrorReason::kInvalidSpecification,
                "the best " + std::to_string(spec.metric.top_seeds) +
                    " seeds are averaged, and replicates.seed lists " + std::to_string(seeds) +
                    "; list more or lower it",
                "metric.over_seeds.top");
}

using Parse = std::function<absl::Status(const Json&, Specification&)>;

// How each key of schema.def is read that is no section.
const std::map<std::string, Parse>& keys() {
  const auto text = [](const char* key, std::string Specification::*member) -> Parse {
    return [key, member](const Json& json, Specification& spec) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(spec.*member, text_of(json, key));
      return absl::OkStatus();
    };
  };
  const auto list = [](const char* key, std::vector<Settings> Specification::*member) -> Parse {
    return [key, member](const Json& json, Specification& spec) {
      return parse_assignments(spec, json, key, spec.*member);
    };
  };
  static const std::map<std::string, Parse> table = {
      {"version", [](const Json&, Specification&) { return absl::OkStatus(); }},  // checked before anything else
      {"name", parse_name},
      {"owner", text("owner", &Specification::owner)},
      {"description", text("description", &Specification::description)},
      {"priority", parse_priority},
      {"class", parse_class},
      {"placement", parse_placement},
      {"prior",
       [](const Json& json, Specification& spec) { return add_setting(spec, spec.fixed, "prior", json, "prior"); }},
      {"matrix", parse_matrix},
      {"zip", parse_zip},
      {"include", list("include", &Specification::include)},
      {"exclude", list("exclude", &Specification::exclude)},
      {"overrides", parse_overrides},
      {"replicates", parse_replicates},
      {"search", parse_search},
      {"stages", parse_stages},
      {"baseline",
       [](const Json& json, Specification& spec) -> absl::Status {
         LOCUS_ASSIGN_OR_RETURN(spec.baseline, parse_assignment(spec, json, "baseline"));
         return absl::OkStatus();
       }},
      {"limits", parse_limits},
      {"metric", parse_metric},
      {"phases", refuse_phases},
      {"matched", parse_matched},
  };
  return table;
}

std::vector<std::string> keys_with(const std::vector<Section>& sections) {
  std::vector<std::string> out = top_level_keys();
  for (std::size_t i = kSectionsOfEvery; i < sections.size(); ++i) out.push_back(sections[i].key);
  return out;
}

absl::Status check_version(const Json& document) {
  if (!document.contains("version")) {
    return refuse(ErrorReason::kMissingKey,
                  "a specification says which version of the format it is written in; add version: 1", "version");
  }
  const Json& version = document["version"];
  if (version.is_number() && version == 1) return absl::OkStatus();
  return refuse(ErrorReason::kUnsupportedVersion,
                "version must be 1, not " + show_json(version) + "; this build reads version 1", "version",
                {{"version", show_json(version)}});
}

}  // namespace

std::optional<Specification> parse_specification(const Json& document, const std::vector<Section>& sections,
                                                 Mistakes& mistakes) {
  if (!mistakes.note(check_mapping(document, "")) || !mistakes.note(check_version(document))) return std::nullopt;
  const std::vector<std::string> known = keys_with(sections);
  Specification spec;
  spec.sections = &sections;
  // Unknown keys first: a misspelled key is the cause of whatever else is missing.
  for (const auto& [key, value] : document.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    mistakes.note(unknown_key(key, known, "the specification", key));
    spec.unread.insert("");
  }
  for (const auto& [key, value] : document.items()) {
    const auto section =
        std::find_if(sections.begin(), sections.end(), [&key = key](const Section& one) { return one.key == key; });
    if (section != sections.end()) mistakes.note(parse_section(*section, value, spec));
    const auto parse = keys().find(key);
    if (parse != keys().end()) mistakes.note(parse->second(value, spec));
  }
  mistakes.note(check_factors_once(spec));
  complete_search(spec, mistakes);
  mistakes.note(check_over_seeds(spec));
  if (!document.contains("name") && spec.knows_all_of("name")) {
    mistakes.note(
        refuse(ErrorReason::kMissingKey, "a specification needs a name, as in name: my-first-comparison", "name"));
  }
  return spec;
}

}  // namespace locus
