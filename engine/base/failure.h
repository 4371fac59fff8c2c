// What can end an attempt for a reason the user can act on; everything else is a defect.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace locus::engine {

// A dataset or input file is missing, truncated, corrupt or not what the configuration names.
class DataError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Training left the finite numbers.
class DivergedError : public std::runtime_error {
 public:
  DivergedError(std::int64_t step, const std::string& what) : std::runtime_error(what), step_(step) {}
  std::int64_t step() const { return step_; }

 private:
  std::int64_t step_;
};

}  // namespace locus::engine
