// Reading the tensors that components of several names are given.
#pragma once

#include "engine/probe/component.h"

namespace locus::engine::components {

// What names of parameters and of their gradients begin with.
inline constexpr std::string_view kParameter = "parameter.", kGradient = "gradient.";

// Those whose names begin with `prefix`, by the rest of the name.
inline NamedTensors named(const NamedTensors& given, std::string_view prefix) {
  NamedTensors out;
  for (const auto& [name, tensor] : given) {
    if (name.starts_with(prefix)) out.emplace(name.substr(prefix.size()), tensor);
  }
  return out;
}

// The tensor of that name among `of`, whose full names begin with `prefix`. Throws std::invalid_argument naming what is missing.
inline const Tensor& beside(const NamedTensors& of, const std::string& name, std::string_view prefix) {
  const auto found = of.find(name);
  if (found == of.end()) throw std::invalid_argument("there is no tensor '" + std::string(prefix) + name + "'");
  return found->second;
}

// The first extent, which all must share. Throws std::invalid_argument naming the tensor that differs.
inline std::int64_t common_length(const NamedTensors& tensors, std::string_view prefix) {
  std::int64_t length = -1;
  for (const auto& [name, tensor] : tensors) {
    if (tensor.dim() == 0 || (length >= 0 && tensor.size(0) != length)) {
      throw std::invalid_argument("the tensor '" + std::string(prefix) + name + "' has the shape " +
                                  c10::str(tensor.sizes()) + "; the first extent counts steps, alike in all");
    }
    length = tensor.size(0);
  }
  return length;
}

}  // namespace locus::engine::components
