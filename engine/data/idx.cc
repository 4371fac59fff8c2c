// Inflates into the tensor itself: first the header, then exactly the bytes the shape asks for, then the end.
#include "engine/data/idx.h"

#include <zlib.h>

#include <array>
#include <fstream>
#include <span>

#include "engine/base/failure.h"

namespace locus::engine {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& what) {
  throw DataError(path.string() + " " + what + "; reinstall the dataset");
}

// One gzip member, read in pieces.
class Inflater {
 public:
  explicit Inflater(const std::filesystem::path& path) : path_(path), in_(path, std::ios::binary) {
    if (!in_) refuse(path_, "is missing or cannot be read");
    if (inflateInit2(&stream_, 16 + MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Fills `out`; returns how many bytes there were.
  std::size_t read(std::span<std::uint8_t> out) {
    std::size_t done = 0;
    while (done < out.size() && !ended_) {
      refill();
      stream_.next_out = out.data() + done;
      stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(out.size() - done, 1u << 30));
      const uInt room = stream_.avail_out;
      const int result = inflate(&stream_, Z_NO_FLUSH);
      done += room - stream_.avail_out;
      if (result == Z_STREAM_END) {
        ended_ = true;
      } else if (result != Z_OK) {
        refuse(path_, std::string("is not a sound gzip file (") + (stream_.msg ? stream_.msg : "damaged") + ")");
      }
    }
    return done;
  }

 private:
  void refill() {
    if (stream_.avail_in > 0) return;
    in_.read(reinterpret_cast<char*>(buffer_.data()), buffer_.size());
    stream_.next_in = buffer_.data();
    stream_.avail_in = static_cast<uInt>(in_.gcount());
    if (stream_.avail_in == 0) refuse(path_, "ends in the middle of its compressed data: it is truncated");
  }

  std::filesystem::path path_;
  std::ifstream in_;
  z_stream stream_{};
  std::array<std::uint8_t, 1 << 16> buffer_;
  bool ended_ = false;
};

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

std::string extents(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (std::int64_t extent : shape) text += (text.empty() ? "" : " x ") + std::to_string(extent);
  return text;
}

}  // namespace

Tensor read_idx(const std::filesystem::path& path, const std::vector<std::int64_t>& shape) {
  Inflater file(path);
  std::vector<std::uint8_t> header(4 + 4 * shape.size());
  if (file.read(header) != header.size()) refuse(path, "is too short to hold an IDX header");
  const std::uint32_t magic = 0x0800u + static_cast<std::uint32_t>(shape.size());
  if (big_endian(header.data()) != magic) {
    refuse(path, "is not an IDX file of bytes with " + std::to_string(shape.size()) + " dimensions");
  }
  std::vector<std::int64_t> found;
  for (std::size_t i = 0; i < shape.size(); ++i) found.push_back(big_endian(header.data() + 4 + 4 * i));
  if (found != shape) refuse(path, "holds " + extents(found) + " values where " + extents(shape) + " are expected");
  Tensor out = at::empty(shape, at::kByte);
  const auto bytes = static_cast<std::size_t>(out.numel());
  const std::size_t read = file.read({out.mutable_data_ptr<std::uint8_t>(), bytes});
  if (read != bytes) {
    refuse(path, "holds " + std::to_string(read) + " bytes of data where " + std::to_string(bytes) + " are expected");
  }
  std::array<std::uint8_t, 1> beyond{};
  if (file.read(beyond) != 0) refuse(path, "holds more data than its header says");
  return out;
}

}  // namespace locus::engine
