// What a denoising network is told beside the noisy image: how noisy it is, and of which class.
#pragma once

#include "engine/backbones/backbone.h"

namespace locus::engine {

// For tasks that have neither to tell: the catalog entry refuses backbones that follow them, when an experiment is planned.
void refuse_conditions(Item& item);
// The same where a network is made: throws std::invalid_argument.
void check_unconditioned(const Backbone& backbone);

// Linear(SiLU(Linear(e(t)))), e(t) = [cos(t f_0), ..., cos(t f_127), sin(t f_0), ..., sin(t f_127)],
// f_k = 10000^(-k / 128) (Peebles and Xie 2023, arXiv:2212.09748, after Nichol and Dhariwal 2021). Parts "in" and "out".
// Not thread-safe.
class TimeEmbedding : public Module {
 public:
  static constexpr std::int64_t kFrequencies = 128;

  explicit TimeEmbedding(std::int64_t width);
  // times [B], of any type and possibly fractional -> [B, width].
  Tensor forward(const Tensor& times) const;
  // e(t), float32 [B, 256], computed in float32 as the published code does.
  static Tensor waves(const Tensor& times);
  void initialize(const Initializer& initializer);  // weights normal (0.02), biases 0
  std::int64_t flops() const;                       // of one time: Backbone::flops

 private:
  std::shared_ptr<Linear> in_, out_;
};

// A row for each class and, where labels are dropped, one more, the null class, for an image of no class in particular
// (Ho and Salimans 2022, arXiv:2207.12598). Parameter "table". Not thread-safe.
class LabelEmbedding : public Module {
 public:
  // `drop`: the probability that a label is replaced by the null class while training; 0: there is no null class.
  LabelEmbedding(std::int64_t classes, std::int64_t width, double drop);
  // labels int64 [B] -> [B, width]. `dropped` bool [B] says which labels are replaced; undefined: while training those
  // that `context` draws for the step, by their place in its batch, else none. Throws std::invalid_argument where labels
  // are to be dropped and there is no null class.
  Tensor forward(const Tensor& labels, const ForwardContext& context, const Tensor& dropped = {}) const;
  std::int64_t null_label() const;                  // throws std::invalid_argument where there is none
  void initialize(const Initializer& initializer);  // normal (0.02)

 private:
  std::int64_t classes_;
  double drop_;
  Tensor table_;  // [classes or classes + 1, width]
};

}  // namespace locus::engine
