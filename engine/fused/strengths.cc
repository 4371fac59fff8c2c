// Both maps of x are one product; a group of rows goes through everything at a time.
#include "engine/fused/strengths.h"

#include <torch/csrc/autograd/custom_function.h>

#include "engine/fused/operands.h"
#include "engine/fused/rows.h"

namespace locus::engine::fused {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Strengths {
  Tensor out;       // [rows, O]
  Tensor mapped;    // before softplus, and behind it what `more` gives: [rows, K] or [rows, K + O]
  Tensor positive;  // after softplus, [rows, K]
};

template <typename T>
Strengths strengths_of(const Tensor& x, const Tensor& map, const Tensor& columns) {
  const std::int64_t count = x.size(0), in = x.size(1), all = map.size(0), strengths = columns.size(0),
                     wide = columns.size(1), more = all - strengths;
  Strengths made{at::empty({count, wide}, x.options()), at::empty({count, all}, x.options()),
                 at::empty({count, strengths}, x.options())};
  tell_of_product(x, map), tell_of_product(made.positive, columns);
  const Map<T, T> of_x(map, Turn::kTurned), summed(columns, Turn::kNone);
  const T* const from = data<T>(x);
  T *const mapped = writable<T>(made.mapped), *const positive = writable<T>(made.positive),
           *const out = writable<T>(made.out);
  in_parts(count, parts_of_rows(count), [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    in_groups(begin, end, [&](std::int64_t first, std::int64_t last) {
      const std::int64_t rows = last - first;
      const T* const own = mapped + first * all;
      of_x.multiply(from + first * in, rows, mapped + first * all);
      passes<T>().softplus(own, all, positive + first * strengths, rows, strengths);
      summed.multiply(positive + first * strengths, rows, out + first * wide);
      for (std::int64_t r = 0; r < rows; ++r) {
        T* const to = out + (first + r) * wide;
        for (std::int64_t k = 0; k < more; ++k) to[k] += own[r * all + strengths + k];
      }
    });
  });
  return made;
}

// The gradients of what the map gives, [rows, K] or [rows, K + O], and of x.
template <typename T>
std::pair<Tensor, Tensor> strengths_back(const Tensor& dy, const Tensor& mapped, const Tensor& map,
                                         const Tensor& columns) {
  const std::int64_t count = dy.size(0), in = map.size(1), all = map.size(0), strengths = columns.size(0),
                     wide = columns.size(1), more = all - strengths;
  Tensor of_mapped = at::empty({count, all}, dy.options()), of_x = at::empty({count, in}, dy.options());
  tell_of_product(dy, columns), tell_of_product(of_mapped, map);
  const Map<T, T> back(columns, Turn::kTurned), to_x(map, Turn::kNone);
  const T *const given = data<T>(dy), *const before = data<T>(mapped);
  T *const through = writable<T>(of_mapped), *const to = writable<T>(of_x);
  in_parts(count, parts_of_rows(count), [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    Tensor room = at::empty({kGroupRows, strengths}, dy.options());
    T* const of_positive = writable<T>(room);
    in_groups(begin, end, [&](std::int64_t first, std::int64_t last) {
      const std::int64_t rows = last - first, at = first * all;
      back.multiply(given + first * wide, rows, of_positive);
      passes<T>().softplus_backward(before + at, all, of_positive, through + at, rows, strengths);
      for (std::int64_t r = 0; r < rows && more > 0; ++r)
        std::copy_n(given + (first + r) * wide, more, through + at + r * all + strengths);
      to_x.multiply(through + at, rows, to + first * in);
    });
  });
  return {of_mapped, of_x};
}

class SumByStrengths : public torch::autograd::Function<SumByStrengths> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& strengths, const Tensor& columns,
                        const std::optional<Tensor>& more) {
    const Tensor rows = x.flatten(0, 1), map = more ? at::cat({strengths, *more}) : strengths.contiguous(),
                 summed = columns.contiguous();
    const Strengths made = x.scalar_type() == at::kDouble ? strengths_of<double>(rows, map, summed)
                                                          : strengths_of<float>(rows, map, summed);
    context->save_for_backward({rows, map, summed, made.mapped, made.positive});
    return made.out.view({x.size(0), x.size(1), -1});
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor &rows = saved[0], &map = saved[1], &columns = saved[2];
    const Tensor &given = gradients[0], dy = given.contiguous().flatten(0, 1);
    const auto [of_mapped, of_x] = dy.scalar_type() == at::kDouble ? strengths_back<double>(dy, saved[3], map, columns)
                                                                   : strengths_back<float>(dy, saved[3], map, columns);
    const Tensor of_map = outer_sum(of_mapped, rows), of_columns = outer_sum(saved[4], dy);
    const std::int64_t strengths = columns.size(0);
    const bool with_more = map.size(0) > strengths;
    return {of_x.view({given.size(0), given.size(1), -1}), of_map.slice(0, 0, strengths), of_columns,
            with_more ? of_map.slice(0, strengths) : Tensor()};
  }
};

}  // namespace

Tensor sum_by_strengths(const Tensor& x, const Tensor& strengths, const Tensor& columns, const Tensor& more) {
  return SumByStrengths::apply(x, strengths, columns, maybe(more));
}

}  // namespace locus::engine::fused
