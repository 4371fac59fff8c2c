// The frame codec on plain POSIX descriptors; no abseil, so that the trainer can use it in a build without
// the service.
#include "core/base/frame.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "core/base/json_depth.h"

namespace locus {
namespace {

constexpr std::size_t kHeader = 4;
constexpr int kFrameDepth = 100;  // a stage's configuration is at most 64 deep

std::size_t decode_length(const char* header) {
  const auto* b = reinterpret_cast<const unsigned char*>(header);
  const std::size_t length =
      std::size_t{b[0]} | std::size_t{b[1]} << 8 | std::size_t{b[2]} << 16 | std::size_t{b[3]} << 24;
  if (length > kFrameBytes) {
    throw FrameError("a frame of " + std::to_string(length) + " bytes; at most " + std::to_string(kFrameBytes) +
                     " are allowed");
  }
  return length;
}

Json decode_payload(const char* begin, const char* end) {
  if (nests_deeper({begin, static_cast<std::size_t>(end - begin)}, kFrameDepth))
    throw FrameError("a frame that nests deeper than " + std::to_string(kFrameDepth) + " levels");
  Json frame = Json::parse(begin, end, nullptr, /*allow_exceptions=*/false);
  if (!frame.is_object()) throw FrameError("a frame that is not a JSON object");
  return frame;
}

[[noreturn]] void fail(const char* what) { throw FrameError(std::string(what) + ": " + std::strerror(errno)); }

// Reads exactly `size` bytes; false at end of file before the first one.
bool read_exactly(int fd, char* to, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n = ::read(fd, to + done, size - done);
    if (n > 0) {
      done += static_cast<std::size_t>(n);
    } else if (n == 0) {
      if (done == 0) return false;
      throw FrameError("end of file inside a frame");
    } else if (errno == ECONNRESET) {
      if (done == 0) return false;  // a socket peer that died with unread data: as good as an end of file
      throw FrameError("the other side is gone inside a frame");
    } else if (errno != EINTR) {
      fail("cannot read a frame");
    }
  }
  return true;
}

}  // namespace

std::string encode_frame(const Json& frame) {
  const std::string payload = frame.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (payload.size() > kFrameBytes)
    throw FrameError("a frame of " + std::to_string(payload.size()) + " bytes is too long");
  const auto n = static_cast<std::uint32_t>(payload.size());
  std::string bytes;
  bytes.reserve(kHeader + payload.size());
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(n >> shift & 0xff));
  return bytes += payload;
}

std::optional<Json> FrameDecoder::next() {
  if (buffer_.size() - at_ < kHeader) return std::nullopt;
  const std::size_t length = decode_length(buffer_.data() + at_);
  if (buffer_.size() - at_ - kHeader < length) return std::nullopt;
  const char* begin = buffer_.data() + at_ + kHeader;
  Json frame = decode_payload(begin, begin + length);
  at_ += kHeader + length;
  if (at_ == buffer_.size() || at_ > (1U << 20)) {
    buffer_.erase(0, at_);
    at_ = 0;
  }
  return frame;
}

void write_frame(int fd, const Json& frame) {
  const std::string bytes = encode_frame(frame);
  std::size_t done = 0;
  while (done < bytes.size()) {
    ssize_t n = ::send(fd, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (n < 0 && errno == ENOTSOCK) n = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (n >= 0) {
      done += static_cast<std::size_t>(n);
    } else if (errno != EINTR) {
      fail("cannot write a frame");
    }
  }
}

std::optional<Json> read_frame(int fd) {
  char header[kHeader];
  if (!read_exactly(fd, header, kHeader)) return std::nullopt;
  std::string payload(decode_length(header), '\0');
  if (!payload.empty() && !read_exactly(fd, payload.data(), payload.size()))
    throw FrameError("end of file inside a frame");
  return decode_payload(payload.data(), payload.data() + payload.size());
}

}  // namespace locus
