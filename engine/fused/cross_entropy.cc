// The gradient is made with the value, when the exponentials are at hand.
#include "engine/fused/cross_entropy.h"

#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "engine/fused/rows.h"
#include "engine/fused/switch.h"

namespace locus::engine::fused {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

bool fits_loss(const Tensor& logits, const Tensor& wanted) {
  const at::ScalarType type = logits.scalar_type();
  if (!is_enabled() || !logits.is_cpu() || !wanted.is_cpu() || logits.dim() != 2 || logits.numel() == 0) return false;
  if (type != at::kFloat && type != at::kDouble) return false;
  if (wanted.scalar_type() != at::kLong)
    return wanted.scalar_type() == type && wanted.sizes() == logits.sizes() && !wanted.requires_grad();
  if (wanted.dim() != 1 || wanted.size(0) != logits.size(0)) return false;
  const Tensor labels = wanted.contiguous();
  const auto* const first = labels.const_data_ptr<std::int64_t>();
  return std::all_of(first, first + labels.numel(),
                     [&](std::int64_t label) { return label >= 0 && label < logits.size(1); });
}

// The mean; with `slope`, [B, C], its gradient into that.
template <typename T>
Tensor mean_loss(const Tensor& logits, const Tensor& wanted, double smoothing, Tensor& slope) {
  const std::int64_t rows = logits.size(0), width = logits.size(1), parts = parts_of_rows(rows);
  const bool certain = wanted.scalar_type() == at::kLong;
  const T *const x = data<T>(logits), *const targets = certain ? nullptr : data<T>(wanted);
  const std::int64_t* const labels = certain ? data<std::int64_t>(wanted) : nullptr;
  T* const to = writable<T>(slope);
  std::vector<double> sums(static_cast<std::size_t>(parts));
  in_parts(rows, parts, [&](std::int64_t part, std::int64_t first, std::int64_t end) {
    const std::int64_t at = first * width;
    sums[static_cast<std::size_t>(part)] = passes<T>().cross_entropy(
        x + at, certain ? nullptr : targets + at, certain ? labels + first : nullptr, smoothing,
        static_cast<T>(1.0 / static_cast<double>(rows)), to != nullptr ? to + at : nullptr, end - first, width);
  });
  double sum = 0;
  for (const double one : sums) sum += one;
  return at::scalar_tensor(sum / static_cast<double>(rows), logits.options());
}

Tensor loss_of(const Tensor& logits, const Tensor& wanted, double smoothing, Tensor& slope) {
  const Tensor x = logits.contiguous(), t = wanted.contiguous();
  return x.scalar_type() == at::kDouble ? mean_loss<double>(x, t, smoothing, slope)
                                        : mean_loss<float>(x, t, smoothing, slope);
}

class CrossEntropy : public torch::autograd::Function<CrossEntropy> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& logits, const Tensor& wanted, double smoothing) {
    Tensor slope = at::empty(logits.sizes(), logits.options());
    const Tensor loss = loss_of(logits, wanted, smoothing, slope);
    context->save_for_backward({slope});
    return loss;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return {context->get_saved_variables()[0] * gradients[0], {}, {}};
  }
};

}  // namespace

std::optional<Tensor> cross_entropy(const Tensor& logits, const Tensor& labels_or_targets, double smoothing) {
  if (!fits_loss(logits, labels_or_targets)) return std::nullopt;
  if (at::GradMode::is_enabled() && logits.requires_grad())
    return CrossEntropy::apply(logits, labels_or_targets, smoothing);
  Tensor no_slope;
  return loss_of(logits, labels_or_targets, smoothing, no_slope);
}

}  // namespace locus::engine::fused
