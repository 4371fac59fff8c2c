// A Vision Transformer of three axes for tests: tubelets of videos, or points, through blocks with priors.
#pragma once

#include "engine/layers/tubelets.h"
#include "tests/engine/support/models.h"

namespace locus::engine::test {

struct ClipShape {
  std::vector<std::int64_t> extent = {4, 4, 6};  // frames, rows and columns of pixels; tubelets of 2 x 2 x 2
  std::string pool = "cls";                      // else no class token
  std::int64_t registers = 0, dim = 16, depth = 2, heads = 4;
  bool points = false;  // built for points of three axes instead
  bool padded = false;  // built for samples of several lengths
  std::int64_t prefix() const { return registers + (pool == "cls" ? 1 : 0); }
};

inline constexpr Tubelet kTestTubelet = {2, 2, 2};

// Its parameters are named as the Vision Transformer's.
class ClipModel final : public Backbone {
 public:
  // Throws std::invalid_argument where a prior is refused.
  ClipModel(const BackboneContext& context, const ClipShape& shape);

  // Of videos [B, C, T, H, W].
  Features forward(const Inputs& inputs, const ForwardContext& context) override;
  // Of rows [B, N, C 2^3] that lie as `layout` says.
  Features run(const Tensor& rows, const Layout& layout, const ForwardContext& context);
  Tensor pooled(const Features& features) const override { return features.tokens.mean(1); }
  std::int64_t width() const override { return shape_.dim; }
  std::vector<Layout> layouts(std::int64_t height, std::int64_t width) const override;  // of one tubelet's frames
  std::int64_t flops(std::int64_t height, std::int64_t width) const override;           // its blocks

 private:
  Tensor with_prefix(const Tensor& patches) const;

  ClipShape shape_;
  std::shared_ptr<Linear> embed_;
  std::shared_ptr<Norm> norm_;
  Tensor class_token_, registers_;
};

std::shared_ptr<ClipModel> clip_model(const std::vector<PriorSetting>& priors, const ClipShape& shape = {},
                                      const std::string& path = "auto", std::uint64_t seed = 0);

// [count, 2, frames, rows, columns], standard normal, a function of its arguments.
Tensor test_videos(std::int64_t count, const std::vector<std::int64_t>& extent);

}  // namespace locus::engine::test
