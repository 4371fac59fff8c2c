// The number of a step, which knows whether anybody asked for it.
#pragma once

#include <cstdint>

namespace locus::engine {

// Reads like the number it is. Whoever records a step, to play it again as others, gives `asked`: what depends on the number
// in another way than by draws is then found out, and such a step is not played again. Copies report to the same place.
class StepNumber {
 public:
  StepNumber(std::int64_t value = 0, bool* asked = nullptr)
      : value_(value), asked_(asked) {}  // NOLINT: a number is one
  operator std::int64_t() const {        // NOLINT: likewise
    if (asked_ != nullptr) *asked_ = true;
    return value_;
  }
  // Whether it is `from` or more. What depends on nothing else stays as it is once this is true.
  bool reached(std::int64_t from) const {
    if (value_ < from && asked_ != nullptr) *asked_ = true;
    return value_ >= from;
  }
  // The index of draws from RandomStreams, and for nothing else: whoever plays a step again draws anew for it.
  std::uint64_t draw() const { return static_cast<std::uint64_t>(value_); }

 private:
  std::int64_t value_;
  bool* asked_;
};

}  // namespace locus::engine
