// Norms and their quotients stay on the device.
#include "engine/train/layerwise.h"

#include <cmath>

namespace locus::engine {
namespace {

// left / right for each pair, 1 where either is 0.
Tensor quotients(const Tensor& left, const Tensor& right) {
  return at::where(left.gt(0).logical_and(right.gt(0)), left / right, at::ones_like(left));
}

void divide(const std::vector<Tensor>& all, double by, const Tensor& there) {
  there.defined() ? at::_foreach_div_(all, there) : at::_foreach_div_(all, by);
}

}  // namespace

Lamb::Lamb(std::vector<ParameterGroup> groups, Settings settings)
    : Optimizer(std::move(groups), {"exp_avg", "exp_avg_sq"}), settings_(settings) {}

void Lamb::prepare(std::vector<Update>& updates) {
  if (settings_.clip <= 0) return;
  std::vector<Tensor> gradients;
  for (const Update& update : updates)
    gradients.insert(gradients.end(), update.gradients.begin(), update.gradients.end());
  if (gradients.empty()) return;
  const Tensor total = at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients)));
  at::_foreach_div_(gradients, (total / settings_.clip).clamp_min(1.0));
}

// What corrects the two moments for their start.
std::vector<double> Lamb::factors(std::int64_t step) const {
  const auto t = static_cast<double>(step);
  return {1 - std::pow(settings_.beta1, t), std::sqrt(1 - std::pow(settings_.beta2, t))};
}

void Lamb::apply(Update& update) {
  const std::vector<Tensor>&m = update.states[0], &v = update.states[1], &p = update.parameters;
  const Numbers& there = update.there;
  const auto kept = [&](std::size_t i) { return there.factors.empty() ? Tensor() : there.factors[i]; };
  at::_foreach_mul_(m, settings_.beta1);
  at::_foreach_add_(m, update.gradients, 1 - settings_.beta1);
  at::_foreach_mul_(v, settings_.beta2);
  at::_foreach_addcmul_(v, update.gradients, update.gradients, 1 - settings_.beta2);
  std::vector<Tensor> below = at::_foreach_sqrt(v);
  divide(below, update.factors[1], kept(1));
  at::_foreach_add_(below, settings_.epsilon);
  std::vector<Tensor> u = there.rate.defined() ? at::_foreach_div(m, kept(0)) : at::_foreach_div(m, update.factors[0]);
  at::_foreach_div_(u, below);
  if (update.weight_decay != 0) at::_foreach_add_(u, p, update.weight_decay);
  if (update.weight_decay != 0 || settings_.always_adapt) {
    Tensor ratios = quotients(at::stack(at::_foreach_norm(p)), at::stack(at::_foreach_norm(u)));
    if (settings_.trust_clip) ratios = ratios.clamp_max(1.0);
    at::_foreach_mul_(u, ratios.unbind());
  }
  if (!there.rate.defined()) return at::_foreach_add_(p, u, -update.rate);
  at::_foreach_mul_(u, there.rate);
  at::_foreach_sub_(p, u);
}

Lars::Lars(std::vector<ParameterGroup> groups, Settings settings)
    : Optimizer(std::move(groups), {"momentum"}), settings_(settings) {}

void Lars::apply(Update& update) {
  const std::vector<Tensor>& kept = update.states[0];
  for (std::size_t i = 0; i < update.parameters.size(); ++i) {
    const Tensor& p = update.parameters[i];
    Tensor g = update.gradients[i];
    if (p.dim() != 1) {
      g = g.add(p, update.weight_decay);
      const Tensor quotient = at::linalg_vector_norm(p) * settings_.eta / at::linalg_vector_norm(g);
      g = g * at::where(quotient.gt(0).logical_and(quotient.isfinite()), quotient, at::ones_like(quotient));
    }
    kept[i].mul_(settings_.momentum).add_(g);
    if (update.there.rate.defined()) {
      p.sub_(kept[i] * update.there.rate);
    } else {
      p.add_(kept[i], -update.rate);
    }
  }
}

}  // namespace locus::engine
