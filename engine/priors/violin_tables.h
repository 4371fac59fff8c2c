// How far apart patches are to Violin: along curves or one other order, along the axes, or along an order that is learned.
#pragma once

#include "engine/layers/forms.h"
#include "engine/layers/layout.h"

namespace locus::engine::priors {

// Its options (engine/priors/violin.cc).
struct ViolinSettings {
  std::vector<std::string> curves;  // streams of a: one for each row
  std::string apply, distance;
  bool learned_lambda, alpha, learned_weights, learned_prefix, separate_axes, normal_a, masks_sum;
  bool per_frame;                  // curves fill one frame, not the box of all frames
  bool frames_apart;               // per_frame: pairs of patches of two frames do not decay
  std::int64_t reference_patches;  // that ranks counted at training and are scaled to; 0: they are not
  double fixed_lambda, alpha_mean, alpha_std, a_min, a_max;

  bool learned_order() const { return distance == "learned-order"; }
  bool by_rank() const { return distance != "manhattan" && !learned_order(); }
  // Frames that each hold the curves once more; 1 where curves fill the whole grid. A rectangle is one frame.
  std::int64_t repeats(const Layout& layout) const;
  // Patches that ranks count: those of the grid, or of a frame.
  std::int64_t ranked(const Layout& layout) const { return layout.patches() / repeats(layout); }
};

// |dr|, |dc| (on a box |dt| before them) of every offset, or their sum, by row of a: [1 or rank, R]; and which of them
// every pair reads.
struct AxisDistances {
  Tensor distance;
  PairIndex index;
};

// What the layers of a model share. Tables are made when first asked for on a grid and kept (PerLayout). Not thread-safe.
class ViolinTables {
 public:
  ViolinTables(ViolinSettings of, Layout built_for) : settings(std::move(of)), reference(std::move(built_for)) {}

  const ViolinSettings settings;
  const Layout reference;
  Tensor order;  // random order: six numbers in 0..255, a buffer of the prior
  Tensor place;  // learned order: z of the patches of `reference`, a parameter of the prior

  // Ranks of all patches; those of a frame in every frame where curves fill frames.
  const std::shared_ptr<const CurveRanks>& ranks(const Layout& layout, at::Device device, at::ScalarType type);
  const AxisDistances& manhattan(const Layout& layout, const Tensor& like);
  // Learned order: |pi(i) - pi(j)|, [N, N].
  Tensor along_learned_order(const Layout& layout, at::ScalarType type) const;

 private:
  Tensor rows(const Layout& layout) const;  // of ranks, [C, N]
  Tensor shuffled(std::int64_t patches) const;
  void forget_old_order();

  PerLayout<std::shared_ptr<const CurveRanks>> ranks_;
  PerLayout<AxisDistances> distances_;
  std::uint64_t version_ = 0;
};

}  // namespace locus::engine::priors
