// Convolutions over images.
#pragma once

#include "engine/layers/initializer.h"
#include "engine/layers/module.h"

namespace locus::engine {

// A side x side convolution of images [B, in, rows, columns], zeros around them. Starts as PyTorch's: weight and bias
// uniform within one over the root of the fan-in. Not thread-safe.
class Convolution final : public Module, public SelfStarting {
 public:
  Convolution(std::int64_t in, std::int64_t out, std::int64_t side, std::int64_t stride, std::int64_t padding,
              bool with_bias = true);
  Tensor forward(const Tensor& image) const;
  void start(const Initializer& own) override;
  // Of images that come out with that many places: a multiply-add counts as two.
  std::int64_t flops(std::int64_t places) const { return 2 * places * weight.numel(); }

  Tensor weight, bias;  // [out, in, side, side], [out] or undefined

 private:
  std::int64_t stride_, padding_;
};

// Every place of images [B, in, rows, columns] becomes factor x factor places of [B, out, ...]: a transposed convolution as
// wide as its stride, with a bias. Starts as PyTorch's. Not thread-safe.
class Enlargement final : public Module, public SelfStarting {
 public:
  Enlargement(std::int64_t in, std::int64_t out, std::int64_t factor);
  Tensor forward(const Tensor& image) const;
  void start(const Initializer& own) override;
  // Of images that go in with that many places: a multiply-add counts as two.
  std::int64_t flops(std::int64_t places) const { return 2 * places * weight.numel(); }

  Tensor weight, bias;  // [in, out, factor, factor], [out]
};

}  // namespace locus::engine
