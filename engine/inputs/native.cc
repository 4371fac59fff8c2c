// Images as the files have them, all of one extent, normalized by the dataset's own numbers.
//
// Training sees them unchanged. An evaluation at another resolution resizes them with the aspect ratio kept: plainly, by
// ATen's bilinear or bicubic interpolation of the normalized image without antialiasing, or as bytes with antialiasing.
#include "engine/inputs/fitting.h"
#include "engine/inputs/input.h"

namespace locus::engine::inputs {
namespace {

class Native final : public Input {
 public:
  explicit Native(const InputContext& context) : normalization_(context.normalization) {
    const Json extent = context.facts.value("extent", Json());
    if (!extent.is_array() || extent.size() != 2) {
      throw std::invalid_argument(
          "the images of the dataset differ in size and cannot be taken as they are; write input: resized");
    }
    extent_ = extent.get<Extent>();
  }

  Extent extent() const override { return extent_; }
  const Normalization& normalization() const override { return normalization_; }
  Transforms preparation(const Extent& extent) const override {
    if (extent == extent_) return {};
    return {fitting({.resize = "stretch", .size = extent, .crop = extent})};
  }
  InputView view(const ViewRequest& request) const override {
    if (request.resolution == 0) return {};
    InputView out{{extent_at(extent_, request.resolution), request.interpolation}, {}};
    const Extent& to = out.view.extent;
    if (request.resize == "plain" || to == extent_) return out;
    out.transforms = {fitting({.resize = "stretch",
                               .method = request.resize,
                               .interpolation = request.interpolation,
                               .size = to,
                               .crop = to})};
    return out;
  }

 private:
  Extent extent_{};
  Normalization normalization_;
};

}  // namespace

InputItem native() {
  Item item("input", "native", 1, "Images as the files have them, normalized by the dataset's own mean and deviation");
  return {std::move(item), [](const InputContext& context, const Options&) -> std::shared_ptr<const Input> {
            return std::make_shared<Native>(context);
          }};
}

}  // namespace locus::engine::inputs
