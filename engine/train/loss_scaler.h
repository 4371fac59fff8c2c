// Keeps gradients of half precision from vanishing.
#pragma once

#include "engine/base/torch.h"

namespace locus::engine {

// The loss is multiplied by a number that grows while gradients are finite and shrinks when they are not (Micikevicius
// et al. 2018, section 3.2; the rules of PyTorch's GradScaler). Not thread-safe.
class LossScaler {
 public:
  struct Settings {
    double start = 65536, growth = 2, backoff = 0.5;
    std::int64_t interval = 2000;  // finite steps in a row before it grows
  };
  LossScaler() : LossScaler(Settings()) {}
  explicit LossScaler(Settings settings) : settings_(settings), scale_(settings.start) {}

  double scale() const { return scale_; }  // of the next loss; at most what float32 holds
  // Divides the gradients by the scale, in place, and says whether all were finite. Waits for the device.
  bool unscale(const std::vector<Tensor>& gradients) const;
  // Ends a step whose gradients were finite or not. One that were not must not be applied.
  void update(bool finite);

  // As "scaler.scale" and "scaler.finite_steps", into a checkpoint and out of one. load() takes what it uses out of
  // `tensors` and throws DataError on what is missing or misshapen.
  void save(std::map<std::string, Tensor>& tensors) const;
  void load(std::map<std::string, Tensor>& tensors);

 private:
  Settings settings_;
  double scale_;
  std::int64_t finite_steps_ = 0;
};

}  // namespace locus::engine
