// How a stage is ended from outside.
#pragma once

#include <stdexcept>

namespace locus::engine {

// Thrown by an observer; passes through run_stage untouched.
class StageAborted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace locus::engine
