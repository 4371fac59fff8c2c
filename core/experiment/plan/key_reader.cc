// Reads the keys of one mapping.
#include "core/experiment/plan/key_reader.h"

#include "core/catalog/options.h"
#include "core/experiment/plan/fields.h"
#include "core/experiment/plan/specification.h"

namespace locus {

KeyReader::KeyReader(const Json& mapping, std::string field, const std::string& owner,
                     const std::vector<std::string>& known, Mistakes& mistakes)
    : mapping_(mapping), field_(std::move(field)), mistakes_(mistakes) {
  if (mistakes_.note(check_mapping(mapping, field_))) mistakes_.note(check_keys(mapping, known, owner, field_));
}

std::optional<Json> KeyReader::value(const char* key, OptionSpec rule) {
  if (!has(key)) return std::nullopt;
  rule.name = key;
  return mistakes_.value(check_option(rule, mapping_.at(key), at(key)));
}

std::optional<std::int64_t> KeyReader::integer(const char* key, double least, std::optional<double> most) {
  OptionSpec rule;
  rule.type = "integer", rule.minimum = least, rule.maximum = most;
  const auto found = value(key, rule);
  return found ? std::optional(found->get<std::int64_t>()) : std::nullopt;
}

std::optional<double> KeyReader::number(const char* key, const OptionSpec& rule) {
  const auto found = value(key, rule);
  return found ? std::optional(found->get<double>()) : std::nullopt;
}

std::optional<double> KeyReader::above(const char* key, double bound) {
  OptionSpec rule;
  rule.type = "number", rule.exclusive_minimum = bound;
  return number(key, rule);
}

std::optional<bool> KeyReader::boolean(const char* key) {
  OptionSpec rule;
  rule.type = "boolean";
  const auto found = value(key, rule);
  return found ? std::optional(found->get<bool>()) : std::nullopt;
}

std::optional<std::string> KeyReader::text(const char* key) {
  return has(key) ? mistakes_.value(text_of(mapping_.at(key), at(key))) : std::nullopt;
}

std::optional<std::string> KeyReader::word(const char* key, std::vector<std::string> choices) {
  OptionSpec rule;
  rule.type = "string", rule.choices = std::move(choices);
  const auto found = value(key, rule);
  return found ? std::optional(found->get<std::string>()) : std::nullopt;
}

bool KeyReader::require(const char* key, const std::string& what) {
  if (has(key) || !mapping_.is_object()) return true;
  mistakes_.note(refuse(ErrorReason::kMissingKey, what, at(key), {{"key", key}}));
  return false;
}

}  // namespace locus
