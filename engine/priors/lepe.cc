// Locally enhanced position encoding: a depth-wise convolution of the values, added to the heads' output.
//
//   O = softmax(L) V + DWConv5x5(V), before the output gate and the output projection
//
// Papers: Dong et al. 2022 (CSWin), arXiv:2107.00652, eq. 8; used by RMT (arXiv:2309.11523) and "Learning
// Spatial Decay for Vision Transformers", section 3.4.
//
// V is laid out over the grid with channel n d + c; prefix tokens get nothing.
#include "engine/layers/grid_convolution.h"
#include "engine/priors/items.h"

namespace locus::engine::priors {
namespace {

class LepeLayer final : public PriorLayer {
 public:
  LepeLayer(std::int64_t width, std::int64_t side) {
    convolution_ = register_module("convolution", std::make_shared<GridConvolution>(width, side));
  }

  Tensor add_output(const AttentionInputs& inputs, const ForwardContext&) override {
    return convolution_->forward(inputs.v.transpose(1, 2).flatten(2), inputs.layout);
  }

  GridConvolution& convolution() { return *convolution_; }

 private:
  std::shared_ptr<GridConvolution> convolution_;
};

class Lepe final : public Prior {
 public:
  explicit Lepe(std::int64_t side) : side_(side) {}

  std::shared_ptr<PriorLayer> layer(const LayerInfo& info) override {
    return std::make_shared<LepeLayer>(info.width, side_);
  }

  void initialize(const Initializer& initializer) override {
    for (std::size_t l = 0; l < layers().size(); ++l) {
      static_cast<LepeLayer&>(*layers()[l])
          .convolution()
          .start(initializer.within("layers." + std::to_string(l) + ".convolution"));
    }
  }

 private:
  std::int64_t side_;
};

}  // namespace

PriorItem lepe() {
  Item item = prior_entry("lepe", 1, "Depth-wise convolution of the values, added to the heads' output",
                          "Dong et al. 2022, arXiv:2107.00652", "O = P V + DWConv5x5(V)", {"add-output"}, {2});
  weigh(item, {.parameters = "26 D a layer",
               .counts = {{"parameters", "depth * dim * (kernel ^ 2 + 1)"}},
               .base = 239616,
               .paths = {"flash", "sdpa", "explicit"},
               .cost = "25 N D multiplications a layer"});
  item.option(Option::integer("kernel", 5, "side of the kernel, odd").minimum(1).maximum(31).neutral(5));
  return {item, [](const PriorContext&, const Options& o) -> std::shared_ptr<Prior> {
            return std::make_shared<Lepe>(o.integer("kernel"));
          }};
}

}  // namespace locus::engine::priors
