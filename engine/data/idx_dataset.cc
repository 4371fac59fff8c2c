// Splits of IDX files.
#include "engine/data/idx_dataset.h"

#include "engine/base/failure.h"
#include "engine/data/idx.h"

namespace locus::engine {
namespace {

class IdxDataset : public CarvedDataset {
 public:
  IdxDataset(IdxLayout layout, const DataPlace& place)
      : CarvedDataset(layout.sizes, layout.normalization),
        layout_(std::move(layout)),
        folder_(place.root / layout_.manifest.dataset),
        cache_(place.cache) {}

 private:
  Batch read_training() const override {
    return read(layout_.train_images, layout_.train_labels, sizes().train + sizes().validation);
  }
  Batch read_test() const override { return read(layout_.test_images, layout_.test_labels, sizes().test); }

  Batch read(const std::string& images, const std::string& labels, std::int64_t count) const {
    verify_file(layout_.manifest, images, folder_, cache_);
    verify_file(layout_.manifest, labels, folder_, cache_);
    const auto [rows, columns] = layout_.extent;
    Batch out{{kImage, read_idx(folder_ / images, {count, rows, columns}).unsqueeze(1)},
              {kLabel, read_idx(folder_ / labels, {count}).to(at::kLong)}};
    if (out.at(kLabel).max().item<std::int64_t>() >= layout_.classes) {
      throw DataError((folder_ / labels).string() + " holds a label beyond the " + std::to_string(layout_.classes) +
                      " classes; reinstall the dataset");
    }
    return out;
  }

  IdxLayout layout_;
  std::filesystem::path folder_, cache_;
};

}  // namespace

std::shared_ptr<Dataset> open_idx_dataset(IdxLayout layout, const DataPlace& place) {
  return std::make_shared<IdxDataset>(std::move(layout), place);
}

}  // namespace locus::engine
