// Any folder of images with masks: images/train/**, images/val/**, masks of the same names as PNG below masks/, and the names of
// the classes in classes.txt, a line each.
#include <sstream>

#include "engine/data/stored/file_reader.h"
#include "engine/data/stored/item.h"
#include "engine/data/stored/masks.h"
#include "engine/data/stored/place_name.h"

namespace locus::engine::datasets {
namespace {

constexpr std::int64_t kNamesMost = 1 << 20;  // bytes

std::vector<std::string> mask_classes(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "classes.txt";
  std::istringstream lines(read_text_file(file, kNamesMost));
  std::vector<std::string> out;
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) out.push_back(line);
  }
  if (out.empty()) throw DataError(file.string() + " is empty; write the name of a class in each line");
  return out;
}

Listing list_mask_folder(const std::filesystem::path& folder, const std::string& test) {
  Listing out;
  out.classes = mask_classes(folder);
  for (const std::string& part : {std::string("train"), test}) {
    std::vector<ListedImage>& images = out.parts[part];
    list_images(folder, "images/" + part, 0, NameOrder::kBytes, out, images);
    list_masks(folder, "images/" + part, "masks/" + part, out, images);
  }
  return out;
}

}  // namespace

DatasetItem mask_folder() {
  StoredLayout layout;
  layout.dataset = layout.folder = "mask-folder";
  layout.labeled = false;
  layout.get =
      "put the images there as images/train/** and images/val/**, their masks under the same names as PNG below "
      "masks/, "
      "and the names of the classes in classes.txt";
  Item item("dataset", "mask-folder", 1,
            "any folder of images with masks of classes; a specification says what it holds, as `locus data verify "
            "mask-folder` prints it");
  item.option(Option::text("folder", "mask-folder", "its path below the folder of all datasets"));
  item.option(Option::text("test_part", "val", "the part that is reported: a folder beside train").neutral("val"));
  item.option(
      Option::integer("first", 0,
                      "value of the first class in the masks; pixels of smaller values, and of 255, do not count")
          .minimum(0)
          .maximum(254)
          .neutral(0));
  return stored_item(
      std::move(item), layout, {}, {.demanded = true},
      {{"targets", Json::array({kMask})}, {"ignored", kIgnored}, {"defaults", {{"input", "dense"}}}},
      [](StoredLayout& here, const Options& options) {
        here.folder = place_name(options.text("folder"), "folder");
        here.test = place_name(options.text("test_part"), "test_part");
        here.places = {"classes.txt", "images/train", "images/" + here.test, "masks/train", "masks/" + here.test};
        here.list = [test = here.test](const std::filesystem::path& folder) { return list_mask_folder(folder, test); };
        here.format = [first = static_cast<int>(options.integer("first"))](const std::filesystem::path& folder) {
          return mask_format({.classes = static_cast<std::int64_t>(mask_classes(folder).size()),
                              .first = first,
                              .values = StoredValues::kGrayOrPalette});
        };
      });
}

}  // namespace locus::engine::datasets
