// ImageNet-100 as Contrastive Multiview Coding (Tian, Krishnan, Isola 2020) chose it, which most papers mean by the name: a
// hundred classes of an ImageNet-1K folder.
#include <algorithm>

#include "engine/data/stored/class_list.h"
#include "engine/data/stored/flat_labels.h"
#include "engine/data/stored/item.h"

namespace locus::engine::datasets {
namespace {

constexpr PublishedSizes kCmcPublished{100, 126689, 5000};
constexpr std::string_view kCmcClasses =
    "n01558993 n01692333 n01729322 n01735189 n01749939 n01773797 n01820546 n01855672 n01978455 n01980166 "
    "n01983481 n02009229 n02018207 n02085620 n02086240 n02086910 n02087046 n02089867 n02089973 n02090622 "
    "n02091831 n02093428 n02099849 n02100583 n02104029 n02105505 n02106550 n02107142 n02108089 n02109047 "
    "n02113799 n02113978 n02114855 n02116738 n02119022 n02123045 n02138441 n02172182 n02231487 n02259212 "
    "n02326432 n02396427 n02483362 n02488291 n02701002 n02788148 n02804414 n02859443 n02869837 n02877765 "
    "n02974003 n03017168 n03032252 n03062245 n03085013 n03259280 n03379051 n03424325 n03492542 n03494278 "
    "n03530642 n03584829 n03594734 n03637318 n03642806 n03764736 n03775546 n03777754 n03785016 n03787032 "
    "n03794056 n03837869 n03891251 n03903868 n03930630 n03947888 n04026417 n04067472 n04099969 n04111531 "
    "n04127249 n04136333 n04229816 n04238763 n04336792 n04418357 n04429376 n04435653 n04485082 n04493381 "
    "n04517823 n04589890 n04592741 n07714571 n07715103 n07753275 n07831146 n07836838 n13037406 n13040303";

Listing list_cmc(const std::filesystem::path& folder, std::int64_t wanted) {
  const std::vector<std::string> train = {"train"}, val = {"val"};
  const std::vector<std::string> present = subfolders(folder / "train", NameOrder::kBytes);
  Listing out;
  out.classes = class_list(kCmcClasses);
  if (wanted != kCmcPublished.classes) {
    std::erase_if(out.classes, [&](const std::string& name) {
      return std::find(present.begin(), present.end(), name) == present.end();
    });
    if (out.classes.empty()) out.misfits.add((folder / "train").string() + " has none of the hundred classes");
  }
  // The other nine hundred are not asked for.
  out.parts["train"] = list_classes(folder, train, out.classes, NameOrder::kBytes, /*all=*/false, out);
  out.parts["val"] = subfolders(folder / "val", NameOrder::kBytes).empty()
                         ? list_flat(folder, "val", out.classes, NameOrder::kBytes, out)
                         : list_classes(folder, val, out.classes, NameOrder::kBytes, /*all=*/false, out);
  return out;
}

}  // namespace

DatasetItem imagenet_100_cmc() {
  StoredLayout layout;
  layout.dataset = "imagenet-100-cmc";
  layout.folder = "imagenet-1k";
  layout.places = {"train", "val"};
  layout.get = "get ImageNet-1K, of whose folder these are a hundred classes (see imagenet-1k)";
  Item item("dataset", "imagenet-100-cmc", 1,
            "126,689 training and 5,000 validation photographs of ImageNet-1K in the 100 classes of Contrastive "
            "Multiview Coding; the validation part is what is reported (test)");
  item.set("paper", "Contrastive Multiview Coding");
  return stored_item(
      std::move(item), layout, kCmcPublished, {}, Json::object(), [](StoredLayout& here, const Options&) {
        here.list = [classes = here.classes](const std::filesystem::path& folder) { return list_cmc(folder, classes); };
      });
}

}  // namespace locus::engine::datasets
