// Any images as tar archives in WebDataset's layout.
#include "engine/data/stored/item.h"
#include "engine/data/stored/place_name.h"
#include "engine/data/stored/shards.h"

namespace locus::engine::datasets {

DatasetItem image_shards() {
  StoredLayout layout;
  layout.dataset = layout.folder = "image-shards";
  layout.get = "put its archives there: train-000.tar and so on, val-000.tar and so on, or with _info.json";
  Item item("dataset", "image-shards", 1,
            "any images in tar archives of WebDataset's layout; a specification says what they hold, as `locus data "
            "verify image-shards` prints it");
  item.option(Option::text("folder", "image-shards", "their path below the folder of all datasets"));
  item.option(Option::text("test_part", "val", "the part that is reported").neutral("val"));
  item.option(Option::text("label_key", "",
                           "integer of the field json that is the label (below 0: left out); empty: the field cls")
                  .neutral(""));
  return stored_item(std::move(item), layout, {}, {.demanded = true}, Json::object(),
                     [](StoredLayout& here, const Options& options) {
                       here.folder = place_name(options.text("folder"), "folder");
                       here.places = {"."};
                       here.test = options.text("test_part");
                       here.list = [key = options.text("label_key")](const std::filesystem::path& folder) {
                         return list_shards(folder, key);
                       };
                     });
}

}  // namespace locus::engine::datasets
