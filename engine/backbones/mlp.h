// What a block does with every token after attention.
#pragma once

#include "engine/layers/grid_convolution.h"
#include "engine/layers/linear.h"

namespace locus::engine {

enum class MlpKind {
  kGelu,         // out(h), h = GELU(in x), the exact GELU
  kGeluTanh,     // the same with the tanh form of GELU (DiT)
  kSwiGlu,       // out(SiLU(gate x) * (in x)) (Shazeer 2020, arXiv:2002.05202)
  kConvolution,  // out(h + DWConv3x3(h)), h = GELU(in x) (RMT): over the grid; prefix tokens have none
};

// Parameters "in", "out" and, by kind, "gate" and "conv". Not thread-safe.
class Mlp : public Module {
 public:
  // `name` is the full name, "blocks.0.mlp". `hidden` is the width inside.
  Mlp(MlpKind kind, std::int64_t width, std::int64_t hidden, const LinearFactory& linear, const std::string& name);

  Tensor in(const Tensor& x, const Layout& layout) const;  // [B, T, width] -> [B, T, hidden]
  Tensor out(const Tensor& hidden) const;                  // [B, T, hidden] -> [B, T, width]
  std::int64_t flops(const Layout& layout) const;          // of one sample: Backbone::flops
  // Whether it is two plain linear layers and the exact GELU, so that others may compute it from their parameters.
  bool plain() const { return kind_ == MlpKind::kGelu && in_->plain() && out_->plain(); }
  const Linear& first() const { return *in_; }
  const Linear& last() const { return *out_; }

 private:
  MlpKind kind_;
  std::shared_ptr<Linear> gate_, in_, out_;
  std::shared_ptr<GridConvolution> convolution_;
};

}  // namespace locus::engine
