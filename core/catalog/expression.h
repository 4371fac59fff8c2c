// Arithmetic written in the catalog: what an item costs, as a formula over its options.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"

namespace locus {

// The value of a name, or nothing for one that is not known.
using NameValue = std::function<std::optional<double>(std::string_view name)>;

// Evaluates numbers, names ("dim", "pool.cls", "rows.with-class"), + - * / ^, parentheses and the functions round(x),
// floor(x), log2(x), zero(x), which is 1 where x is 0 and else 0, min(x, y) and max(x, y). INVALID_SPECIFICATION for
// text that is no such formula or names what is not known.
absl::StatusOr<double> evaluate_expression(std::string_view text, const NameValue& names);

}  // namespace locus
