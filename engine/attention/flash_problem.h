// One layer's attention as the kernels of engine/kernels take it.
#pragma once

#include "engine/attention/path.h"
#include "engine/kernels/attention_abi.h"

namespace locus::engine {

// Numbers and strides of a problem, with the tensors that its addresses come from. Not thread-safe.
class FlashProblem {
 public:
  // What the scores ask for, without addresses; null where a term is nothing that kernels know. Hooks and value tables are
  // not looked at, and weights must be the only terms of probabilities (attention_parts).
  static std::optional<FlashProblem> of(const Scores& scores);

  // The tensor [B, H, T, d], copied unless its rows are as kernels read them: of neighboring numbers, 16 bytes apart
  // or a multiple.
  static Tensor aligned(const Tensor& t);

  const locus_attention& shape() const { return shape_; }

  // Everything that a gradient may flow to: q, k, v, then the terms' tensors, in float32 and contiguous;
  // differentiable in the tensors of the scores.
  std::vector<Tensor> inputs() const;

  // The problem for inputs() and the output o [B, H, T, d], lse [B, H, T]; all must outlive its use.
  locus_attention forward(at::TensorList inputs, const Tensor& o, const Tensor& lse) const;

  // For backward: the same with the buffers that gradients are gathered in, and afterwards what they say of the inputs.
  struct Buffers {
    Tensor q, k, v, delta, workspace;
    struct OfTerm {
      Tensor query, key, row, shared;
    };
    std::vector<OfTerm> terms;
  };
  // `wanted`: of each input, whether its gradient is.
  locus_attention backward(locus_attention forward, const Tensor& grad, at::TensorList inputs,
                           const std::vector<bool>& wanted, Buffers& buffers) const;
  // Gradients of the inputs, undefined where none was wanted.
  std::vector<Tensor> gradients(const Buffers& buffers, at::TensorList inputs, const std::vector<bool>& wanted) const;

  // The shape with marks in place of the gradients that will be wanted, for `supports`.
  locus_attention with_gradients(const std::vector<bool>& wanted) const;
  std::vector<bool> wanted() const;  // of each input, whether it takes part in a gradient now

 private:
  struct Source {
    Tensor a, b = {}, c = {};                  // undefined: none
    int at_a = -1, at_b = -1, at_c = -1;       // among the inputs
    Tensor code = {}, map = {}, entries = {};  // of an index
  };
  explicit FlashProblem(const Scores& scores);
  bool add(const BiasTerm& term, int role);
  bool add(const Form& form, int role);
  bool add(int form, int role, std::int64_t prefix, std::int64_t count, Source source);
  void set_index(const PairIndex& index);
  int input(const Tensor& tensor);

  locus_attention shape_{};
  std::vector<Source> sources_;
  std::vector<Tensor> inputs_;  // as the scores have them
  Tensor region_;
  bool sums_scaled_ = false;  // else softmax ignores what is constant along a row
};

}  // namespace locus::engine
