// Small copies of datasets on disk, for tests: images of one shade, written by our encoders.
#pragma once

#include "engine/base/failure.h"
#include "engine/data/dataset.h"
#include "engine/data/stored/image_manifest.h"
#include "engine/images/encode.h"
#include "tests/engine/data/idx_fixture.h"

namespace locus::engine {

inline std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// All pixels of this shade, which JPEG keeps.
inline Image plain(int shade, int height = 4, int width = 6) {
  Image out = Image::blank(height, width, 3);
  for (std::uint8_t& pixel : out.pixels) pixel = static_cast<std::uint8_t>(shade);
  return out;
}
inline std::string jpeg(int shade, int height = 4, int width = 6) {
  return text_of(encode_jpeg(plain(shade, height, width)));
}
inline std::string png(int shade, int height = 4, int width = 6) {
  return text_of(encode_png(plain(shade, height, width)));
}

// A folder of datasets and a cache, both gone at the end.
class StoredData {
 public:
  std::filesystem::path root() const { return folder_.path() / "data"; }
  DataPlace place() const { return {root(), folder_.path() / "cache"}; }
  void write(const std::string& name, const std::string& bytes) const { write_bytes(root() / name, bytes); }

  std::shared_ptr<Dataset> open(const std::string& id, const Json& options) const {
    const DatasetItem& item = dataset_item(id);
    return item.open(place(), Options(item.item.json(), options));
  }
  // What opening and reading its training part says.
  std::string refused(const std::string& id, const Json& options) const {
    try {
      open(id, options)->split("train");
    } catch (const DataError& error) {
      return error.what();
    }
    return "not refused";
  }
  std::string digest(const std::string& id, const Json& options) const {
    const auto dataset = open(id, options);
    dataset->prepare({});
    return dataset->used().at("manifest").get<std::string>();
  }

  // Two classes in ImageNet's layout: shades 10, 20, 30 in train/a (one in a folder below), 110, 120 in train/b, 50 in
  // val/a, 150 in val/b; one is a PNG named as a JPEG.
  void write_imagenet(const std::string& folder = "imagenet-1k") const {
    write(folder + "/train/b/2.jpg", jpeg(120, 5, 7));
    write(folder + "/train/a/2.JPEG", png(20));
    write(folder + "/train/a/below/0.png", png(30));
    write(folder + "/train/b/1.jpeg", jpeg(110));
    write(folder + "/train/a/1.jpg", jpeg(10));
    write(folder + "/val/b/v.jpg", jpeg(150));
    write(folder + "/val/a/v.jpg", jpeg(50));
  }

 private:
  TemporaryFolder folder_;
};
inline const Json kTwoClasses = {{"classes", 2}, {"train", 5}, {"test", 2}};

// "10/0 20/0": shade and label of each sample.
inline std::string rows_of(const Source& source) {
  std::string out;
  for (std::int64_t row = 0; row < source.size(); ++row) {
    const Sample sample = source.read(row);
    out += (row > 0 ? " " : "") + std::to_string(sample.at(kImage)[0][0][0].item<int>()) + "/" +
           std::to_string(sample.at(kLabel).item<std::int64_t>());
  }
  return out;
}

}  // namespace locus::engine
