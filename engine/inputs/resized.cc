// Images of any size, resized and cropped to squares: the evaluation pipelines of ImageNet models, which training takes,
// too, where nothing augments it.
//
// An image is resized to R by a margin rule over its crop of S pixels, cropped at the center, divided by 255 and normalized:
//   256/224              R = trunc(S 256 / 224), the crop fraction 0.875: DeiT, PaPE (which resizes `both` sides)
//   1.143x               R = trunc(1.143 S): ASG
//   none                 R = S: DeiT-III; VTAB-1K with `stretch`
//   256/224-up-to-224    as the first for S up to 224, R = S above: RMT
// An evaluation at another resolution goes by the same rule for that S. Differs from timm's own metadata (crop fraction 0.9
// for DeiT), which none of the papers evaluates with.
#include "engine/images/crop.h"
#include "engine/inputs/fitting.h"
#include "engine/inputs/input.h"
#include "engine/inputs/normalizations.h"

namespace locus::engine::inputs {
namespace {

struct MarginName {
  const char* name;
  CropMargin margin;
};
constexpr MarginName kMargins[] = {{"256/224", CropMargin::kEightSevenths},
                                   {"1.143x", CropMargin::kThousandths},
                                   {"none", CropMargin::kNone},
                                   {"256/224-up-to-224", CropMargin::kEightSeventhsSmall}};

CropMargin margin_named(const std::string& name) {
  for (const MarginName& one : kMargins) {
    if (name == one.name) return one.margin;
  }
  throw std::invalid_argument("no margin '" + name + "' of input: resized");
}

class Resized final : public Input {
 public:
  Resized(const InputContext& context, const Options& options)
      : size_(options.integer("size")),
        sizes_(options.integers("sizes")),
        resize_(options.text("resize")),
        method_(options.text("method")),
        interpolation_(options.text("interpolation")),
        margin_(margin_named(options.text("margin"))),
        normalization_(normalization_named(options.text("normalization"), context)) {}

  Extent extent() const override { return {size_, size_}; }
  const Normalization& normalization() const override { return normalization_; }
  std::string interpolation() const override { return interpolation_; }
  std::vector<std::int64_t> sizes() const override { return sizes_; }

  Transforms preparation(const Extent& extent) const override {
    const auto before = [&](std::int64_t side) {
      return static_cast<std::int64_t>(size_before_crop(static_cast<int>(side), margin_));
    };
    return {fitting({.resize = resize_,
                     .method = method_,
                     .interpolation = interpolation_,
                     .size = {before(extent[0]), before(extent[1])},
                     .crop = extent})};
  }

  InputView view(const ViewRequest& request) const override {
    if (request.resize != "plain") {
      throw std::invalid_argument("input: resized resizes images in its own way (input.method, input.interpolation); " +
                                  std::string("leave the evaluation's resize out"));
    }
    const std::int64_t side = request.resolution > 0 ? request.resolution : size_;
    const Extent extent{side, side};
    return {{extent, request.interpolation}, preparation(extent)};
  }

 private:
  std::int64_t size_;
  std::vector<std::int64_t> sizes_;
  std::string resize_, method_, interpolation_;
  CropMargin margin_;
  Normalization normalization_;
};

Json tiles(const char* side) {
  return {{"rule", "divides"}, {"of", "patch"}, {"into", side}, {"help", "patches tile the image"}};
}

}  // namespace

InputItem resized() {
  Item item("input", "resized", 1,
            "Images of any size, resized and cropped at the center to squares, as ImageNet models are evaluated");
  item.option(
      Option::integer("size", 224, "side of the images that a model takes").minimum(1).maximum(4096).unit("pixels"));
  item.option(Option::list("sizes", "integer", Json::array(),
                           "sides that batches of training take in turn, one drawn for each; a batch of side s has "
                           "trunc(batch size^2 / s^2) images. Empty: every batch has `size`")
                  .minimum(1)
                  .maximum(4096)
                  .unique()
                  .unit("pixels")
                  .neutral(Json::array()));
  item.option(Option::text("resize", "shorter",
                           "what comes to the size before the crop: the shorter side, the longer one following "
                           "(torchvision's Resize(int)); both sides by one ratio, each cut to whole pixels; or height "
                           "and width alike, the aspect ratio ignored (stretch)")
                  .choices({"shorter", "both", "stretch"}));
  item.option(Option::text("interpolation", "bicubic", "kernel; it widens where an image shrinks")
                  .choices({"bicubic", "bilinear", "box", "hamming", "lanczos", "nearest"}));
  item.option(Option::text("method", "pillow",
                           "Pillow's resize of images, to the byte, or torchvision's of tensors (bicubic and bilinear)")
                  .choices({"pillow", "tensor"}));
  item.option(
      Option::text("margin", "256/224",
                   "how much larger than the crop an image is resized, cut to whole pixels: by 256/224 (the crop "
                   "fraction 0.875), by 1.143, not at all, or by 256/224 for crops up to 224 pixels")
          .choices({kMargins[0].name, kMargins[1].name, kMargins[2].name, kMargins[3].name}));
  item.option(normalization_option());
  item.set("requires", Json::array({tiles("size"), tiles("sizes"), normalization_rule()}));
  item.facts({{"extent", {{"option", "size"}}}});
  return {std::move(item), [](const InputContext& context, const Options& options) -> std::shared_ptr<const Input> {
            return std::make_shared<Resized>(context, options);
          }};
}

}  // namespace locus::engine::inputs
