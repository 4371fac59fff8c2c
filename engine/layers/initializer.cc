// Draws for initialization.
#include "engine/layers/initializer.h"

namespace locus::engine {

void Initializer::truncated_normal(Tensor parameter, std::string_view name, double deviation) const {
  const at::NoGradGuard no_grad;
  parameter.copy_(
      random_.truncated_normal(kInitialization, prefix_ + std::string(name), 0, parameter.sizes(), 0, deviation));
}

void Initializer::normal(Tensor parameter, std::string_view name, double mean, double deviation) const {
  const at::NoGradGuard no_grad;
  parameter.copy_(random_.normal(kInitialization, prefix_ + std::string(name), 0, parameter.sizes(), mean, deviation));
}

void Initializer::uniform(Tensor parameter, std::string_view name, double low, double high) const {
  const at::NoGradGuard no_grad;
  parameter.copy_(random_.uniform(kInitialization, prefix_ + std::string(name), 0, parameter.sizes(), low, high));
}

Initializer Initializer::within(std::string_view name) const {
  return Initializer(random_, prefix_ + std::string(name) + ".");
}

}  // namespace locus::engine
