// Fashion-MNIST (Xiao, Rasul, Vollgraf 2017): 28 x 28 gray images of ten kinds of clothing.
#include "engine/base/item.h"
#include "engine/data/dataset.h"
#include "engine/data/idx_dataset.h"

namespace locus::engine::datasets {
namespace {

IdxLayout fashion_mnist_layout() {
  IdxLayout out;
  out.manifest = {
      "fashion-mnist",
      "dataset-fashion-mnist",
      {{"train-images-idx3-ubyte.gz", {"b0564c3eedabfbf835052cff8503ea422014ce006caf5b757f851416ee8300c7", 26421856}},
       {"train-labels-idx1-ubyte.gz", {"0ae29f65d86684f32d1b9c85147786c547b9c6aebcaf235f0400a0cce308b056", 29491}},
       {"t10k-images-idx3-ubyte.gz", {"cc1d090a38ace84dfa1aa66e3ada7c336ef481a96936906477e6dd344da56eaa", 4422079}},
       {"t10k-labels-idx1-ubyte.gz", {"8d3605d196f4be44669e46906da9733c8131fef761fdbfec72c424d5222f1a05", 5125}}}};
  out.train_images = "train-images-idx3-ubyte.gz";
  out.train_labels = "train-labels-idx1-ubyte.gz";
  out.test_images = "t10k-images-idx3-ubyte.gz";
  out.test_labels = "t10k-labels-idx1-ubyte.gz";
  // The training file is shuffled, so its last 5000 rows are a fair validation set.
  out.sizes = {.train = 55000, .validation = 5000, .test = 10000};
  out.extent = {28, 28};
  out.classes = 10;
  out.normalization = {{0.2860}, {0.3530}};  // of the whole training file
  return out;
}

}  // namespace

DatasetItem fashion_mnist() {
  const IdxLayout files = fashion_mnist_layout();
  Item item("dataset", "fashion-mnist", 1,
            "70,000 gray 28 x 28 images of clothing in 10 classes; validation is the last 5000 of the "
            "training file");
  item.set("paper", "Fashion-MNIST: a Novel Image Dataset for Benchmarking Machine Learning Algorithms")
      .facts(
          {{"digest", files.manifest.digest()},
           {"manifest", files.manifest.json()},
           {"rank", 2},
           {"channels", 1},
           {"extent", files.extent},
           {"classes", files.classes},
           {"class_names",
            {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"}},
           {"splits",
            {{"train", files.sizes.train}, {"validation", files.sizes.validation}, {"test", files.sizes.test}}},
           {"normalization", {{"mean", files.normalization.mean}, {"deviation", files.normalization.deviation}}},
           {"defaults", {{"model.patch", 7}}},  // four by four patches; 16 would not tile the image
           {"package", files.manifest.package}});
  return {std::move(item),
          [](const DataPlace& place, const Options&) { return open_idx_dataset(fashion_mnist_layout(), place); }};
}

}  // namespace locus::engine::datasets
