// Outlines: gray 16 x 16 images of four outlines on noise, of several sizes and at any place, which make_outlines.py writes.
//
// Two files of a part, each row by row: images as bytes, labels as a byte each.
#include <fstream>

#include "engine/data/carved_dataset.h"
#include "engine/data/manifest.h"
#include "engine/plugin/plugin.h"

namespace {

using namespace locus::engine;

constexpr std::int64_t kSide = 16, kClasses = 4;
constexpr CarvedSizes kSizes = {.train = 2000, .validation = 400, .test = 800};

Manifest outlines_manifest() {
  Manifest out;
  out.dataset = "outlines";
  out.files = {
      {"train-images.u8",
       {"03c7ef2b668410dc1f4068aa8f56e7df631c5e92e249c78fd4c0f4cf728b956e",
        (kSizes.train + kSizes.validation) * kSide * kSide}},
      {"train-labels.u8",
       {"242ddd3640110b31dd494ce9ed360f65430ee6a3ba0b85fa244d23b173936c6a", kSizes.train + kSizes.validation}},
      {"test-images.u8",
       {"7f2b2929d559492b323e136cb1312b3c46eaea002c6c3bf7e1bc3d3de54bb9d4", kSizes.test * kSide * kSide}},
      {"test-labels.u8", {"f9587a8a40bb046516ee8956476ca9e57a00a120db42e8b3cb53ca6b92132005", kSizes.test}},
  };
  return out;
}

class Outlines final : public CarvedDataset {
 public:
  explicit Outlines(const DataPlace& place)
      : CarvedDataset(kSizes, {{0.25}, {0.25}}), folder_(place.root / "outlines"), cache_(place.cache) {}

 private:
  Batch read_training() const override { return read("train", kSizes.train + kSizes.validation); }
  Batch read_test() const override { return read("test", kSizes.test); }

  Batch read(const std::string& part, std::int64_t count) const {
    return {{kImage, bytes_of_file(part + "-images.u8").view({count, 1, kSide, kSide})},
            {kLabel, bytes_of_file(part + "-labels.u8").to(at::kLong)}};
  }

  // uint8 [bytes]. The file is what the manifest says, or verify_file has said what to do.
  Tensor bytes_of_file(const std::string& name) const {
    const Manifest manifest = outlines_manifest();
    verify_file(manifest, name, folder_, cache_);
    Tensor out = at::empty({manifest.files.at(name).bytes}, at::kByte);
    std::ifstream(folder_ / name, std::ios::binary).read(static_cast<char*>(out.data_ptr()), out.numel());
    return out;
  }

  std::filesystem::path folder_, cache_;
};

DatasetItem outlines() {
  const Manifest files = outlines_manifest();
  Item item("dataset", "outlines", 1, "3,200 gray 16 x 16 images of four outlines; make_outlines.py writes them");
  item.facts({{"digest", files.digest()},
              {"manifest", files.json()},
              {"rank", 2},
              {"channels", 1},
              {"extent", {kSide, kSide}},
              {"classes", kClasses},
              {"class_names", {"square", "diamond", "cross", "diagonal cross"}},
              {"splits", {{"train", kSizes.train}, {"validation", kSizes.validation}, {"test", kSizes.test}}},
              {"defaults", {{"model.patch", 4}}}});
  return {std::move(item), [](const DataPlace& place, const Options&) -> std::shared_ptr<Dataset> {
            return std::make_shared<Outlines>(place);
          }};
}

}  // namespace

LOCUS_DATASET(outlines)
