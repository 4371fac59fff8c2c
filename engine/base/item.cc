// Catalog entries as JSON documents, and their options read back.
#include "engine/base/item.h"

#include <stdexcept>
#include <utility>

namespace locus::engine {
namespace {

constexpr const char* kSize = "size";  // the key, beside the options, that names a preset

}  // namespace

Option::Option(std::string_view name, std::string_view type, Json fallback, std::string_view help)
    : json_{{"name", name}, {"type", type}, {"default", std::move(fallback)}, {"help", help}} {}

Option Option::integer(std::string_view name, std::int64_t fallback, std::string_view help) {
  return Option(name, "integer", fallback, help);
}
Option Option::number(std::string_view name, double fallback, std::string_view help) {
  return Option(name, "number", fallback, help);
}
Option Option::text(std::string_view name, std::string_view fallback, std::string_view help) {
  return Option(name, "string", fallback, help);
}
Option Option::boolean(std::string_view name, bool fallback, std::string_view help) {
  return Option(name, "boolean", fallback, help);
}
Option Option::required_text(std::string_view name, std::string_view help) {
  Option out(name, "string", Json(), help);
  out.json_.erase("default");
  out.set("required", true);
  return out;
}
Option Option::list(std::string_view name, std::string_view element, Json fallback, std::string_view help) {
  Option out(name, "list", std::move(fallback), help);
  out.set("element", element);
  return out;
}

Option& Option::set(const char* key, Json value) {
  json_[key] = std::move(value);
  return *this;
}

Option& Option::required() {
  json_.erase("default");
  return set("required", true);
}

Item::Item(std::string_view kind, std::string_view id, int revision, std::string_view summary)
    : json_{{"kind", kind},
            {"id", id},
            {"aliases", Json::array()},
            {"revision", revision},
            {"summary", summary},
            {"options", Json::array()},
            {"constraints", Json::array()},
            {"facts", Json::object()}} {}

Item& Item::option(const Option& option) {
  json_["options"].push_back(option.json());
  return *this;
}

Item& Item::constraint(Json rule) {
  json_["constraints"].push_back(std::move(rule));
  return *this;
}

Item& Item::refuse(std::string_view formula, std::string_view words, std::string_view option, bool each_stage) {
  Json refusal = {{"if", formula}, {"say", words}};
  if (!option.empty()) refusal["option"] = option;
  if (each_stage) refusal["each_stage"] = true;
  json_["refuses"].push_back(std::move(refusal));
  return *this;
}

Item& Item::preset(std::string_view name, Json options) {
  json_["presets"][std::string(name)] = std::move(options);
  return *this;
}

Item& Item::facts(Json facts) { return set("facts", std::move(facts)); }

Item& Item::set(const char* key, Json value) {
  json_[key] = std::move(value);
  return *this;
}

Options::Options(const Json& item, const Json& given)
    : item_(item.at("kind").get<std::string>() + " " + item.at("id").get<std::string>()) {
  for (const Json& option : item.at("options")) {
    if (option.contains("default")) values_[option.at("name").get<std::string>()] = option.at("default");
  }
  const bool sized = item.contains("presets") && given.contains(kSize);
  if (sized) values_.update(preset(item, given.at(kSize)));
  for (const auto& [name, entry] : given.items()) {
    bool known = sized && name == kSize;
    if (known) continue;
    for (const Json& option : item.at("options")) known = known || option.at("name") == name;
    if (!known) throw std::invalid_argument(item_ + " has no option '" + name + "'");
    values_[name] = entry;
  }
  for (const Json& option : item.at("options")) {
    // What a size says for another setting than the one that is given goes without saying.
    const auto name = option.at("name").get<std::string>();
    if (sized && !given.contains(name) && !missing_condition(option).empty()) values_[name] = option.at("default");
    check_meaning(option);
  }
}

// The options that a size stands for.
const Json& Options::preset(const Json& item, const Json& size) const {
  const Json& presets = item.at("presets");
  if (size.is_string() && presets.contains(size.get<std::string>())) return presets.at(size.get<std::string>());
  std::string known;
  for (const auto& [name, options] : presets.items()) known += (known.empty() ? "" : ", ") + name;
  throw std::invalid_argument(item_ + " has no size " + size.dump(-1, ' ', false, Json::error_handler_t::replace) +
                              "; choose one of: " + known);
}

// The values that another option would need for this one to mean something; empty where it does.
std::string Options::missing_condition(const Json& option) const {
  if (!option.contains("when")) return "";
  const auto other = option.at("when").at("option").get<std::string>();
  std::string allowed;
  for (const Json& value : option.at("when").at("values")) {
    const Json& found = values_.at(other);
    if (found == value || (found.is_boolean() && value == (found.get<bool>() ? "true" : "false"))) return "";
    allowed += (allowed.empty() ? "" : ", ") + value.get<std::string>();
  }
  return allowed;
}

// Refuses an option that is set where another option makes it meaningless.
void Options::check_meaning(const Json& option) const {
  const auto name = option.at("name").get<std::string>();
  if (!option.contains("when") || !values_.contains(name) || values_.at(name) == option.at("default")) return;
  const std::string allowed = missing_condition(option);
  if (allowed.empty()) return;
  const auto other = option.at("when").at("option").get<std::string>();
  throw std::invalid_argument(item_ + ": option '" + name + "' means nothing while " + other + " is " +
                              values_.at(other).dump() + "; it needs " + other + ": " + allowed);
}

const Json& Options::value(std::string_view name) const {
  const auto found = values_.find(std::string(name));
  if (found == values_.end()) throw std::invalid_argument(item_ + " is not given option '" + std::string(name) + "'");
  return *found;
}

namespace {

template <typename T>
T checked(const Json& value, bool fits, std::string_view type, const std::string& item, std::string_view name) {
  if (fits) return value.get<T>();
  throw std::invalid_argument(item + ": option '" + std::string(name) + "' must be " + std::string(type) + ", not " +
                              value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

template <typename Fits>
bool all_of_list(const Json& list, Fits fits) {
  if (!list.is_array()) return false;
  for (const Json& element : list) {
    if (!fits(element)) return false;
  }
  return true;
}

}  // namespace

std::int64_t Options::integer(std::string_view name) const {
  const Json& v = value(name);
  return checked<std::int64_t>(v, v.is_number_integer(), "an integer", item_, name);
}
double Options::number(std::string_view name) const {
  const Json& v = value(name);
  return checked<double>(v, v.is_number(), "a number", item_, name);
}
std::string Options::text(std::string_view name) const {
  const Json& v = value(name);
  return checked<std::string>(v, v.is_string(), "a string", item_, name);
}
bool Options::boolean(std::string_view name) const {
  const Json& v = value(name);
  return checked<bool>(v, v.is_boolean(), "a boolean", item_, name);
}
std::vector<std::int64_t> Options::integers(std::string_view name) const {
  const Json& v = value(name);
  const bool fits = all_of_list(v, [](const Json& e) { return e.is_number_integer(); });
  return checked<std::vector<std::int64_t>>(v, fits, "a list of integers", item_, name);
}
std::vector<double> Options::numbers(std::string_view name) const {
  const Json& v = value(name);
  const bool fits = all_of_list(v, [](const Json& e) { return e.is_number(); });
  return checked<std::vector<double>>(v, fits, "a list of numbers", item_, name);
}
std::vector<std::string> Options::texts(std::string_view name) const {
  const Json& v = value(name);
  const bool fits = all_of_list(v, [](const Json& e) { return e.is_string(); });
  return checked<std::vector<std::string>>(v, fits, "a list of strings", item_, name);
}

}  // namespace locus::engine
