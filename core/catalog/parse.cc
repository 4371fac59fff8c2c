// Reads a catalog document (docs/formats/catalog.md) and refuses what breaks the format.
#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/base/sha256.h"
#include "core/catalog/catalog.h"
#include "core/catalog/options.h"

namespace locus {
namespace {

constexpr const char* kKindsOfNoSection[] = {"prior", "stage"};
// Of every stage configuration, besides the sections.
constexpr const char* kMembers[] = {"exclusive", "extensions", "inputs", "kind",
                                    "priors",    "revisions",  "seed",   "stage"};
constexpr const char* kScalarTypes[] = {"integer", "number", "string", "boolean"};

absl::Status malformed(const std::string& what, const std::string& field) {
  return make_error(
      absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidSpecification,
      "the catalog is malformed at " + field + ": " + what + "; print it again with `locus-trainer catalog`", field);
}

template <class List>
bool among(const List& list, const std::string& value) {
  return std::find(std::begin(list), std::end(list), value) != std::end(list);
}

// Typed reads that remember the first failure, so that a parser reads as a list of fields.
class MemberReader {
 public:
  MemberReader(const Json& object, std::string field) : object_(object), field_(std::move(field)) {
    if (!object_.is_object()) fail("expected an object", field_);
  }

  std::string text(const char* key, bool required = false) {
    const Json* value = get(key, required);
    if (!value) return {};
    if (!value->is_string()) return fail("expected a string", at(key)), std::string();
    return value->get<std::string>();
  }
  bool flag(const char* key) {
    const Json* value = get(key, false);
    if (value && !value->is_boolean()) fail("expected true or false", at(key));
    return value && value->is_boolean() && value->get<bool>();
  }
  std::optional<double> number(const char* key) {
    const Json* value = get(key, false);
    if (!value) return std::nullopt;
    if (!value->is_number()) return fail("expected a number", at(key)), std::nullopt;
    return value->get<double>();
  }
  std::vector<std::string> texts(const char* key) {
    std::vector<std::string> out;
    for (const Json& element : list(key)) {
      if (!element.is_string()) return fail("expected a list of strings", at(key)), out;
      out.push_back(element.get<std::string>());
    }
    return out;
  }
  const Json& list(const char* key) {
    static const Json kEmpty = Json::array();
    const Json* value = get(key, false);
    if (!value) return kEmpty;
    if (!value->is_array()) return fail("expected a list", at(key)), kEmpty;
    return *value;
  }
  Json any(const char* key) {
    const Json* value = get(key, false);
    return value ? *value : Json();
  }
  std::string at(const std::string& key) const { return field_ + "." + key; }
  void fail(const std::string& what, const std::string& field) {
    if (status_.ok()) status_ = malformed(what, field);
  }
  const absl::Status& status() const { return status_; }

 private:
  const Json* get(const char* key, bool required) {
    if (!status_.ok()) return nullptr;
    const auto found = object_.find(key);
    if (found != object_.end() && !found->is_null()) return &*found;
    if (required) fail("required", at(key));
    return nullptr;
  }

  const Json& object_;
  std::string field_;
  absl::Status status_;
};

// The "when" of an option, rule or exclusion, if it has one.
absl::StatusOr<Condition> parse_condition(const Json& json, const std::string& field) {
  Condition when;
  if (!json.is_object() || !json.contains("when")) return when;
  if (!json.at("when").is_object()) return malformed("expected an option and its values", field + ".when");
  MemberReader in(json.at("when"), field + ".when");
  when.option = in.text("option", true);
  when.values = in.texts("values");
  LOCUS_RETURN_IF_ERROR(in.status());
  if (when.values.empty()) return malformed("a condition needs values", field + ".when.values");
  return when;
}

absl::StatusOr<OptionSpec> parse_option(const Json& json, const std::string& field) {
  MemberReader in(json, field);
  OptionSpec option;
  option.name = in.text("name", true);
  option.type = in.text("type", true);
  option.element = in.text("element");
  option.unit = in.text("unit");
  option.help = in.text("help");
  option.fact = in.text("fact");
  option.default_value = in.any("default");
  option.neutral = in.any("neutral");
  option.required = in.flag("required");
  option.unique = in.flag("unique");
  option.choices = in.texts("choices");
  option.minimum = in.number("minimum");
  option.maximum = in.number("maximum");
  option.exclusive_minimum = in.number("exclusive_minimum");
  option.min_items = static_cast<int>(in.number("min_items").value_or(0));
  LOCUS_RETURN_IF_ERROR(in.status());
  LOCUS_ASSIGN_OR_RETURN(option.when, parse_condition(json, field));
  const bool list = option.type == "list";
  if (!list && !among(kScalarTypes, option.type))
    return malformed("unknown type '" + option.type + "'", field + ".type");
  if (list && !among(kScalarTypes, option.element)) {
    return malformed("a list needs the type of its elements", field + ".element");
  }
  if (option.required) return option;
  if (option.default_value.is_null()) return malformed("an option has a default or is required", field + ".default");
  const auto checked = check_option(option, option.default_value, field + ".default");
  if (!checked.ok()) return malformed(std::string(checked.status().message()), field + ".default");
  option.default_value = *checked;
  return option;
}

absl::StatusOr<std::vector<Constraint>> parse_constraints(const Json& list, const std::string& field) {
  std::vector<Constraint> out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string at = field + "[" + std::to_string(i) + "]";
    MemberReader in(list[i], at);
    Constraint c;
    c.rule = in.text("rule", true);
    c.help = in.text("help");
    if (c.rule == "divides") {
      c.left = in.text("of", true), c.right = in.text("into", true);
    } else if (c.rule == "at-most") {
      c.left = in.text("left", true), c.right = in.text("right", true);
    } else if (c.rule == "multiple-of") {
      c.left = in.text("value", true), c.factor = in.number("factor").value_or(0);
      if (c.factor <= 0) in.fail("a positive factor is needed", at + ".factor");
    } else if (c.rule == "at-least") {
      c.left = in.text("value", true), c.factor = in.number("least").value_or(0);
      if (c.factor <= 0) in.fail("a positive least is needed", at + ".least");
    } else if (c.rule == "none") {
      c.left = in.text("value", true);
    } else {
      in.fail("unknown rule '" + c.rule + "'", at + ".rule");
    }
    LOCUS_RETURN_IF_ERROR(in.status());
    LOCUS_ASSIGN_OR_RETURN(c.when, parse_condition(list[i], at));
    out.push_back(std::move(c));
  }
  return out;
}

absl::StatusOr<std::vector<RefusedSetting>> parse_refusals(const Json& list, const std::string& field) {
  std::vector<RefusedSetting> out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    MemberReader in(list[i], field + "[" + std::to_string(i) + "]");
    RefusedSetting one{.formula = in.text("if", true),
                       .words = in.text("say", true),
                       .option = in.text("option"),
                       .each_stage = in.flag("each_stage")};
    LOCUS_RETURN_IF_ERROR(in.status());
    out.push_back(std::move(one));
  }
  return out;
}

absl::StatusOr<std::vector<ConditionalExclusion>> parse_exclusions(const Json& list, const std::string& field) {
  std::vector<ConditionalExclusion> out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string at = field + "[" + std::to_string(i) + "]";
    MemberReader in(list[i], at);
    ConditionalExclusion exclusion;
    exclusion.excludes = in.texts("excludes");
    exclusion.help = in.text("help");
    LOCUS_RETURN_IF_ERROR(in.status());
    LOCUS_ASSIGN_OR_RETURN(exclusion.when, parse_condition(list[i], at));
    out.push_back(std::move(exclusion));
  }
  return out;
}

// Every condition speaks of an option the item has.
absl::Status check_conditions(const CatalogItem& item, const std::string& field) {
  std::vector<const Condition*> all;
  for (const OptionSpec& option : item.options) all.push_back(&option.when);
  for (const Constraint& constraint : item.constraints) all.push_back(&constraint.when);
  for (const Constraint& constraint : item.requirements) all.push_back(&constraint.when);
  for (const ConditionalExclusion& exclusion : item.exclusions) all.push_back(&exclusion.when);
  for (const Condition* when : all) {
    const bool known = when->option.empty() || std::any_of(item.options.begin(), item.options.end(),
                                                           [&](const OptionSpec& o) { return o.name == when->option; });
    if (!known) return malformed("a condition on '" + when->option + "', which is no option", field);
  }
  return absl::OkStatus();
}

absl::Status check_own_constraints(const CatalogItem& item, const std::string& field) {
  for (std::size_t i = 0; i < item.constraints.size(); ++i) {
    const Constraint& c = item.constraints[i];
    for (const std::string& name : {c.left, c.right}) {
      const bool known = name.empty() || std::any_of(item.options.begin(), item.options.end(),
                                                     [&](const OptionSpec& o) { return o.name == name; });
      if (!known) return malformed("no option '" + name + "'", field + ".constraints[" + std::to_string(i) + "]");
    }
  }
  return absl::OkStatus();
}

// Those of every specification, then those that the document lists.
absl::StatusOr<std::vector<Section>> parse_sections(const Json& declared) {
  std::vector<Section> out = sections_of_every();
  std::set<std::string> taken(std::begin(kMembers), std::end(kMembers));
  for (const char* kind : kKindsOfNoSection) taken.insert(kind);
  for (const Section& section : out) taken.insert({section.key, section.kind, section.member});
  if (!declared.is_null() && !declared.is_array()) return malformed("expected a list", "sections");
  for (std::size_t i = 0; i < declared.size(); ++i) {
    const std::string at = "sections[" + std::to_string(i) + "]";
    MemberReader in(declared[i], at);
    Section section;
    section.key = section.id_path = section.member = in.text("key", true);
    section.kind = in.text("kind", true);
    section.initial = section.neutral = in.text("neutral", true);
    section.help = in.text("help", true);
    LOCUS_RETURN_IF_ERROR(in.status());
    const std::string& key = section.key;
    if (key.empty() || key.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") != std::string::npos)
      return malformed("a key is lower-case letters and underscores, not '" + key + "'", at + ".key");
    for (const std::string& name : std::set<std::string>{key, section.kind}) {
      if (!taken.insert(name).second) return malformed("the name '" + name + "' is taken", at);
    }
    out.push_back(std::move(section));
  }
  return out;
}

bool known_kind(const std::string& kind, const std::vector<Section>& sections) {
  return among(kKindsOfNoSection, kind) ||
         std::any_of(sections.begin(), sections.end(), [&](const Section& section) { return section.kind == kind; });
}

// A section that may be left out has the item that stands for that.
absl::Status check_neutral_items(const Catalog& catalog) {
  for (const Section& section : catalog.sections()) {
    if (section.neutral.empty() || catalog.find(section.kind, section.neutral) != nullptr) continue;
    return malformed("'" + section.key + "' may be left out, but there is no " + section.kind + " '" + section.neutral +
                         "' that stands for that",
                     "sections");
  }
  return absl::OkStatus();
}

// Sizes, each a mapping of options of the item.
absl::Status parse_presets(const Json& presets, const std::string& field, CatalogItem& item) {
  if (presets.is_null()) return absl::OkStatus();
  if (!presets.is_object()) return malformed("expected an object", field);
  for (const OptionSpec& option : item.options) {
    if (option.name == kSizeKey)
      return malformed("the option 'size' would hide the key that names a preset; name it otherwise", field);
  }
  for (const auto& [name, options] : presets.items()) {
    const std::string at = field + "." + name;
    if (!options.is_object()) return malformed("expected an object", at);
    Json& checked = item.presets[name] = Json::object();
    for (const auto& [key, value] : options.items()) {
      const auto option = std::find_if(item.options.begin(), item.options.end(),
                                       [&key = key](const OptionSpec& o) { return o.name == key; });
      if (option == item.options.end()) return malformed("no option '" + key + "'", at);
      const auto good = check_option(*option, value, at + "." + key);
      if (!good.ok()) return malformed(std::string(good.status().message()), at);
      checked[key] = *good;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Origin> parse_origin(const Json& json, const std::string& field) {
  Origin out;
  if (json.is_null()) return out;
  MemberReader in(json, field);
  out.name = in.text("name", true);
  out.by = in.text("by", true);
  out.digest = in.text("digest", true);
  LOCUS_RETURN_IF_ERROR(in.status());
  if (out.name.empty() || out.digest.empty()) return malformed("an origin has a name and a digest", field);
  return out;
}

absl::StatusOr<CatalogItem> parse_item(const Json& json, const std::vector<Section>& sections,
                                       const std::string& field) {
  MemberReader in(json, field);
  CatalogItem item;
  item.kind = in.text("kind", true);
  item.id = in.text("id", true);
  item.summary = in.text("summary");
  item.paper = in.text("paper");
  item.formula = in.text("formula");
  item.aliases = in.texts("aliases");
  item.hooks = in.texts("hooks");
  item.provides = in.texts("provides");
  item.excludes = in.texts("excludes");
  item.revision = static_cast<int>(in.number("revision").value_or(0));
  const Json& options = in.list("options");
  const Json& constraints = in.list("constraints");
  const Json& requirements = in.list("requires");
  const Json& exclusions = in.list("excludes_when");
  const Json& refusals = in.list("refuses");
  const Json facts = in.any("facts"), origin = in.any("origin");
  const Json layouts = in.any("layouts"), presets = in.any("presets");
  LOCUS_RETURN_IF_ERROR(in.status());
  if (!known_kind(item.kind, sections)) return malformed("unknown kind '" + item.kind + "'", field + ".kind");
  if (item.revision < 1) return malformed("a revision of at least 1 is needed", field + ".revision");
  std::set<std::string> names;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string at = field + ".options[" + std::to_string(i) + "]";
    LOCUS_ASSIGN_OR_RETURN(OptionSpec option, parse_option(options[i], at));
    if (!names.insert(option.name).second) return malformed("option '" + option.name + "' is declared twice", at);
    if (item.kind == "prior" && option.name == "stages")
      return malformed(
          "'stages' among a prior's options says what differs in stages of the backbone; name it otherwise", at);
    item.options.push_back(std::move(option));
  }
  LOCUS_RETURN_IF_ERROR(parse_presets(presets, field + ".presets", item));
  LOCUS_ASSIGN_OR_RETURN(item.constraints, parse_constraints(constraints, field + ".constraints"));
  LOCUS_ASSIGN_OR_RETURN(item.requirements, parse_constraints(requirements, field + ".requires"));
  LOCUS_ASSIGN_OR_RETURN(item.exclusions, parse_exclusions(exclusions, field + ".excludes_when"));
  LOCUS_ASSIGN_OR_RETURN(item.refusals, parse_refusals(refusals, field + ".refuses"));
  LOCUS_RETURN_IF_ERROR(check_own_constraints(item, field));
  LOCUS_RETURN_IF_ERROR(check_conditions(item, field));
  LOCUS_ASSIGN_OR_RETURN(item.origin, parse_origin(origin, field + ".origin"));
  if (facts.is_object()) item.facts = facts;
  if (layouts.is_object()) {
    for (const Json& rank : layouts.value("ranks", Json::array())) {
      if (!rank.is_number_integer()) return malformed("expected a list of integers", field + ".layouts.ranks");
      item.layout_ranks.push_back(rank.get<int>());
    }
  }
  return item;
}

}  // namespace

absl::StatusOr<Catalog> Catalog::parse(const Json& document) {
  if (!document.is_object()) return malformed("expected an object", "the document");
  if (document.value("version", Json()) != 1) return malformed("this build reads version 1", "version");
  const Json items = document.value("items", Json());
  if (!items.is_array()) return malformed("expected a list", "items");
  Catalog catalog;
  catalog.document_ = document;
  LOCUS_ASSIGN_OR_RETURN(catalog.sections_, parse_sections(document.value("sections", Json())));
  std::set<std::string> names;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string field = "items[" + std::to_string(i) + "]";
    LOCUS_ASSIGN_OR_RETURN(CatalogItem item, parse_item(items[i], catalog.sections_, field));
    std::vector<std::string> all = item.aliases;
    all.push_back(item.id);
    for (const std::string& name : all) {
      if (!names.insert(item.kind + "/" + name).second) {
        return malformed("the " + item.kind + " '" + name + "' is declared twice", field);
      }
    }
    catalog.items_.push_back(std::move(item));
  }
  LOCUS_RETURN_IF_ERROR(check_neutral_items(catalog));
  try {
    catalog.digest_ = sha256_hex(canonical_json(document));
  } catch (const std::exception& error) {
    return malformed(error.what(), "the document");
  }
  return catalog;
}

}  // namespace locus
