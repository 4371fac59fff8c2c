// Small IDX datasets on disk, for tests.
#pragma once

#include <zlib.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "core/base/sha256.h"
#include "engine/data/idx_dataset.h"

namespace locus::engine {

// A folder of its own, gone with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "locus-test-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::string gzip(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string idx_bytes(const std::vector<std::int64_t>& shape, const std::string& data) {
  std::string out{'\0', '\0', '\x08', static_cast<char>(shape.size())};
  for (std::int64_t extent : shape) {
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(extent >> shift & 255);
  }
  return out + data;
}

inline void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Writes 8 training, 4 validation and 4 test images of 2 x 3 pixels under `root`/tiny; pixel value = row
// number, label = row number modulo 3 (test rows from 100).
inline IdxLayout write_tiny_dataset(const std::filesystem::path& root) {
  IdxLayout layout;
  layout.manifest = {"tiny", "dataset-tiny", {}};
  const auto add = [&](const std::string& name, const std::string& idx) {
    const std::string bytes = gzip(idx);
    write_bytes(root / "tiny" / name, bytes);
    layout.manifest.files[name] = {sha256_hex(bytes), static_cast<std::int64_t>(bytes.size())};
    return name;
  };
  const auto rows = [](int first, int count, int repeat, int modulus) {
    std::string out;
    for (int row = first; row < first + count; ++row)
      out += std::string(static_cast<std::size_t>(repeat), static_cast<char>(row % modulus));
    return out;
  };
  layout.train_images = add("train-images.gz", idx_bytes({12, 2, 3}, rows(0, 12, 6, 256)));
  layout.train_labels = add("train-labels.gz", idx_bytes({12}, rows(0, 12, 1, 3)));
  layout.test_images = add("test-images.gz", idx_bytes({4, 2, 3}, rows(100, 4, 6, 256)));
  layout.test_labels = add("test-labels.gz", idx_bytes({4}, rows(0, 4, 1, 3)));
  layout.sizes = {.train = 8, .validation = 4, .test = 4};
  layout.extent = {2, 3};
  layout.classes = 3;
  layout.normalization = {{0.0}, {1.0}};
  return layout;
}

}  // namespace locus::engine
