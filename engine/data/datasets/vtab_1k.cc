// The 19 tasks of VTAB-1K (Zhai et al. 2020) as folders of JPEG files with lists: 800 images to train on and 200 to choose by, all
// 1000 for the final training.
#include "engine/data/stored/item.h"
#include "engine/data/stored/split_lists.h"

namespace locus::engine::datasets {
namespace {

struct Task {
  const char* folder;
  const char* group;
  const char* summary;
  std::int64_t classes, test;  // images
};
constexpr Task kTasks[] = {
    {"caltech101", "natural", "Caltech101: objects", 102, 6085},
    {"cifar", "natural", "CIFAR-100: small color images", 100, 10000},
    {"dtd", "natural", "Describable Textures", 47, 1880},
    {"oxford_flowers102", "natural", "Oxford Flowers: kinds of flowers", 102, 6149},
    {"oxford_iiit_pet", "natural", "Oxford-IIIT Pets: breeds of cats and dogs", 37, 3669},
    {"svhn", "natural", "Street View House Numbers: digits", 10, 26032},
    {"sun397", "natural", "SUN397: kinds of scenes", 397, 21750},
    {"patch_camelyon", "specialized", "Patch Camelyon: tumor tissue or not", 2, 32768},
    {"eurosat", "specialized", "EuroSAT: land use from a satellite", 10, 5400},
    {"resisc45", "specialized", "RESISC45: scenes from the air", 45, 6300},
    {"diabetic_retinopathy", "specialized", "Diabetic Retinopathy: grades of disease in photographs of the retina", 5,
     42670},
    {"clevr_count", "structured", "CLEVR: how many objects", 8, 15000},
    {"clevr_dist", "structured", "CLEVR: how far the nearest object is", 6, 15000},
    {"dmlab", "structured", "DMLab: how far the nearest object is, by what it means for the player", 6, 22735},
    {"kitti", "structured", "KITTI: how far the nearest vehicle is", 4, 711},
    {"dsprites_loc", "structured", "dSprites: where along the x axis a shape is", 16, 73728},
    {"dsprites_ori", "structured", "dSprites: how a shape is turned", 16, 73728},
    {"smallnorb_azi", "structured", "SmallNORB: azimuth of a toy", 18, 12150},
    {"smallnorb_ele", "structured", "SmallNORB: elevation of a toy", 9, 12150},
};
constexpr std::int64_t kTrain = 800, kValidation = 200;
constexpr const char* kParts[] = {"train800", "val200", "train800val200", "test"};

Listing list_vtab(const std::filesystem::path& folder, std::int64_t classes) {
  Listing out;
  for (const char* part : kParts) out.parts[part] = read_split_list(folder, part, classes);
  return out;
}

// "oxford_flowers102" -> "vtab-oxford-flowers102"
std::string id_of(const Task& task) {
  std::string out = std::string("vtab-") + task.folder;
  for (char& c : out) {
    if (c == '_') c = '-';
  }
  return out;
}

void complete(StoredLayout& here, const Options& options) {
  const bool final_training = options.text("protocol") == "final";
  here.train = final_training ? "train800val200" : "train800";
  here.validation = final_training ? "" : "val200";
  here.test = "test";
  here.sizes.train = final_training ? kTrain + kValidation : kTrain;
  here.sizes.validation = final_training ? 0 : kValidation;
  here.list = [classes = here.classes](const std::filesystem::path& folder) { return list_vtab(folder, classes); };
}

DatasetItem item_of(const Task& task) {
  StoredLayout layout;
  layout.dataset = id_of(task);
  layout.folder = std::string("vtab-1k/") + task.folder;
  layout.places = {"images"};
  for (const char* part : kParts) layout.places.push_back(std::string(part) + ".txt");
  layout.get =
      "get its folder, made as github.com/BenediktAlkin/vtab1k-pytorch says: images/<part>/*.jpg and a list for each "
      "part";
  Item item("dataset", layout.dataset, 1,
            std::string(task.summary) + "; " + std::to_string(task.classes) + " classes, " + std::to_string(task.test) +
                " test images (VTAB-1K, " + task.group + ")");
  item.set("paper", "A Large-scale Study of Representation Learning with the Visual Task Adaptation Benchmark");
  item.option(Option::text("protocol", "select",
                           "train on 800 images and validate on 200 (select), or train on all 1000 (final)")
                  .choices({"select", "final"})
                  .neutral("select"));
  const Json splits = {{"train", kTrain}, {"validation", kValidation}, {"test", task.test}};
  const Json final_splits = {{"train", kTrain + kValidation}, {"validation", 0}, {"test", task.test}};
  return stored_item(std::move(item), layout, {task.classes, kTrain, task.test}, {.train = false},
                     {{"splits", splits},
                      {"group", task.group},
                      {"variants", Json::array({{{"when", {{"option", "protocol"}, {"values", Json::array({"final"})}}},
                                                 {"facts", {{"splits", final_splits}}}}})}},
                     complete);
}

}  // namespace

std::vector<DatasetItem> vtab_1k() {
  std::vector<DatasetItem> out;
  for (const Task& task : kTasks) out.push_back(item_of(task));
  return out;
}

}  // namespace locus::engine::datasets
