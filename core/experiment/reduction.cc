// The reducers of a metric contract.
#include "core/experiment/reduction.h"

#include <charconv>

#include "core/base/error.h"

namespace locus {
namespace {

absl::Status refused(const std::string& message, const std::string& field, const std::string& text) {
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kOptionOutOfRange, message, field,
                    {{"value", text}});
}

// What follows the prefix as a number of at least 1; 0 for anything else.
std::int64_t number_after(const std::string& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return 0;
  std::int64_t out = 0;
  const char *begin = text.data() + prefix.size(), *end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, out);
  return begin != end && stop == end && error == std::errc() && out > 0 ? out : 0;
}

}  // namespace

absl::StatusOr<Reduction> parse_reduction(const std::string& text, const std::string& reports,
                                          const std::string& field) {
  using Kind = Reduction::Kind;
  Reduction out;
  if (text == "last") return out;
  if (text == "best") {
    out.kind = Kind::kBest;
  } else if (text == "mean") {
    out.kind = Kind::kMean;
  } else if (const std::int64_t top = number_after(text, "top-"); top > 0) {
    out = {.kind = Kind::kTop, .count = top};
  } else if (const std::int64_t step = number_after(text, "at-step-"); step > 0) {
    out = {.kind = Kind::kAtStep, .step = step};
  } else {
    return refused(field + " is '" + text +
                       "'; write last, best or mean, {top: 3} for the mean of the three best or {at_step: 300} for the "
                       "value there",
                   field, text);
  }
  if (reports != "test" || out.kind == Kind::kBest) return out;
  return refused(
      field + " is '" + text +
          "', but the test split is scored once, on one model, so it has no steps to choose from; write best "
          "for the model that validated best, last, or report validation",
      field, text);
}

}  // namespace locus
