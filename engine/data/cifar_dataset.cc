// Reads records in blocks, so that no part is in memory twice.
#include "engine/data/cifar_dataset.h"

#include <algorithm>
#include <cstring>
#include <fstream>

#include "engine/base/failure.h"

namespace locus::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPixels = kCifarChannels * kCifarExtent[0] * kCifarExtent[1];
constexpr std::int64_t kRecordsAtOnce = 256;  // records read at once

class CifarDataset : public CarvedDataset {
 public:
  CifarDataset(CifarLayout layout, const DataPlace& place)
      : CarvedDataset(layout.sizes, layout.normalization),
        layout_(std::move(layout)),
        folder_(place.root / layout_.manifest.dataset),
        cache_(place.cache) {}

 private:
  Batch read_training() const override { return read(layout_.train_files, sizes().train + sizes().validation); }
  Batch read_test() const override { return read(layout_.test_files, sizes().test); }

  std::int64_t record() const { return static_cast<std::int64_t>(layout_.label_classes.size()) + kPixels; }

  Batch read(const std::vector<std::string>& files, std::int64_t count) const {
    for (const std::string& name : files) verify(name);
    Tensor images = at::empty({count, kCifarChannels, kCifarExtent[0], kCifarExtent[1]}, at::kByte);
    Tensor labels = at::empty({count}, at::kLong);
    std::int64_t row = 0;
    for (const std::string& name : files) {
      const std::int64_t records = layout_.manifest.files.at(name).bytes / record();
      read_file(folder_ / name, records, images.narrow(0, row, records), labels.narrow(0, row, records));
      row += records;
    }
    if (row != count) throw std::logic_error("the files of " + layout_.manifest.dataset + " hold another count");
    check_balance(files, labels);
    return {{kImage, images}, {kLabel, labels}};
  }

  void verify(const std::string& name) const {
    if (!fs::exists(folder_ / name) && fs::exists(folder_ / layout_.refused)) {
      throw DataError("dataset " + layout_.manifest.dataset + ": " + (folder_ / layout_.refused).string() +
                      " is not the binary version, and no other is read" +
                      layout_.manifest.remedy(folder_, /*again=*/false));
    }
    verify_file(layout_.manifest, name, folder_, cache_);
  }

  // Fills images [records, 3, 32, 32] and labels [records].
  void read_file(const fs::path& path, std::int64_t records, Tensor images, Tensor labels) const {
    std::ifstream in(path, std::ios::binary);
    auto* pixels = images.mutable_data_ptr<std::uint8_t>();
    auto* label = labels.mutable_data_ptr<std::int64_t>();
    const std::size_t heads = layout_.label_classes.size();
    std::vector<char> block(static_cast<std::size_t>(kRecordsAtOnce * record()));
    for (std::int64_t first = 0; first < records; first += kRecordsAtOnce) {
      const std::int64_t here = std::min(kRecordsAtOnce, records - first);
      if (!in.read(block.data(), here * record()))
        throw DataError(path.string() + " cannot be read to its end: look at its permissions and the disk");
      for (std::int64_t i = 0; i < here; ++i) {
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(block.data()) + i * record();
        for (std::size_t which = 0; which < heads; ++which) check_label(path, first + i, which, bytes[which]);
        *label++ = bytes[layout_.label];
        std::memcpy(pixels, bytes + heads, kPixels);
        pixels += kPixels;
      }
    }
  }

  void check_label(const fs::path& path, std::int64_t row, std::size_t which, std::int64_t value) const {
    if (value < layout_.label_classes[which]) return;
    throw DataError(path.string() + ", record " + std::to_string(row) + ": label byte " + std::to_string(which) +
                    " is " + std::to_string(value) + ", and there are " + std::to_string(layout_.label_classes[which]) +
                    " classes: it is damaged or another file" + layout_.manifest.remedy(folder_, /*again=*/true));
  }

  void check_balance(const std::vector<std::string>& files, const Tensor& labels) const {
    const std::int64_t classes = layout_.label_classes[layout_.label];
    const Tensor counts = labels.bincount({}, classes);
    const std::int64_t expected = labels.size(0) / classes;
    for (std::int64_t one = 0; one < classes; ++one) {
      const auto found = counts[one].item<std::int64_t>();
      if (found == expected) continue;
      throw DataError((folder_ / files.front()).string() +
                      (files.size() > 1 ? " and those after it hold " : " holds ") + std::to_string(found) +
                      " images of class " + std::to_string(one) + " where " + std::to_string(expected) +
                      " are expected: something in it is damaged or another file" +
                      layout_.manifest.remedy(folder_, /*again=*/true));
    }
  }

  CifarLayout layout_;
  fs::path folder_, cache_;
};

}  // namespace

std::int64_t cifar_bytes(std::int64_t records, std::int64_t labels) { return records * (labels + kPixels); }

std::shared_ptr<Dataset> open_cifar_dataset(CifarLayout layout, const DataPlace& place) {
  return std::make_shared<CifarDataset>(std::move(layout), place);
}

}  // namespace locus::engine
