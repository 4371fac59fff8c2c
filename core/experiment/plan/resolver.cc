// Resolves priors and sections against the catalog, each distinct value once.
#include "core/experiment/plan/resolver.h"

#include <algorithm>

#include "core/catalog/options.h"
#include "core/experiment/plan/fields.h"

namespace locus {
namespace {

std::string canonical_choice(const CatalogItem& item, const Json& scientific, const Json& differs = Json::array()) {
  Json out = {{"id", item.id}, {"options", scientific}};
  if (!differs.empty()) out[kPriorStages] = differs;
  if (item.kind == "dataset") out["digest"] = item.facts.value("digest", "");
  return canonical_json(out);
}

const char* plural(const std::string& kind) {
  return kind == "prior" ? "violin: {sigma: 0.02}" : "id: {option: value}";
}

}  // namespace

static absl::Status relocate_one(const absl::Status& status, const Effective& effective) {
  auto detail = error_detail(status);
  if (!detail) return status;
  for (std::string path = detail->field; !path.empty();) {
    if (const auto found = effective.find(path); found != effective.end()) {
      detail->field = found->second->field + detail->field.substr(path.size());
      break;
    }
    const auto cut = path.find_last_of(".[");
    path = cut == std::string::npos ? "" : path.substr(0, cut);
  }
  return make_error(status.code(), detail->reason, std::string(status.message()), detail->field, detail->metadata);
}

absl::Status relocate(const absl::Status& status, const Effective& effective) {
  return each_of(status, [&](const absl::Status& one) { return relocate_one(one, effective); });
}

absl::StatusOr<Selection> Resolver::select(const std::string& kind, const Json& value, const std::string& field) const {
  Selection out;
  out.field = field;
  std::string id;
  if (value.is_string()) {
    id = value.get<std::string>();
  } else if (value.is_object() && value.size() == 1) {
    id = value.begin().key();
    out.field = field + "." + id;
    if (!value.begin()->is_null()) out.given = *value.begin();
  } else if (value.is_object()) {
    return refuse(ErrorReason::kInvalidSpecification,
                  field + " names " + std::to_string(value.size()) + " keys where one " + kind + " was expected" +
                      (kind == "prior" ? "; write a combination as a list, as in [learned-absolute, violin]" : ""),
                  field);
  } else {
    return refuse(ErrorReason::kWrongType,
                  field + " must be the id of a " + kind + " or {" + plural(kind) + "}, not " + describe_json(value),
                  field, {{"value", show_json(value)}});
  }
  LOCUS_ASSIGN_OR_RETURN(out.item, catalog_.get(kind, id, out.field));
  LOCUS_RETURN_IF_ERROR(check_mapping(out.given, out.field));
  return out;
}

absl::StatusOr<ResolvedPrior> Resolver::resolve_prior(const Json& value, const std::string& field) const {
  LOCUS_ASSIGN_OR_RETURN(Selection selection, select("prior", value, field));
  ResolvedPrior prior;
  prior.item = selection.item;
  prior.given = selection.given;
  prior.field = selection.field;
  const Json list = prior.given.value(kPriorStages, Json());
  prior.given.erase(kPriorStages);
  LOCUS_ASSIGN_OR_RETURN(prior.resolved, catalog_.resolve(*prior.item, prior.given, prior.field));
  if (selection.given.contains(kPriorStages)) {
    const std::string at = prior.field + "." + kPriorStages;
    LOCUS_ASSIGN_OR_RETURN(prior.stages,
                           resolve_prior_stages(catalog_, *prior.item, prior.given, prior.resolved, list, at));
  }
  if (prior.stages.options.size() == 1) {  // of a plain network: the options themselves
    prior.given.update(list[0]);
    prior.resolved = *prior.stages.options[0];
    prior.stages.differs = Json::array();
  }
  prior.scientific = catalog_.scientific(*prior.item, prior.resolved);
  return prior;
}

absl::StatusOr<ResolvedPriors> Resolver::resolve_priors(const Setting& setting) const {
  const bool combination = setting.value.is_array();
  const Json list = combination ? setting.value : Json::array({setting.value});
  if (list.empty()) {
    return refuse(ErrorReason::kEmptyMatrix,
                  setting.field + " is an empty combination; write none for a model without a prior", setting.field);
  }
  ResolvedPriors out;
  Mistakes mistakes;
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto prior = mistakes.value(resolve_prior(list[i], combination ? indexed(setting.field, i) : setting.field));
    if (prior) out.list.push_back(*std::move(prior));
  }
  if (!mistakes.none()) return mistakes.status();
  for (const ResolvedPrior& prior : out.list)
    out.canonical +=
        (out.canonical.empty() ? "[" : ",") + canonical_choice(*prior.item, prior.scientific, prior.stages.differs);
  out.canonical += "]";
  LOCUS_RETURN_IF_ERROR(check_combination(out, setting.field));
  return out;
}

absl::StatusOr<const ResolvedPriors*> Resolver::priors(const Setting& setting) {
  const auto found = priors_.find(&setting);
  if (found != priors_.end()) return &found->second;
  LOCUS_ASSIGN_OR_RETURN(ResolvedPriors resolved, resolve_priors(setting));
  return &(priors_[&setting] = std::move(resolved));
}

// What is written of the item's options, and what the dataset brings besides.
static Json given_options(const Section& section, const Selection& selection, const Effective& effective) {
  Json given = selection.given, brought = Json::object();
  const std::string prefix = section.key + ".";
  for (const auto& [path, setting] : effective) {
    if (!path.starts_with(prefix) || path == section.id_path) continue;
    (setting->fallback ? brought : given)[std::string(path.substr(prefix.size()))] = setting->value;
  }
  // A dataset's default yields to what is written, be it within the item, {resized: {size: 64}}, and to a size.
  const Json size = given.value(kSizeKey, Json());
  const auto preset = selection.item->presets.find(size.is_string() ? size.get<std::string>() : "");
  for (const auto& [option, value] : brought.items()) {
    const bool sized = preset != selection.item->presets.end() && preset->second.contains(option);
    if (selection.item->has_option(option) && !given.contains(option) && !sized) given[option] = value;
  }
  return given;
}

absl::StatusOr<ResolvedSection> Resolver::resolve_section(const Section& section, const Effective& effective) const {
  const auto id = effective.find(section.id_path);
  if (id == effective.end()) {
    return refuse(ErrorReason::kMissingKey,
                  "the specification needs " + section.id_path + ", the id of a " + section.kind + " of the catalog",
                  section.id_path, {{"key", section.id_path}});
  }
  LOCUS_ASSIGN_OR_RETURN(Selection selection, select(section.kind, id->second->value, id->second->field));
  const Json given = given_options(section, selection, effective);
  ResolvedSection out;
  out.item = selection.item;
  auto resolved = catalog_.resolve(*out.item, given, section.key);
  if (!resolved.ok()) return relocate(resolved.status(), effective);
  out.resolved = *std::move(resolved);
  out.scientific = catalog_.scientific(*out.item, out.resolved);
  const bool left_out = out.item->id == section.neutral && out.scientific.empty();
  if (!left_out) out.canonical = canonical_choice(*out.item, out.scientific);
  return out;
}

absl::StatusOr<const ResolvedSection*> Resolver::section(const Section& section, const Effective& effective) {
  std::vector<const void*> key = {&section};
  const std::string_view name = section.key;
  for (auto at = effective.lower_bound(name); at != effective.end() && at->first.starts_with(name); ++at) {
    if (at->first.size() == name.size() || at->first[name.size()] == '.') key.push_back(at->second);
  }
  const auto found = sections_.find(key);
  if (found != sections_.end()) return &found->second;
  LOCUS_ASSIGN_OR_RETURN(ResolvedSection resolved, resolve_section(section, effective));
  return &(sections_[std::move(key)] = std::move(resolved));
}

Resolver::Resolver(const Catalog& catalog) : catalog_(catalog) {
  for (const Section& section : catalog.sections()) {
    if (!section.initial.empty()) initial_[section.id_path] = {section.initial, "", section.id_path};
  }
}

const Settings& Resolver::defaults_of(const CatalogItem& dataset) {
  const auto [found, fresh] = defaults_.try_emplace(&dataset);
  if (!fresh) return found->second;
  const Json defaults = dataset.facts.value("defaults", Json::object());
  for (const auto& [path, value] : defaults.items()) found->second[path] = {value, "", path, true};
  return found->second;
}

std::string Resolver::text(const CatalogItem& item, const Json& given, const std::set<std::string>& telling,
                           const Json& differs) const {
  const auto resolved = catalog_.resolve(item, given, "");
  const Json& options = resolved.ok() ? *resolved : given;
  // Beside a size stands what differs from it.
  const bool sized = !item.presets.empty() && given.contains(kSizeKey);
  const auto defaults = catalog_.resolve(item, sized ? Json({{kSizeKey, given.at(kSizeKey)}}) : Json::object(), "");
  std::string inside = sized ? kSizeKey + ("=" + show_option(given.at(kSizeKey))) : "";
  for (const auto& [name, value] : options.items()) {
    const bool usual = defaults.ok() ? defaults->contains(name) && (*defaults)[name] == value
                                     : !given.contains(name);  // an item that needs options has no usual ones
    if (usual && !telling.contains(name)) continue;
    inside += (inside.empty() ? "" : ", ") + name + "=" + show_option(value);
  }
  if (!differs.empty()) inside += (inside.empty() ? "" : ", ") + (kPriorStages + ("=" + show_prior_stages(differs)));
  return inside.empty() ? item.id : item.id + " (" + inside + ")";
}

absl::StatusOr<NormalValue> Resolver::normal(const std::string& path, const Setting& setting) {
  NormalValue out;
  if (path == "prior") {
    LOCUS_ASSIGN_OR_RETURN(const ResolvedPriors* priors, this->priors(setting));
    out.assignment = Json::array();
    out.key = priors->canonical;
    for (const ResolvedPrior& prior : priors->list) {
      Json given = prior.given;
      if (!prior.stages.differs.empty()) given[kPriorStages] = prior.stages.differs;
      out.assignment.push_back({{prior.item->id, std::move(given)}});
      out.ids += (out.ids.empty() ? "" : " + ") + prior.item->id;
      out.text += (out.text.empty() ? "" : " + ") + text(*prior.item, prior.given, {}, prior.stages.differs);
    }
    return out;
  }
  for (const Section& section : catalog_.sections()) {
    if (path != section.id_path) continue;
    LOCUS_ASSIGN_OR_RETURN(const Selection selection, select(section.kind, setting.value, setting.field));
    out.assignment = selection.given.empty() ? Json(selection.item->id) : Json({{selection.item->id, selection.given}});
    out.ids = selection.item->id;
    out.text = text(*selection.item, selection.given);
    out.key = canonical_json({{selection.item->id, selection.given}});
    return out;
  }
  try {
    out.key = canonical_json(setting.value);
  } catch (const std::invalid_argument& error) {
    return refuse(ErrorReason::kOptionOutOfRange, setting.field + ": " + error.what(), setting.field);
  }
  out.assignment = setting.value;
  out.ids = out.key;
  out.text = setting.value.is_string() ? setting.value.get<std::string>() : out.key;
  return out;
}

}  // namespace locus
