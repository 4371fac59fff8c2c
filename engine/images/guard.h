// How errors of the C libraries for images leave them: by a jump out of the library into the step that called it, which
// then throws. The library's frames have nothing to destroy; neither may those of a step.
#pragma once

#include <csetjmp>

namespace locus::engine {

// Where a library's error handler leaves its message before it jumps.
struct Escape {
  std::jmp_buf jump = {};
  char message[256] = {};
};

// Runs `step`, which calls the library; false where its error handler jumped to `escape`. Objects with destructors belong
// outside of `step`. Thread-compatible.
template <typename Step>
bool ran(Escape& escape, const Step& step) {
  if (setjmp(escape.jump) != 0) return false;
  step();
  return true;
}

}  // namespace locus::engine
