// Any folder of images in ImageNet's layout: train/<class>/**, val/<class>/**.
#include "engine/data/stored/item.h"
#include "engine/data/stored/place_name.h"

namespace locus::engine::datasets {
namespace {

Listing list_folders(const std::filesystem::path& folder, NameOrder order, const std::string& test) {
  const std::vector<std::string> training = {"train"}, scored = {test};
  Listing out;
  out.classes = subfolders(folder / "train", order);
  out.parts["train"] = list_classes(folder, training, out.classes, order, /*all=*/true, out);
  out.parts[test] = list_classes(folder, scored, out.classes, order, /*all=*/true, out);
  return out;
}

}  // namespace

DatasetItem image_folder() {
  StoredLayout layout;
  layout.dataset = layout.folder = "image-folder";
  layout.get = "put the images there as train/<class>/*.jpg and val/<class>/*.jpg";
  Item item("dataset", "image-folder", 1,
            "any folder of images in ImageNet's layout; a specification says what it holds, as `locus data verify "
            "image-folder` prints it");
  item.option(Option::text("folder", "image-folder", "its path below the folder of all datasets"));
  item.option(Option::text("test_part", "val", "the part that is reported: a folder beside train").neutral("val"));
  return stored_item(std::move(item), layout, {}, {.order = true, .demanded = true}, Json::object(),
                     [](StoredLayout& here, const Options& options) {
                       here.folder = place_name(options.text("folder"), "folder");
                       here.test = place_name(options.text("test_part"), "test_part");
                       here.places = {"train", here.test};
                       here.list = [order = parse_name_order(options.text("order")),
                                    test = here.test](const std::filesystem::path& folder) {
                         return list_folders(folder, order, test);
                       };
                     });
}

}  // namespace locus::engine::datasets
