// Norms stay on the device.
#include "engine/train/clipping.h"

#include <cmath>
#include <numeric>

#include "engine/fused/updates.h"

namespace locus::engine {
namespace {

constexpr double kNormFloor = 1e-6;    // keeps a quotient finite
constexpr double kWeightFloor = 1e-3;  // lets weights leave zero

std::vector<Tensor> gradients_of(std::span<const Tensor> parameters) {
  std::vector<Tensor> out;
  for (const Tensor& parameter : parameters) {
    if (parameter.grad().defined()) out.push_back(parameter.grad());
  }
  return out;
}

Tensor factor(const Tensor& total, double norm) { return (norm / (total + kNormFloor)).clamp_max(1.0); }

// Of every unit, shaped to be broadcast over the tensor.
Tensor unit_norm(const Tensor& t) {
  if (t.dim() <= 1) return at::linalg_vector_norm(t);
  std::vector<std::int64_t> axes(static_cast<std::size_t>(t.dim() - 1));
  std::iota(axes.begin(), axes.end(), 1);
  return at::linalg_vector_norm(t, 2, at::IntArrayRef(axes), /*keepdim=*/true);
}

}  // namespace

void clip_joint_norm(std::span<const Tensor> parameters, double norm) {
  at::NoGradGuard no_gradient;
  const std::vector<Tensor> gradients = gradients_of(parameters);
  if (gradients.empty()) return;
  if (fused::updates(gradients)) {
    const double by = norm / (fused::joint_norm(gradients) + kNormFloor);
    if (by < 1 || std::isnan(by)) fused::scale(gradients, by);
    return;
  }
  const Tensor total = at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients)));
  at::_foreach_mul_(gradients, factor(total, norm));
}

void clip_each_norm(std::span<const Tensor> parameters, double norm) {
  at::NoGradGuard no_gradient;
  for (Tensor& gradient : gradients_of(parameters)) gradient.mul_(factor(at::linalg_vector_norm(gradient), norm));
}

void clip_units(std::span<const Tensor> parameters, double factor) {
  at::NoGradGuard no_gradient;
  for (const Tensor& parameter : parameters) {
    if (!parameter.grad().defined()) continue;
    Tensor gradient = parameter.grad();
    const Tensor most = unit_norm(parameter.detach()).clamp_min(kWeightFloor) * factor;
    const Tensor norm = unit_norm(gradient);
    gradient.mul_(at::where(norm < most, at::ones_like(norm), most / norm.clamp_min(kNormFloor)));
  }
}

}  // namespace locus::engine
