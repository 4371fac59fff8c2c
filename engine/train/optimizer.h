// AdamW (Loshchilov and Hutter 2019) as one fused call per group, and the learning-rate schedule.
#pragma once

#include "engine/files/safetensors.h"

namespace locus::engine {

// Linear warm-up to `peak` over `warmup` steps, then half a cosine down to `minimum` at `steps`. `step`
// counts from 0.
struct CosineSchedule {
  double peak = 0, minimum = 0;
  std::int64_t warmup = 0, steps = 1;
  double rate(std::int64_t step) const;
};

struct NamedParameter {
  std::string name;
  Tensor parameter;
  bool decayed = true;  // takes part in weight decay
};

// Moments are kept per parameter on its device. Not thread-safe.
class AdamW {
 public:
  struct Settings {
    double weight_decay = 0, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  };
  AdamW(std::vector<NamedParameter> parameters, Settings settings);

  // Applies the gradients and drops them; a parameter without one stays as it is.
  void step(double rate);
  // Scales all gradients down to a joint Euclidean norm of at most `norm`; no host synchronization.
  void clip(double norm);
  std::int64_t steps() const { return steps_; }

  // Moments as "optimizer.exp_avg.<parameter>" and "optimizer.exp_avg_sq.<parameter>"; the step count apart.
  void save(std::map<std::string, Tensor>& tensors) const;
  // Throws DataError on a missing tensor or one of another shape or type. Takes what it uses out of
  // `tensors`.
  void load(std::map<std::string, Tensor>& tensors, std::int64_t steps);

 private:
  struct Entry {
    NamedParameter named;
    Tensor average, square;
  };
  void step_group(bool decayed, double rate);

  Settings settings_;
  std::vector<Entry> entries_;
  std::int64_t steps_ = 0;
};

// Copies `tensors`[name] into `target` and takes it out of the map. Throws DataError when it is absent, or of
// another shape or type.
void take_tensor(std::map<std::string, Tensor>& tensors, const std::string& name, Tensor target);

}  // namespace locus::engine
