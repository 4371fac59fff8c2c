// Row by row, where rows of heads and tokens lie.
#include "engine/fused/rotation.h"

#include "engine/base/whole_rows.h"
#include "engine/fused/operands.h"
#include "engine/fused/rows.h"
#include "engine/fused/switch.h"

namespace locus::engine::fused {
namespace {

// Turns over all of the heads: strides of 0 where they are shared.
PairTurns over(const Tensor& x, const PairTurns& turns) {
  return {with_whole_rows(turns.cos.expand(x.sizes())), with_whole_rows(turns.sin.expand(x.sizes())), turns.neighbors};
}

// body(sample, head, first token, tokens), the samples of a head and of some tokens in one thread.
template <typename Body>
void by_head(const Tensor& x, const Body& body) {
  constexpr std::int64_t kTokens = 64;
  const std::int64_t heads = x.size(1), tokens = x.size(2), runs = (tokens + kTokens - 1) / kTokens;
  in_parts(heads * runs, heads * runs, [&](std::int64_t unit, std::int64_t, std::int64_t) {
    const std::int64_t first = unit % runs * kTokens;
    for (std::int64_t b = 0; b < x.size(0); ++b) body(b, unit / runs, first, std::min(kTokens, tokens - first));
  });
}

// Rows of one head, as the kernels take them.
template <typename N>
struct Rows {
  Rows(const Tensor& t, std::int64_t b, std::int64_t h, std::int64_t token)
      : from(data<N>(t) + b * t.stride(0) + h * t.stride(1) + token * t.stride(2)), step(t.stride(2)) {}
  const N* from;
  std::int64_t step;
};

template <typename T, typename S>
void turn(const Tensor& x, const PairTurns& turns, Tensor& y) {
  const std::int64_t width = x.size(3);
  S* const to = writable<S>(y);
  by_head(x, [&](std::int64_t b, std::int64_t h, std::int64_t token, std::int64_t count) {
    const Rows<S> in(x, b, h, token);
    const Rows<T> cos(turns.cos, b, h, token), sin(turns.sin, b, h, token);
    kernels<T, S>().turn(in.from, in.step, cos.from, sin.from, cos.step, turns.neighbors,
                         to + ((b * y.size(1) + h) * y.size(2) + token) * width, count, width);
  });
}

template <typename T, typename S>
void turn_back(const Tensor& dy, const Tensor& x, const PairTurns& turns, TurnGradients& out) {
  const std::int64_t width = dy.size(3), heads = dy.size(1), tokens = dy.size(2);
  S* const to = writable<S>(out.x);
  T* const of_angles = writable<T>(out.angles);
  const bool shared = out.angles.defined() && out.angles.size(0) == 1;
  by_head(dy, [&](std::int64_t b, std::int64_t h, std::int64_t token, std::int64_t count) {
    const Rows<S> in(dy, b, h, token), turned(x.defined() ? x : dy, b, h, token);
    const Rows<T> cos(turns.cos, b, h, token), sin(turns.sin, b, h, token);
    const std::int64_t row = ((shared ? 0 : b) * heads + h) * tokens + token;
    kernels<T, S>().turn_backward(in.from, in.step, x.defined() ? turned.from : nullptr, turned.step, cos.from,
                                  sin.from, cos.step, turns.neighbors, to + ((b * heads + h) * tokens + token) * width,
                                  of_angles != nullptr ? of_angles + row * (width / 2) : nullptr, count, width);
  });
}

}  // namespace

bool turns_rows(const Tensor& x, const PairTurns& turns) {
  const at::ScalarType type = turns.cos.scalar_type(), own = x.scalar_type();
  return is_enabled() && x.is_cpu() && x.dim() == 4 && x.numel() > 0 && (type == at::kFloat || type == at::kDouble) &&
         (own == type || (own == at::kBFloat16 && type == at::kFloat));
}

Tensor turn_rows(const Tensor& x, const PairTurns& turns) {
  const Tensor rows = with_whole_rows(x);
  const PairTurns all = over(x, turns);
  Tensor y = at::empty(x.sizes(), x.options());
  of_types(x.scalar_type(), [&]<typename T, typename S>() { turn<T, S>(rows, all, y); });
  return y;
}

TurnGradients turn_rows_back(const Tensor& dy, const Tensor& x, const PairTurns& turns) {
  const Tensor rows = with_whole_rows(dy), turned = x.defined() ? with_whole_rows(x) : x;
  const PairTurns all = over(dy, turns);
  TurnGradients out{at::empty(dy.sizes(), dy.options()), {}};
  if (x.defined()) {
    const std::int64_t samples = all.cos.stride(0) == 0 ? 1 : dy.size(0);
    out.angles = at::zeros({samples, dy.size(1), dy.size(2), dy.size(3) / 2}, turns.cos.options());
  }
  of_types(dy.scalar_type(), [&]<typename T, typename S>() { turn_back<T, S>(rows, turned, all, out); });
  return out;
}

}  // namespace locus::engine::fused
