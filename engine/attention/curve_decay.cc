// Curve decay on the CPU, row by row, and the choice of kernel by device.
#include "engine/attention/curve_decay.h"

#include <torch/csrc/autograd/custom_function.h>

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

#include <cmath>
#include <cstdlib>

namespace locus::engine {

const CurveDecayKernel& cuda_curve_decay_kernel();  // curve_decay_cuda.cc

namespace {

// One head's view of the curves: lambda^E / C for every rank difference E, so that a row of the mask costs C
// lookups an entry.
template <typename Real>
class HeadDecay {
 public:
  HeadDecay(const CurveRanks& ranks, const Real* rate, std::int64_t heads, std::int64_t head)
      : rank_(ranks.rank().const_data_ptr<std::int32_t>()),
        curves_(ranks.rank().size(0)),
        patches_(ranks.rank().size(1)),
        prefix_(ranks.prefix()),
        power_(static_cast<std::size_t>(curves_ * patches_)) {
    for (std::int64_t c = 0; c < curves_; ++c) {
      for (std::int64_t e = 0; e < patches_; ++e) {
        power_[static_cast<std::size_t>(c * patches_ + e)] =
            std::exp(-rate[c * heads + head] * static_cast<Real>(e)) / static_cast<Real>(curves_);
      }
    }
  }

  // M[i, 0..T-1]
  void row(std::int64_t i, Real* out) const {
    const std::int64_t tokens = prefix_ + patches_;
    if (i < prefix_) {
      std::fill(out, out + tokens, Real{1});
      return;
    }
    std::fill(out, out + prefix_, Real{1});
    std::fill(out + prefix_, out + tokens, Real{0});
    for (std::int64_t c = 0; c < curves_; ++c) {
      const Real* power = power_.data() + c * patches_;
      const std::int32_t* rank = rank_ + c * patches_;
      const std::int32_t own = rank[i - prefix_];
      for (std::int64_t j = 0; j < patches_; ++j) out[prefix_ + j] += power[std::abs(rank[j] - own)];
    }
  }

  // Adds sum_j weight[j] dM[i, j] / d rate_c to out[c * stride].
  void add_rate_gradient(std::int64_t i, const Real* weight, Real* out, std::int64_t stride) const {
    if (i < prefix_) return;
    for (std::int64_t c = 0; c < curves_; ++c) {
      const Real* power = power_.data() + c * patches_;
      const std::int32_t* rank = rank_ + c * patches_;
      const std::int32_t own = rank[i - prefix_];
      Real sum = 0;
      for (std::int64_t j = 0; j < patches_; ++j) {
        const std::int32_t e = std::abs(rank[j] - own);
        sum += weight[prefix_ + j] * static_cast<Real>(e) * power[e];
      }
      out[c * stride] -= sum;
    }
  }

 private:
  const std::int32_t* rank_;
  std::int64_t curves_, patches_, prefix_;
  std::vector<Real> power_;
};

struct Shape {
  explicit Shape(const Tensor& content) : batch(content.size(0)), heads(content.size(1)), tokens(content.size(2)) {}
  std::int64_t row(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return ((b * heads + h) * tokens + i) * tokens;
  }
  std::int64_t batch, heads, tokens;
};

template <typename Real>
void forward_heads(const Tensor& content, const CurveRanks& ranks, const Tensor& rate, const Tensor& alpha,
                   Tensor& out) {
  const Shape shape(content);
  const Real* a = content.const_data_ptr<Real>();
  const Real* rates = rate.const_data_ptr<Real>();
  const Real* alphas = alpha.const_data_ptr<Real>();
  Real* l = out.mutable_data_ptr<Real>();
  at::parallel_for(0, shape.heads, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<Real> mask(static_cast<std::size_t>(shape.tokens));
    for (std::int64_t h = begin; h < end; ++h) {
      const HeadDecay<Real> decay(ranks, rates, shape.heads, h);
      for (std::int64_t i = 0; i < shape.tokens; ++i) {
        decay.row(i, mask.data());
        for (Real& m : mask) m *= alphas[h];
        for (std::int64_t b = 0; b < shape.batch; ++b) {
          const Real* from = a + shape.row(b, h, i);
          Real* to = l + shape.row(b, h, i);
          for (std::int64_t j = 0; j < shape.tokens; ++j) to[j] = from[j] * mask[static_cast<std::size_t>(j)];
        }
      }
    }
  });
}

// d alpha = sum G M A; dA = alpha M G; d rate through dM = alpha A G summed over the batch. One head is one
// task: sums run in one order.
template <typename Real>
void backward_heads(const Tensor& grad, const Tensor& content, const CurveRanks& ranks, const Tensor& rate,
                    const Tensor& alpha, CurveDecayKernel::Gradients& out) {
  const Shape shape(content);
  const Real* g = grad.const_data_ptr<Real>();
  const Real* a = content.const_data_ptr<Real>();
  const Real* rates = rate.const_data_ptr<Real>();
  const Real* alphas = alpha.const_data_ptr<Real>();
  Real* d_content = out.content.mutable_data_ptr<Real>();
  Real* d_rate = out.rate.mutable_data_ptr<Real>();
  Real* d_alpha = out.alpha.mutable_data_ptr<Real>();
  at::parallel_for(0, shape.heads, 1, [&](std::int64_t begin, std::int64_t end) {
    const auto tokens = static_cast<std::size_t>(shape.tokens);
    std::vector<Real> mask(tokens), products(tokens);
    for (std::int64_t h = begin; h < end; ++h) {
      const HeadDecay<Real> decay(ranks, rates, shape.heads, h);
      for (std::int64_t i = 0; i < shape.tokens; ++i) {
        decay.row(i, mask.data());
        std::fill(products.begin(), products.end(), Real{0});
        for (std::int64_t b = 0; b < shape.batch; ++b) {
          const std::int64_t at = shape.row(b, h, i);
          for (std::size_t j = 0; j < tokens; ++j) {
            const Real gradient = g[at + static_cast<std::int64_t>(j)];
            products[j] += gradient * a[at + static_cast<std::int64_t>(j)];
            d_content[at + static_cast<std::int64_t>(j)] = alphas[h] * mask[j] * gradient;
          }
        }
        Real sum = 0;
        for (std::size_t j = 0; j < tokens; ++j) sum += products[j] * mask[j];
        d_alpha[h] += sum;
        for (Real& product : products) product *= alphas[h];
        decay.add_rate_gradient(i, products.data(), d_rate + h, shape.heads);
      }
    }
  });
}

bool cpu_supports(const Tensor& content, std::int64_t) {
  return content.scalar_type() == at::kFloat || content.scalar_type() == at::kDouble;
}

Tensor cpu_forward(const Tensor& content, const CurveRanks& ranks, const Tensor& rate, const Tensor& alpha) {
  Tensor out = at::empty_like(content);
  AT_DISPATCH_FLOATING_TYPES(content.scalar_type(), "curve_decay_forward",
                             [&] { forward_heads<scalar_t>(content, ranks, rate, alpha, out); });
  return out;
}

CurveDecayKernel::Gradients cpu_backward(const Tensor& grad, const Tensor& content, const CurveRanks& ranks,
                                         const Tensor& rate, const Tensor& alpha) {
  CurveDecayKernel::Gradients out{at::empty_like(content), at::zeros_like(rate), at::zeros_like(alpha)};
  AT_DISPATCH_FLOATING_TYPES(content.scalar_type(), "curve_decay_backward",
                             [&] { backward_heads<scalar_t>(grad, content, ranks, rate, alpha, out); });
  return out;
}

constexpr CurveDecayKernel kCpu{cpu_supports, cpu_forward, cpu_backward};

// Keeps content, rate and alpha for the backward pass, and no mask.
class CurveDecayFunction : public torch::autograd::Function<CurveDecayFunction> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& content, const Tensor& rate,
                        const Tensor& alpha, const std::shared_ptr<const CurveRanks>& ranks) {
    const Tensor a = content.contiguous(), r = rate.contiguous(), s = alpha.contiguous();
    context->save_for_backward({a, r, s});
    context->saved_data["ranks"] = ranks->rank();
    context->saved_data["prefix"] = ranks->prefix();
    return curve_decay_kernel(a, r.size(0))->forward(a, *ranks, r, s);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    const auto saved = context->get_saved_variables();
    const CurveRanks ranks(context->saved_data["ranks"].toTensor(), context->saved_data["prefix"].toInt());
    const auto* kernel = curve_decay_kernel(saved[0], saved[1].size(0));
    auto out = kernel->backward(grads[0].contiguous(), saved[0], ranks, saved[1], saved[2]);
    return {out.content, out.rate, out.alpha, Tensor()};
  }
};

}  // namespace

const CurveDecayKernel* curve_decay_kernel(const Tensor& content, std::int64_t curves) {
  const CurveDecayKernel& kernel = content.is_cuda() ? cuda_curve_decay_kernel() : kCpu;
  if (!content.is_cuda() && !content.is_cpu()) return nullptr;
  return kernel.supports(content, curves) ? &kernel : nullptr;
}

Tensor apply_curve_decay(const Tensor& content, const CurveDecay& decay) {
  return CurveDecayFunction::apply(content, decay.rate, decay.alpha, decay.ranks);
}

}  // namespace locus::engine
