// Optimizers that scale the update of every tensor by the norm of its weights.
#pragma once

#include "engine/train/optimizer.h"

namespace locus::engine {

// LAMB (You et al. 2020, Algorithm 2, in the form of apex's FusedLAMB and timm's Lamb). First the gradients of all groups are divided by
// max(1, |g| / clip), |g| their joint norm. Then with AdamW's moments, corrected for their start,
//   u = m' / (sqrt(v') + epsilon) + decay p        p -= rate r u
// r = |p| / |u|, 1 where either norm is 0 and in groups without weight decay. States "exp_avg" and "exp_avg_sq". No
// host synchronization.
class Lamb final : public Optimizer {
 public:
  struct Settings {
    double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-6;
    double clip = 1;            // largest joint norm of the gradients; 0: any
    bool trust_clip = false;    // r is at most 1
    bool always_adapt = false;  // r in groups without weight decay, too
  };
  Lamb(std::vector<ParameterGroup> groups, Settings settings);

 private:
  std::vector<double> factors(std::int64_t step) const override;
  void prepare(std::vector<Update>& updates) override;
  void apply(Update& update) override;
  Settings settings_;
};

// LARS (You et al. 2017, in the form of DINO and MoCo v3): tensors of other than one axis get
//   g = (g + decay p) eta |p| / |g + decay p|, factor 1 where either norm is 0
// then for all b = momentum b + g; p -= rate b. State "momentum". No host synchronization.
class Lars final : public Optimizer {
 public:
  struct Settings {
    double momentum = 0.9, eta = 0.001;
  };
  Lars(std::vector<ParameterGroup> groups, Settings settings);

 private:
  void apply(Update& update) override;
  Settings settings_;
};

}  // namespace locus::engine
