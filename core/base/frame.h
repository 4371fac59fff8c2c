// Frames between the worker daemon and its trainer children (docs/formats/trainer.md): a 4-byte little-endian
// length, then JSON.
#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/base/json.h"

namespace locus {

inline constexpr std::size_t kFrameBytes = 16 << 20;  // the longest payload either side accepts

// The other side broke the format, or the descriptor failed. The stream cannot be used any further.
class FrameError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// One frame as bytes. Invalid UTF-8 in strings is replaced, not refused: reasons quote other people's text.
// Throws FrameError when the JSON is longer than kFrameBytes.
std::string encode_frame(const Json& frame);

// Cuts a byte stream into frames. Thread-compatible.
class FrameDecoder {
 public:
  void feed(std::string_view bytes) { buffer_.append(bytes); }
  // The next whole frame, nothing while bytes are missing. Throws FrameError on a length above kFrameBytes or
  // a payload that is not a JSON object or nests deeper than 100 levels.
  std::optional<Json> next();
  bool empty() const { return at_ == buffer_.size(); }  // no part of a frame is waiting

 private:
  std::string buffer_;
  std::size_t at_ = 0;  // start of the first frame not yet taken
};

// Writes one frame to a blocking descriptor; blocks until the kernel has taken it all. Never raises SIGPIPE
// on a socket. Throws FrameError (the other side is gone, included). Two threads must not write to one
// descriptor at a time.
void write_frame(int fd, const Json& frame);

// Reads one frame from a blocking descriptor; nothing at end of file between frames. Throws FrameError, also
// on an end inside one. Takes no byte beyond its frame, so poll() on the descriptor tells whether another
// waits.
std::optional<Json> read_frame(int fd);

}  // namespace locus
