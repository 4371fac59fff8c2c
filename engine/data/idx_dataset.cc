// Splits of IDX files: the training file is carved into train and validation by position, without a seed.
#include "engine/data/idx_dataset.h"

#include "engine/base/failure.h"
#include "engine/data/idx.h"

namespace locus::engine {
namespace {

class IdxDataset : public Dataset {
 public:
  IdxDataset(IdxLayout layout, const DataPlace& place)
      : layout_(std::move(layout)), folder_(place.root / layout_.manifest.dataset), cache_(place.cache) {}

  const ImageSplit& split(std::string_view name) override {
    if (name == "test") {
      if (!test_) test_ = read(layout_.test_images, layout_.test_labels, layout_.test);
      return *test_;
    }
    if (name != "train" && name != "validation") {
      throw std::invalid_argument("no split '" + std::string(name) + "': there are train, validation and test");
    }
    if (!train_) {
      const ImageSplit whole = read(layout_.train_images, layout_.train_labels, layout_.train + layout_.validation);
      train_ = slice(whole, 0, layout_.train);
      validation_ = slice(whole, layout_.train, layout_.train + layout_.validation);
    }
    return name == "train" ? *train_ : *validation_;
  }

  const Normalization& normalization() const override { return layout_.normalization; }

 private:
  static ImageSplit slice(const ImageSplit& whole, std::int64_t first, std::int64_t end) {
    return {whole.images.slice(0, first, end), whole.labels.slice(0, first, end)};
  }

  ImageSplit read(const std::string& images, const std::string& labels, std::int64_t count) const {
    verify_file(layout_.manifest, images, folder_, cache_);
    verify_file(layout_.manifest, labels, folder_, cache_);
    const auto [rows, columns] = layout_.extent;
    ImageSplit out{read_idx(folder_ / images, {count, rows, columns}).unsqueeze(1),
                   read_idx(folder_ / labels, {count}).to(at::kLong)};
    if (out.labels.max().item<std::int64_t>() >= layout_.classes) {
      throw DataError((folder_ / labels).string() + " holds a label beyond the " + std::to_string(layout_.classes) +
                      " classes; reinstall the dataset");
    }
    return out;
  }

  IdxLayout layout_;
  std::filesystem::path folder_, cache_;
  std::optional<ImageSplit> train_, validation_, test_;
};

}  // namespace

std::shared_ptr<Dataset> open_idx_dataset(IdxLayout layout, const DataPlace& place) {
  return std::make_shared<IdxDataset>(std::move(layout), place);
}

}  // namespace locus::engine
