// Tiny-ImageNet (Stanford CS231n 2015): 64 x 64 photographs in 200 classes of ImageNet. Labels follow the sorted wnids, not the lines
// of wnids.txt.
#include <algorithm>
#include <sstream>

#include "engine/base/failure.h"
#include "engine/data/stored/file_reader.h"
#include "engine/data/stored/item.h"

namespace locus::engine::datasets {
namespace {

constexpr PublishedSizes kTinyPublished{200, 100000, 10000};
constexpr std::int64_t kTinyListMost = 16 << 20;  // bytes

// Lines "FILE <tab> WNID <tab> box", in their order.
std::vector<ListedImage> validation(const std::filesystem::path& folder, const std::vector<std::string>& classes) {
  const std::filesystem::path file = folder / "val" / "val_annotations.txt";
  std::istringstream lines(read_text_file(file, kTinyListMost));
  std::vector<ListedImage> out;
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::size_t tab = line.find('\t');
    const std::string name = line.substr(0, tab);
    const std::string wnid = tab == std::string::npos ? "" : line.substr(tab + 1, line.find('\t', tab + 1) - tab - 1);
    const auto found = std::lower_bound(classes.begin(), classes.end(), wnid);
    if (name.empty() || name.find('/') != std::string::npos || found == classes.end() || *found != wnid) {
      throw DataError(file.string() + ", line " + std::to_string(number) + ": '" + line.substr(0, 80) +
                      "' is not a file and a class of the training part");
    }
    out.push_back({"val/images/" + name, found - classes.begin()});
  }
  return out;
}

Listing list_tiny(const std::filesystem::path& folder) {
  const std::vector<std::string> train = {"train"};
  Listing out;
  out.classes = subfolders(folder / "train", NameOrder::kBytes);
  std::vector<std::string> wnids;
  std::istringstream words(read_text_file(folder / "wnids.txt", kTinyListMost));
  for (std::string word; words >> word;) wnids.push_back(word);
  std::sort(wnids.begin(), wnids.end());
  if (wnids != out.classes) {
    out.misfits.add((folder / "wnids.txt").string() + " lists " + std::to_string(wnids.size()) +
                    " classes, and train/ has folders for " + std::to_string(out.classes.size()) +
                    " that are not the same");
  }
  out.parts["train"] = list_classes(folder, train, out.classes, NameOrder::kBytes, /*all=*/true, out);
  out.parts["val"] = validation(folder, out.classes);
  return out;
}

}  // namespace

DatasetItem tiny_imagenet() {
  StoredLayout layout;
  layout.dataset = layout.folder = "tiny-imagenet";
  layout.places = {"train", "val/images", "val/val_annotations.txt", "wnids.txt"};
  layout.get = "get http://cs231n.stanford.edu/tiny-imagenet-200.zip and unpack it, its folder under this name";
  layout.extent = Extent{64, 64};
  Item item("dataset", "tiny-imagenet", 1,
            "100,000 training and 10,000 validation photographs of 64 x 64 pixels in 200 classes; the validation part "
            "is what is reported (test)");
  item.set("paper", "Tiny ImageNet Visual Recognition Challenge");
  return stored_item(std::move(item), layout, kTinyPublished, {}, {{"defaults", {{"model.patch", 8}}}},
                     [](StoredLayout& here, const Options&) { here.list = list_tiny; });
}

}  // namespace locus::engine::datasets
