// How claims are read.
#include "core/claims/reader.h"

#include <algorithm>

#include "core/base/nearest.h"

namespace locus::claims {

Reader::Reader(const Json& object, std::string field, absl::Status* status)
    : object_(object), field_(std::move(field)), status_(status) {
  if (!object_.is_object()) fail(ErrorReason::kWrongType, "expected a mapping of keys", field_);
}

const Json* Reader::get(const char* key, bool required) {
  asked_.insert(key);
  if (!status_->ok()) return nullptr;
  const auto found = object_.find(key);
  if (found != object_.end()) return &*found;
  if (required) fail(ErrorReason::kMissingKey, std::string("the key '") + key + "' is missing", field_);
  return nullptr;
}

std::string Reader::text(const char* key, bool required, bool may_be_empty) {
  const Json* value = get(key, required);
  if (value == nullptr) return {};
  if (!value->is_string() || (value->get_ref<const std::string&>().empty() && !may_be_empty)) {
    fail(ErrorReason::kWrongType, "expected text", at(key));
    return {};
  }
  return value->get<std::string>();
}

int Reader::count(const char* key) {
  const Json* value = get(key);
  if (value == nullptr) return 0;
  if (value->is_number_integer() && *value > 0 && *value < 100'000) return value->get<int>();
  fail(ErrorReason::kWrongType, "expected a number above 0", at(key));
  return 0;
}

const Json& Reader::list(const char* key, bool required) {
  static const Json kEmpty = Json::array();
  const Json* value = get(key, required);
  if (value == nullptr) return kEmpty;
  if (value->is_array() && !(required && value->empty())) return *value;
  fail(ErrorReason::kWrongType, required ? "expected a list with something in it" : "expected a list", at(key));
  return kEmpty;
}

void Reader::fail(ErrorReason reason, const std::string& what, const std::string& field) {
  if (!status_->ok()) return;
  const std::string where = field.empty() ? "the top" : field;
  *status_ = make_error(absl::StatusCode::kInvalidArgument, reason,
                        what + " at " + where + "; docs/claims.md has the form", field);
}

void Reader::finish() {
  if (!ok()) return;
  const std::vector<std::string> known(asked_.begin(), asked_.end());
  for (const auto& [key, value] : object_.items()) {
    if (asked_.count(key) > 0) continue;
    const auto near = nearest_name(key, known);
    return fail(ErrorReason::kUnknownKey, "unknown key '" + key + "'" + (near ? "; did you mean '" + *near + "'?" : ""),
                at(key));
  }
}

namespace {

ClaimSetting read_setting(Reader& reader, const Json* value, const std::string& field) {
  ClaimSetting out;
  if (value == nullptr) return out;
  if (!value->is_object()) return reader.fail(ErrorReason::kWrongType, "expected a mapping", field), out;
  for (const auto& [key, each] : value->items()) {
    const auto& names = setting_names();
    const auto known = std::find_if(names.begin(), names.end(), [&key = key](const auto& n) { return n.name == key; });
    if (known == names.end()) {
      std::vector<std::string> all;
      for (const SettingName& name : names) all.emplace_back(name.name);
      const auto near = nearest_name(key, all);
      reader.fail(ErrorReason::kUnknownKey,
                  "unknown setting '" + key + "'" + (near ? "; did you mean '" + *near + "'?" : ""), field + "." + key);
    } else if (!each.is_string() && !each.is_number()) {
      reader.fail(ErrorReason::kWrongType, "expected text or a number", field + "." + key);
    } else {
      out[key] = shown_setting(each);
    }
  }
  return out;
}

std::optional<ClaimMetric> read_metric(Reader& reader, const Json* value, const std::string& field) {
  if (value == nullptr) return std::nullopt;
  Reader metric(*value, field, reader.status());
  ClaimMetric out{metric.text("name", true), metric.text("unit", false, true), metric.text("direction", true)};
  metric.finish();
  if (reader.ok() && out.direction != "max" && out.direction != "min")
    reader.fail(ErrorReason::kOptionOutOfRange, "direction is max or min", field + ".direction");
  return out;
}

}  // namespace

ClaimPriors read_priors(Reader& reader, const Json& value, const std::string& field) {
  ClaimPriors out;
  if (value.is_null()) return out;
  if (!value.is_array() || value.empty()) {
    reader.fail(ErrorReason::kWrongType, "expected a list of priors, or null where Locus has no such method", field);
    return out;
  }
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string where = field + "[" + std::to_string(i) + "]";
    ClaimPrior prior;
    if (value[i].is_string()) {
      prior.id = value[i].get<std::string>();
    } else if (value[i].is_object() && value[i].size() == 1 && value[i].begin()->is_object()) {
      prior.id = value[i].begin().key();
      prior.stated = *value[i].begin();
    } else {
      reader.fail(ErrorReason::kWrongType, "expected the id of a prior or {id: {option: value}}", where);
    }
    for (const ClaimPrior& other : out) {
      if (other.id == prior.id)
        reader.fail(ErrorReason::kInvalidSpecification, "the prior '" + prior.id + "' is given twice", where);
    }
    out.push_back(std::move(prior));
  }
  return out;
}

std::map<std::string, Json> read_options(Reader& reader, const char* key) {
  std::map<std::string, Json> out;
  const Json* given = reader.get(key);
  if (given == nullptr) return out;
  if (!given->is_object()) reader.fail(ErrorReason::kWrongType, "expected {id: {option: value}}", reader.at(key));
  for (const auto& [id, options] : given->items()) {
    if (!options.is_object())
      reader.fail(ErrorReason::kWrongType, "expected options of " + id, reader.at(key) + "." + id);
    out[id] = options;
  }
  return out;
}

Said read_said(Reader& reader, const std::string& field, bool table) {
  const std::string prefix = field + ".";
  Said out;
  out.metric = read_metric(reader, reader.get("metric"), prefix + "metric");
  out.setting = read_setting(reader, reader.get("setting"), prefix + "setting");
  out.n = reader.count("n");
  if (table) return out;
  if (const Json* prior = reader.get("prior")) out.priors = read_priors(reader, *prior, prefix + "prior");
  out.loosely = read_options(reader, "loosely");
  out.code = read_options(reader, "code");
  out.against = reader.text("against");
  return out;
}

}  // namespace locus::claims
