// The linear layer of every backbone and head, made by one factory so that adapters (LoRA, DoRA) can wrap it.
#pragma once

#include "engine/layers/module.h"

namespace locus::engine {

// y = x W^T + b, W [out, in]. Parameters "weight" and "bias"; left uninitialized until somebody sets them.
class Linear : public Module {
 public:
  Linear(std::int64_t in, std::int64_t out, bool with_bias = true);
  virtual Tensor forward(const Tensor& x);
  // Whether it is the map above and nothing more, so that others may compute it from its parameters.
  bool plain() const;

  Tensor weight, bias;  // bias may be undefined
};

// Makes the linear layer of that full name ("blocks.0.attention.qkv").
using LinearFactory =
    std::function<std::shared_ptr<Linear>(std::string_view name, std::int64_t in, std::int64_t out, bool with_bias)>;
LinearFactory plain_linear();

}  // namespace locus::engine
