// ADE20K's scene parsing (Zhou et al. 2017) as ADEChallengeData2016: images/{training,validation}/*.jpg, annotations/ of the same
// names as PNG (0 is unlabeled, 1.. are the classes), objectInfo150.txt with the names. The validation part is what is reported
// (test); for validation 2,000 training images are held out.
#include <algorithm>

#include "engine/data/palette.h"
#include "engine/data/stored/class_list.h"
#include "engine/data/stored/item.h"
#include "engine/data/stored/masks.h"
#include "engine/data/stored/table.h"

namespace locus::engine::datasets {
namespace {

constexpr const char* kObjects = "objectInfo150.txt";

// The first word of each of the 150 classes, hyphens for spaces.
constexpr const char* kAdeClasses =
    "wall building sky floor tree ceiling road bed windowpane grass cabinet sidewalk person earth door table "
    "mountain plant curtain chair car water painting sofa shelf house sea mirror rug field armchair seat "
    "fence desk rock wardrobe lamp bathtub railing cushion base box column signboard chest-of-drawers counter "
    "sand sink skyscraper fireplace refrigerator grandstand path stairs runway case pool-table pillow "
    "screen-door stairway river bridge bookcase blind coffee-table toilet flower book hill bench countertop "
    "stove palm kitchen-island computer swivel-chair boat bar arcade-machine hovel bus towel light truck "
    "tower chandelier awning streetlight booth television-receiver airplane dirt-track apparel pole land "
    "bannister escalator ottoman bottle buffet poster stage van ship fountain conveyer-belt canopy washer "
    "plaything swimming-pool stool barrel basket waterfall tent bag minibike cradle oven ball food step tank "
    "trade-name microwave pot animal bicycle lake dishwasher screen blanket sculpture hood sconce vase "
    "traffic-light tray ashcan fan pier crt-screen plate monitor bulletin-board shower radiator glass clock "
    "flag ";

// Of the copy, by its table; the first of several words that mean a class.
std::vector<std::string> ade_classes(const std::filesystem::path& folder) {
  const TextTable table(folder / kObjects, '\t');
  const std::vector<double> numbers = table.numbers("Idx");
  const std::vector<std::string> names = table.column("Name");
  std::vector<std::string> out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (numbers[i] != static_cast<double>(i + 1))
      throw DataError((folder / kObjects).string() + " numbers its rows by Idx from 1 on, and row " +
                      std::to_string(i + 1) + " has another number");
    out.push_back(names[i].substr(0, names[i].find_first_of(",;")));
  }
  return out;
}

Listing list_ade(const std::filesystem::path& folder) {
  Listing out;
  out.classes = ade_classes(folder);
  for (const char* part : {"training", "validation"}) {
    const std::string images = std::string("images/") + part, masks = std::string("annotations/") + part;
    list_images(folder, images, 0, NameOrder::kBytes, out, out.parts[part]);
    list_masks(folder, images, masks, out, out.parts[part]);
  }
  return out;
}

std::vector<std::string> published_classes() {
  std::vector<std::string> out = class_list(kAdeClasses);
  for (std::string& name : out) std::replace(name.begin(), name.end(), '-', ' ');
  return out;
}

}  // namespace

DatasetItem ade20k() {
  constexpr int kClasses = 150;
  constexpr PublishedSizes kPublished{.classes = kClasses, .train = 18210, .test = 2000, .validation = 2000};
  StoredLayout layout;
  layout.dataset = layout.folder = "ade20k";
  layout.places = {kObjects, "images/training", "images/validation", "annotations/training", "annotations/validation"};
  layout.train = "training";
  layout.test = "validation";
  layout.holdout = Holdout::kFirst;
  layout.labeled = false;
  layout.get =
      "get ADEChallengeData2016.zip from http://sceneparsing.csail.mit.edu and put what is in its folder there: "
      "images/, "
      "annotations/ and objectInfo150.txt";
  Item item(
      "dataset", "ade20k", 1,
      "20,210 training and 2,000 validation photographs of scenes with masks of 150 classes (ADEChallengeData2016); "
      "the validation part is what is reported (test)");
  item.set("paper", "Scene Parsing through ADE20K Dataset");
  return stored_item(
      std::move(item), layout, kPublished, {.holdout = false},
      {{"targets", Json::array({kMask})},
       {"ignored", kIgnored},
       {"class_names", published_classes()},
       {"palette", palette_of(kClasses)},
       {"defaults", {{"input", "dense"}}}},
      [](StoredLayout& here, const Options&) {
        here.list = list_ade;
        here.format = [](const std::filesystem::path& folder) {
          return mask_format({.classes = static_cast<std::int64_t>(ade_classes(folder).size()), .first = 1});
        };
      });
}

}  // namespace locus::engine::datasets
