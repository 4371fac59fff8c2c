// Reading named arguments.
#include "worker/trainer/arguments.h"

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <stdexcept>

namespace locus {
namespace {

std::int64_t whole_number(std::string_view text, const std::string& what) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw std::invalid_argument(what + " must be a whole number, not '" + std::string(text) + "'");
  return value;
}

}  // namespace

NamedArguments::NamedArguments(std::span<const std::string> arguments, const std::set<std::string>& values,
                               const std::set<std::string>& flags, const std::set<std::string>& repeated) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    const bool value = values.contains(name) || repeated.contains(name);
    if (!value && !flags.contains(name)) throw std::invalid_argument("unknown argument " + name);
    if (given_.contains(name) && !repeated.contains(name)) throw std::invalid_argument(name + " is given twice");
    if (value && i + 1 == arguments.size()) throw std::invalid_argument(name + " lacks its value");
    given_[name].push_back(value ? arguments[++i] : "");
  }
}

std::string NamedArguments::text(const std::string& name, const std::string& fallback) const {
  return has(name) ? given_.at(name).front() : fallback;
}

std::string NamedArguments::required(const std::string& name) const {
  if (!has(name)) throw std::invalid_argument(name + " is required");
  return given_.at(name).front();
}

std::int64_t NamedArguments::integer(const std::string& name, std::int64_t fallback) const {
  return has(name) ? whole_number(given_.at(name).front(), name) : fallback;
}

std::pair<std::int64_t, std::int64_t> NamedArguments::pair(const std::string& name, char separator,
                                                           std::pair<std::int64_t, std::int64_t> fallback) const {
  return has(name) ? parse_pair(given_.at(name).front(), separator, name) : fallback;
}

const std::vector<std::string>& NamedArguments::all(const std::string& name) const {
  static const std::vector<std::string> kNone;
  const auto found = given_.find(name);
  return found == given_.end() ? kNone : found->second;
}

int refuse_arguments(const std::string& tool, const std::string& why, const char* usage) {
  if (const char* caller = std::getenv("LOCUS_CALLER")) {
    std::cerr << "error: " << caller << ": " << why << "\n  see " << caller << " --help\n";
  } else {
    std::cerr << "locus-trainer " << tool << ": " << why << "\n" << usage;
  }
  return 2;
}

std::pair<std::int64_t, std::int64_t> parse_pair(const std::string& text, char separator, const std::string& what) {
  const std::size_t at = text.find(separator);
  if (at == std::string::npos) {
    throw std::invalid_argument(what + " must be two numbers with '" + std::string(1, separator) +
                                "' between them, not '" + text + "'");
  }
  return {whole_number(std::string_view(text).substr(0, at), what),
          whole_number(std::string_view(text).substr(at + 1), what)};
}

Json read_json_file(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::invalid_argument("cannot read " + path);
  try {
    return Json::parse(in);
  } catch (const Json::exception& error) {
    throw std::invalid_argument(path + " is not JSON: " + error.what());
  }
}

}  // namespace locus
