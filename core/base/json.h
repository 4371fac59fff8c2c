// Canonical JSON (RFC 8785) and the few JSON helpers everybody shares. Needs nothing but nlohmann_json.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace locus {

using Json = nlohmann::json;

// RFC 8785: keys sorted by UTF-16 code units, shortest round-trip numbers in ECMAScript form, no spaces.
// Throws std::invalid_argument on NaN or infinity (identity must never contain them) and on invalid UTF-8.
std::string canonical_json(const Json& value);

// Non-finite numbers as data: "NaN", "Infinity", "-Infinity" strings, everything else a number.
Json number_to_json(double value);
double number_from_json(const Json& value);  // throws std::invalid_argument if neither form

}  // namespace locus
