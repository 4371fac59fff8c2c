// ImageNet-1K (Russakovsky et al. 2015, ILSVRC 2012) as folders: train/<wnid>/*.JPEG and val/, in folders or flat with
// a table of its labels.
#include "engine/base/failure.h"
#include "engine/data/stored/flat_labels.h"
#include "engine/data/stored/item.h"

namespace locus::engine::datasets {
namespace {

constexpr PublishedSizes kPublished{1000, 1281167, 50000};
constexpr const char* kFirst = "n01440764";
constexpr const char* kLast = "n15075141";

Listing list_imagenet(const std::filesystem::path& folder, NameOrder order, std::int64_t wanted) {
  const std::vector<std::string> train = {"train"}, val = {"val"};
  Listing out;
  out.classes = subfolders(folder / "train", order);
  // A thousand other classes would train as well, and be called ImageNet.
  if (wanted == kPublished.classes && out.classes.size() == 1000 &&
      (out.classes.front() != kFirst || out.classes.back() != kLast))
    out.misfits.add((folder / "train").string() + " has the classes " + out.classes.front() + " to " +
                    out.classes.back() + " where those of ImageNet-1K are " + kFirst + " to " + kLast);
  out.parts["train"] = list_classes(folder, train, out.classes, order, /*all=*/true, out);
  out.parts["val"] = subfolders(folder / "val", order).empty()
                         ? list_flat(folder, "val", out.classes, order, out)
                         : list_classes(folder, val, out.classes, order, /*all=*/true, out);
  return out;
}

}  // namespace

DatasetItem imagenet_1k() {
  StoredLayout layout;
  layout.dataset = layout.folder = "imagenet-1k";
  layout.places = {"train", "val"};
  layout.get =
      "get ILSVRC2012_img_train.tar and ILSVRC2012_img_val.tar from https://image-net.org (an account is needed) and "
      "unpack them as train/<wnid>/*.JPEG and val/<wnid>/*.JPEG";
  Item item("dataset", "imagenet-1k", 1,
            "1,281,167 training and 50,000 validation photographs in 1000 classes; the validation part is what is "
            "reported (test)");
  item.set("paper", "ImageNet Large Scale Visual Recognition Challenge");
  return stored_item(std::move(item), layout, kPublished, {.order = true}, Json::object(),
                     [](StoredLayout& here, const Options& options) {
                       here.list = [order = parse_name_order(options.text("order")),
                                    classes = here.classes](const std::filesystem::path& folder) {
                         return list_imagenet(folder, order, classes);
                       };
                     });
}

}  // namespace locus::engine::datasets
