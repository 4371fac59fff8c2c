// Arithmetic written in the catalog: what an item costs, as a formula over its options.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"

namespace locus {

// The value of a name, or nothing for one that is not known.
using NameValue = std::function<std::optional<double>(std::string_view name)>;

// What the words of a formula stand for in a network of stages.
struct FormulaWords {
  // The value of a name in a stage, or outside of all; nothing for one that is not known there.
  std::function<std::optional<double>(std::string_view name, std::optional<std::size_t> stage)> number;
  // A number of a list, counted from 0; nothing where there is no such list or number.
  std::function<std::optional<double>(std::string_view list, std::size_t place)> entry;
  std::size_t stages = 1;
};

// Evaluates numbers, names ("dim", "pool.cls", "rows.with-class"), numbers of lists ("dims[stage]"), + - * / ^,
// parentheses and the functions round(x), floor(x), ceil(x), log2(x), zero(x), which is 1 where x is 0 and else 0,
// min(x, y), max(x, y) and sum_stages(x), the sum of x over the stages: in it a name has its value in each stage in turn.
// INVALID_SPECIFICATION for text that is no such formula or names what is not known.
absl::StatusOr<double> evaluate_expression(std::string_view text, const FormulaWords& words,
                                           std::optional<std::size_t> stage = std::nullopt);
// The same where there are neither lists nor stages.
absl::StatusOr<double> evaluate_expression(std::string_view text, const NameValue& names);

}  // namespace locus
