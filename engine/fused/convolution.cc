// Sample by sample, without the way to images and back.
#include "engine/fused/convolution.h"

#include <torch/csrc/autograd/custom_function.h>

#include "engine/fused/operands.h"
#include "engine/fused/rows.h"

namespace locus::engine::fused {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kMostSampleParts = 16;

// [C, 1, side, side] -> [side side, C]
Tensor by_tap(const Tensor& weight) { return weight.detach().flatten(1).t().contiguous(); }

template <typename T>
Tensor convolved(const Tensor& tokens, const Tensor& taps, std::int64_t side, const Tensor& bias,
                 const ConvolvedGrid& grid) {
  const std::int64_t samples = tokens.size(0), width = tokens.size(2), sample = tokens.size(1) * width;
  Tensor out = at::empty_like(tokens);
  const T* const from = data<T>(tokens);
  T* const to = writable<T>(out);
  in_parts(samples, samples, [&](std::int64_t, std::int64_t first, std::int64_t end) {
    for (std::int64_t n = first; n < end; ++n) {
      T* const out_of = to + n * sample;
      if (grid.keeps_prefix)
        std::copy_n(from + n * sample, grid.prefix * width, out_of);
      else
        std::fill_n(out_of, grid.prefix * width, T{0});
      kernels<T, T>().convolve(from + n * sample + grid.prefix * width, data<T>(taps), data<T>(bias),
                               out_of + grid.prefix * width, grid.rows, grid.columns, side, width);
    }
  });
  return out;
}

template <typename T>
std::pair<Tensor, Tensor> weight_gradients(const Tensor& tokens, const Tensor& dy, std::int64_t side,
                                           const ConvolvedGrid& grid) {
  const std::int64_t samples = tokens.size(0), width = tokens.size(2), sample = tokens.size(1) * width;
  const std::int64_t parts = std::min(samples, kMostSampleParts);
  ColumnSum<T> of_weight(parts, side * side * width, tokens.options()), of_bias(parts, width, tokens.options());
  const T *const x = data<T>(tokens) + grid.prefix * width, *const d = data<T>(dy) + grid.prefix * width;
  in_parts(samples, parts, [&](std::int64_t part, std::int64_t first, std::int64_t end) {
    for (std::int64_t n = first; n < end; ++n)
      kernels<T, T>().convolve_backward(x + n * sample, d + n * sample, of_weight.of(part), of_bias.of(part), grid.rows,
                                        grid.columns, side, width);
  });
  return {of_weight.total(), of_bias.total()};
}

class ConvolveTokens : public torch::autograd::Function<ConvolveTokens> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& tokens, const Tensor& weight,
                        const std::optional<Tensor>& given_bias, const ConvolvedGrid& grid) {
    const Tensor bias = tensor_of(given_bias), taps = by_tap(weight);
    context->save_for_backward({tokens, weight, bias});
    context->saved_data["grid"] = at::IntArrayRef({grid.prefix, grid.rows, grid.columns});
    context->saved_data["keeps_prefix"] = grid.keeps_prefix;
    return tokens.scalar_type() == at::kDouble ? convolved<double>(tokens, taps, weight.size(2), bias, grid)
                                               : convolved<float>(tokens, taps, weight.size(2), bias, grid);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const auto sizes = context->saved_data["grid"].toIntVector();
    const ConvolvedGrid grid{sizes[0], sizes[1], sizes[2], context->saved_data["keeps_prefix"].toBool()};
    const Tensor &tokens = saved[0], &weight = saved[1], dy = gradients[0].contiguous();
    const std::int64_t side = weight.size(2);
    const bool exact = tokens.scalar_type() == at::kDouble;
    // What a pixel gave to its neighbors comes back from them: the same with the taps in reverse.
    const Tensor taps = by_tap(weight).flip(0);
    const Tensor of_tokens =
        exact ? convolved<double>(dy, taps, side, {}, grid) : convolved<float>(dy, taps, side, {}, grid);
    const auto [of_taps, of_bias] =
        exact ? weight_gradients<double>(tokens, dy, side, grid) : weight_gradients<float>(tokens, dy, side, grid);
    const Tensor of_weight = of_taps.view({side * side, -1}).t().reshape(weight.sizes());
    return {of_tokens, of_weight, saved[2].defined() ? of_bias : Tensor(), {}};
  }
};

}  // namespace

Tensor convolve_tokens(const Tensor& tokens, const Tensor& weight, const Tensor& bias, const ConvolvedGrid& grid) {
  return ConvolveTokens::apply(tokens, weight, maybe(bias), grid);
}

}  // namespace locus::engine::fused
