// Checks of single fields that every part of the specification uses, and the form of config paths.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/json.h"
#include "core/catalog/catalog.h"

namespace locus {

std::string indexed(const std::string& field, std::size_t index);  // "matrix.prior" -> "matrix.prior[2]"

absl::Status check_mapping(const Json& value, const std::string& field);  // WRONG_TYPE
absl::Status check_list(const Json& value, const std::string& field);     // WRONG_TYPE
// UNKNOWN_KEY for every key of a mapping that is not among `known`; `owner` as in "metric".
absl::Status check_keys(const Json& json, const std::vector<std::string>& known, const std::string& owner,
                        const std::string& field);
absl::StatusOr<std::string> text_of(const Json& value, const std::string& field);  // WRONG_TYPE

// OPTION_OUT_OF_RANGE if NaN or an infinity is anywhere inside: no identity can be made from it.
absl::Status check_finite(const Json& value, const std::string& field);

// "prior", or a section, or an option of one: "train.lr". UNKNOWN_KEY otherwise, with the nearest path.
absl::Status check_config_path(const std::vector<Section>& sections, const std::string& path, const std::string& field);

}  // namespace locus
