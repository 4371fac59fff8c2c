// CIFAR-100 (Krizhevsky 2009), binary version: 32 x 32 color images of a hundred classes in twenty superclasses.
#include "engine/base/item.h"
#include "engine/data/cifar_dataset.h"
#include "engine/data/dataset.h"

namespace locus::engine::datasets {
namespace {

constexpr const char* kLabels = "labels";
constexpr const char* kFine = "fine";
constexpr const char* kCoarse = "coarse";
constexpr std::int64_t kCoarseClasses = 20, kFineClasses = 100;

CifarLayout cifar_100_layout() {
  constexpr std::int64_t kTraining = 50000, kTest = 10000;
  CifarLayout out;
  out.manifest.dataset = "cifar-100";
  out.train_files = {"cifar-100-binary/train.bin"};
  out.test_files = {"cifar-100-binary/test.bin"};
  out.manifest.files[out.train_files[0]].bytes = cifar_bytes(kTraining, 2);
  out.manifest.files[out.test_files[0]].bytes = cifar_bytes(kTest, 2);
  out.manifest.archive = {"cifar-100-binary.tar.gz", "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
                          "03b5dce01913d631647c71ecec9e9cb8"};
  out.refused = "cifar-100-python";
  // The training file is shuffled, so its last 5000 rows are a fair validation set.
  out.sizes = {.train = 45000, .validation = 5000, .test = 10000};
  out.label_classes = {kCoarseClasses, kFineClasses};
  out.label = 1;
  out.normalization = {{0.5071, 0.4865, 0.4409}, {0.2673, 0.2564, 0.2762}};  // of the whole training file
  return out;
}

Json fine_names() {
  return {"apple",      "aquarium_fish", "baby",         "bear",       "beaver",      "bed",         "bee",
          "beetle",     "bicycle",       "bottle",       "bowl",       "boy",         "bridge",      "bus",
          "butterfly",  "camel",         "can",          "castle",     "caterpillar", "cattle",      "chair",
          "chimpanzee", "clock",         "cloud",        "cockroach",  "couch",       "crab",        "crocodile",
          "cup",        "dinosaur",      "dolphin",      "elephant",   "flatfish",    "forest",      "fox",
          "girl",       "hamster",       "house",        "kangaroo",   "keyboard",    "lamp",        "lawn_mower",
          "leopard",    "lion",          "lizard",       "lobster",    "man",         "maple_tree",  "motorcycle",
          "mountain",   "mouse",         "mushroom",     "oak_tree",   "orange",      "orchid",      "otter",
          "palm_tree",  "pear",          "pickup_truck", "pine_tree",  "plain",       "plate",       "poppy",
          "porcupine",  "possum",        "rabbit",       "raccoon",    "ray",         "road",        "rocket",
          "rose",       "sea",           "seal",         "shark",      "shrew",       "skunk",       "skyscraper",
          "snail",      "snake",         "spider",       "squirrel",   "streetcar",   "sunflower",   "sweet_pepper",
          "table",      "tank",          "telephone",    "television", "tiger",       "tractor",     "train",
          "trout",      "tulip",         "turtle",       "wardrobe",   "whale",       "willow_tree", "wolf",
          "woman",      "worm"};
}

Json coarse_names() {
  return {"aquatic_mammals",
          "fish",
          "flowers",
          "food_containers",
          "fruit_and_vegetables",
          "household_electrical_devices",
          "household_furniture",
          "insects",
          "large_carnivores",
          "large_man-made_outdoor_things",
          "large_natural_outdoor_scenes",
          "large_omnivores_and_herbivores",
          "medium_mammals",
          "non-insect_invertebrates",
          "people",
          "reptiles",
          "small_mammals",
          "trees",
          "vehicles_1",
          "vehicles_2"};
}

std::shared_ptr<Dataset> open(const DataPlace& place, const Options& options) {
  CifarLayout files = cifar_100_layout();
  files.label = options.text(kLabels) == kCoarse ? 0 : 1;
  return open_cifar_dataset(std::move(files), place);
}

}  // namespace

DatasetItem cifar_100() {
  const CifarLayout files = cifar_100_layout();
  Item item("dataset", "cifar-100", 1,
            "60,000 color 32 x 32 images in 100 classes of 20 superclasses; validation is the last 5000 of the "
            "training file");
  item.option(Option::text(kLabels, kFine, "what is to be told apart: the classes (fine) or the superclasses (coarse)")
                  .choices({kFine, kCoarse})
                  .neutral(kFine));
  item.set("paper", "Learning Multiple Layers of Features from Tiny Images")
      .facts({{"digest", files.manifest.digest()},
              {"manifest", files.manifest.json()},
              {"rank", 2},
              {"channels", kCifarChannels},
              {"extent", kCifarExtent},
              {"classes", kFineClasses},
              {"class_names", fine_names()},
              {"variants", Json::array({{{"when", {{"option", kLabels}, {"values", Json::array({kCoarse})}}},
                                         {"facts", {{"classes", kCoarseClasses}, {"class_names", coarse_names()}}}}})},
              {"splits",
               {{"train", files.sizes.train}, {"validation", files.sizes.validation}, {"test", files.sizes.test}}},
              {"normalization", {{"mean", files.normalization.mean}, {"deviation", files.normalization.deviation}}},
              {"defaults", {{"model.patch", 4}}},  // eight by eight patches
              {"archive", files.manifest.archive.json()}});
  return {std::move(item), open};
}

}  // namespace locus::engine::datasets
