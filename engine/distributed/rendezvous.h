// How a process reaches the others of its group before there is one.
#pragma once

#include <chrono>

#include "core/base/json.h"

namespace locus::engine {

// A way to the board that they share (core/base/rendezvous.h). Not thread-safe.
class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  // Puts a question to it: a frame `store` but for its type, attempt and number. Waits for the answer, the frame `stored`. Throws
  // std::runtime_error when there is none in time, or when it is refused.
  virtual Json ask(Json question, std::chrono::milliseconds time) = 0;
};

}  // namespace locus::engine
