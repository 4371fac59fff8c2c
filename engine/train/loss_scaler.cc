// The check is ATen's, on CPU and CUDA alike.
#include "engine/train/loss_scaler.h"

#include <limits>

#include "engine/files/safetensors.h"

namespace locus::engine {
namespace {

constexpr const char* kScale = "scaler.scale";
constexpr const char* kSteps = "scaler.finite_steps";

}  // namespace

bool LossScaler::unscale(const std::vector<Tensor>& gradients) const {
  if (gradients.empty()) return true;
  const at::NoGradGuard no_gradient;
  const auto options = gradients.front().options().dtype(at::kFloat);
  Tensor found = at::zeros({1}, options);
  at::_amp_foreach_non_finite_check_and_unscale_(gradients, found, at::full({1}, 1 / scale_, options));
  return found.item<float>() == 0;
}

void LossScaler::update(bool finite) {
  if (!finite) {
    scale_ *= settings_.backoff;
    finite_steps_ = 0;
    return;
  }
  if (++finite_steps_ < settings_.interval) return;
  finite_steps_ = 0;
  if (scale_ * settings_.growth <= std::numeric_limits<float>::max()) scale_ *= settings_.growth;
}

void LossScaler::save(std::map<std::string, Tensor>& tensors) const {
  tensors[kScale] = at::full({}, scale_, at::kDouble);
  tensors[kSteps] = at::full({}, finite_steps_, at::kLong);
}

void LossScaler::load(std::map<std::string, Tensor>& tensors) {
  Tensor scale = at::empty({}, at::kDouble), steps = at::empty({}, at::kLong);
  take_tensor(tensors, kScale, scale);
  take_tensor(tensors, kSteps, steps);
  scale_ = scale.item<double>();
  finite_steps_ = steps.item<std::int64_t>();
}

}  // namespace locus::engine
