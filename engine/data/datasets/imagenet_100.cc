// ImageNet-100, the hundred animal classes that ASG trains on: the layout of the Kaggle data set "ImageNet100" (ambityga), whose
// training part lies in four folders. Not the hundred classes of Contrastive Multiview Coding (imagenet-100-cmc).
#include <set>

#include "engine/data/stored/class_list.h"
#include "engine/data/stored/item.h"

namespace locus::engine::datasets {
namespace {

constexpr PublishedSizes kHundredPublished{100, 130000, 5000};
constexpr std::string_view kClasses =
    "n01440764 n01443537 n01484850 n01491361 n01494475 n01496331 n01498041 n01514668 n01514859 n01531178 "
    "n01537544 n01560419 n01582220 n01592084 n01601694 n01608432 n01614925 n01622779 n01630670 n01632458 "
    "n01632777 n01644900 n01664065 n01665541 n01667114 n01667778 n01675722 n01677366 n01685808 n01687978 "
    "n01693334 n01695060 n01698640 n01728572 n01729322 n01729977 n01734418 n01735189 n01739381 n01740131 "
    "n01742172 n01749939 n01751748 n01753488 n01755581 n01756291 n01770081 n01770393 n01773157 n01773549 "
    "n01773797 n01774384 n01774750 n01775062 n01776313 n01795545 n01796340 n01798484 n01806143 n01818515 "
    "n01819313 n01820546 n01824575 n01828970 n01829413 n01833805 n01843383 n01847000 n01855672 n01860187 "
    "n01877812 n01883070 n01910747 n01914609 n01924916 n01930112 n01943899 n01944390 n01950731 n01955084 "
    "n01968897 n01978287 n01978455 n01984695 n01985128 n01986214 n02002556 n02006656 n02007558 n02011460 "
    "n02012849 n02013706 n02018207 n02018795 n02027492 n02028035 n02037110 n02051845 n02058221 n02077923";

// The parts in this order, in each by class and file name.
const std::vector<std::string>& training_places() {
  static const std::vector<std::string> kPlaces = {"train.X1", "train.X2", "train.X3", "train.X4"};
  return kPlaces;
}

// The published classes; of a copy with another number of them, those that its training part has.
std::vector<std::string> classes_of(const std::filesystem::path& folder, std::int64_t wanted) {
  if (wanted == kHundredPublished.classes) return class_list(kClasses);
  std::set<std::string> found;
  for (const std::string& place : training_places()) {
    for (const std::string& name : subfolders(folder / place, NameOrder::kBytes)) found.insert(name);
  }
  return {found.begin(), found.end()};
}

Listing list_hundred(const std::filesystem::path& folder, std::int64_t wanted) {
  const std::vector<std::string> val = {"val.X"};
  Listing out;
  out.classes = classes_of(folder, wanted);
  out.parts["train"] = list_classes(folder, training_places(), out.classes, NameOrder::kBytes, /*all=*/true, out);
  out.parts["val"] = list_classes(folder, val, out.classes, NameOrder::kBytes, /*all=*/true, out);
  return out;
}

}  // namespace

DatasetItem imagenet_100() {
  StoredLayout layout;
  layout.dataset = layout.folder = "imagenet-100";
  layout.places = training_places();
  layout.places.push_back("val.X");
  layout.get =
      "get ambityga/imagenet100 from https://www.kaggle.com and unpack it as train.X1 to train.X4 and val.X, each "
      "with a folder a class";
  Item item("dataset", "imagenet-100", 1,
            "130,000 training and 5,000 validation photographs in the 100 animal classes of the Kaggle set that ASG "
            "uses; the validation part is what is reported (test)");
  item.set("paper", "ImageNet Large Scale Visual Recognition Challenge");
  return stored_item(std::move(item), layout, kHundredPublished, {}, Json::object(),
                     [](StoredLayout& here, const Options&) {
                       here.list = [classes = here.classes](const std::filesystem::path& folder) {
                         return list_hundred(folder, classes);
                       };
                     });
}

}  // namespace locus::engine::datasets
