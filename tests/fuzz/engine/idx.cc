// The files of the MNIST family: as they are, which is compressed, and as what is in one.
#include "engine/data/idx.h"

#include <zlib.h>

#include "engine/base/failure.h"
#include "tests/fuzz/fuzz.h"

namespace locus::fuzz {
namespace {

std::string compressed(std::string_view bytes) {
  z_stream stream{};
  require(deflateInit2(&stream, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK, "zlib compresses");
  std::string out(deflateBound(&stream, bytes.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  require(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib compresses");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

void read(std::string_view bytes) {
  const MemoryFile file(bytes);
  try {
    (void)engine::read_idx(file.path(), {2, 3, 4});
  } catch (const engine::DataError&) {
  }
}

}  // namespace

void idx(std::string_view bytes) {
  read(bytes);
  read(compressed(bytes));
}

}  // namespace locus::fuzz
