// CIFAR-10 (Krizhevsky 2009), binary version: 32 x 32 color images of ten kinds of animals and vehicles.
#include "engine/base/item.h"
#include "engine/data/cifar_dataset.h"
#include "engine/data/dataset.h"

namespace locus::engine::datasets {
namespace {

CifarLayout cifar_10_layout() {
  constexpr std::int64_t kRecords = 10000;  // of each file
  const std::string folder = "cifar-10-batches-bin/";
  CifarLayout out;
  for (int i = 1; i <= 5; ++i) out.train_files.push_back(folder + "data_batch_" + std::to_string(i) + ".bin");
  out.test_files = {folder + "test_batch.bin"};
  out.manifest.dataset = "cifar-10";
  for (const auto* files : {&out.train_files, &out.test_files}) {
    for (const std::string& name : *files) out.manifest.files[name].bytes = cifar_bytes(kRecords, 1);
  }
  out.manifest.archive = {"cifar-10-binary.tar.gz", "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                          "c32a1d4ab5d03f1284b67883e8d87530"};
  out.refused = "cifar-10-batches-py";
  // The training files are shuffled, so their last 5000 rows are a fair validation set.
  out.sizes = {.train = 45000, .validation = 5000, .test = 10000};
  out.label_classes = {10};
  out.normalization = {{0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}};  // of all training files
  return out;
}

}  // namespace

DatasetItem cifar_10() {
  const CifarLayout files = cifar_10_layout();
  Item item("dataset", "cifar-10", 1,
            "60,000 color 32 x 32 images of animals and vehicles in 10 classes; validation is the last 5000 of the "
            "training files");
  item.set("paper", "Learning Multiple Layers of Features from Tiny Images")
      .facts(
          {{"digest", files.manifest.digest()},
           {"manifest", files.manifest.json()},
           {"rank", 2},
           {"channels", kCifarChannels},
           {"extent", kCifarExtent},
           {"classes", 10},
           {"class_names", {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"}},
           {"splits",
            {{"train", files.sizes.train}, {"validation", files.sizes.validation}, {"test", files.sizes.test}}},
           {"normalization", {{"mean", files.normalization.mean}, {"deviation", files.normalization.deviation}}},
           {"defaults", {{"model.patch", 4}}},  // eight by eight patches
           {"archive", files.manifest.archive.json()}});
  return {std::move(item),
          [](const DataPlace& place, const Options&) { return open_cifar_dataset(cifar_10_layout(), place); }};
}

}  // namespace locus::engine::datasets
