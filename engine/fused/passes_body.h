// The passes of kernels.h, for the instruction set that the including file is compiled for; after kernels_body.h, by its
// rules.
#include <limits>

namespace locus::engine::fused {
namespace {

template <typename T>
struct PassLoops {
  using L = Loops<T, T>;
  using V = Vec<T>;

  static T largest(const T* x, std::int64_t width) {
    const V least(-std::numeric_limits<T>::infinity());
    V most = least;
    L::pieces(width, [&](std::int64_t i, std::int64_t n) {
      most = at::vec::maximum(most, V::set(least, L::load(x + i, n), n));
    });
    T lanes[V::size()], out = -std::numeric_limits<T>::infinity();
    most.store(lanes);
    for (const T lane : lanes) out = lane > out || lane != lane ? lane : out;  // what is no number stays
    return out;
  }

  static double row_loss(const T* x, const T* targets, std::int64_t label, T smoothing, T factor, T* slope,
                         std::int64_t width) {
    const T most = largest(x, width), share = T{1} - smoothing, everywhere = smoothing / static_cast<T>(width);
    const V top(most), zero(T{0}), part(share), all(everywhere);
    V sum(T{0}), weights(T{0}), below(T{0}), rest(T{0});
    L::pieces(width, [&](std::int64_t i, std::int64_t n) {
      const V apart = L::load(x + i, n) - top, e = V::set(zero, apart.exp(), n);
      sum = sum + e;
      if (slope != nullptr) L::store(e, slope + i, n);
      if (targets != nullptr) {
        const V t = V::set(zero, at::vec::fmadd(part, L::load(targets + i, n), all), n);
        weights = weights + t;
        below = at::vec::fmadd(t, V::set(zero, apart, n), below);
      } else if (everywhere != T{0}) {
        rest = rest + V::set(zero, apart, n);
      }
    });
    const T exponentials = L::sum(sum);
    T weight = T{1};
    double loss = std::log(static_cast<double>(exponentials));
    if (targets != nullptr) {
      weight = L::sum(weights);
      loss = loss * static_cast<double>(weight) - static_cast<double>(L::sum(below));
    } else {
      loss -= static_cast<double>(share) * static_cast<double>(x[label] - most);
      if (everywhere != T{0}) loss -= static_cast<double>(everywhere) * static_cast<double>(L::sum(rest));
    }
    if (slope == nullptr) return loss;
    const V probability(factor * weight / exponentials), down(-factor), flat(-factor * everywhere);
    L::pieces(width, [&](std::int64_t i, std::int64_t n) {
      const V own = targets != nullptr ? down * at::vec::fmadd(part, L::load(targets + i, n), all) : flat;
      L::store(at::vec::fmadd(L::load(slope + i, n), probability, own), slope + i, n);
    });
    if (targets == nullptr) slope[label] -= factor * share;
    return loss;
  }

  static double cross_entropy(const T* x, const T* targets, const std::int64_t* labels, double smoothing, T factor,
                              T* slope, std::int64_t rows, std::int64_t width) {
    double out = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t at = r * width;
      out += row_loss(x + at, targets != nullptr ? targets + at : nullptr, targets != nullptr ? 0 : labels[r],
                      static_cast<T>(smoothing), factor, slope != nullptr ? slope + at : nullptr, width);
    }
    return out;
  }

  static double squares(const T* x, std::int64_t count) {
    V sum(T{0});
    L::pieces(count, [&](std::int64_t i, std::int64_t n) {
      const V one = L::load(x + i, n);
      sum = at::vec::fmadd(one, one, sum);
    });
    return static_cast<double>(L::sum(sum));
  }

  static void scale(T* x, T factor, std::int64_t count) {
    const V by(factor);
    L::pieces(count, [&](std::int64_t i, std::int64_t n) { L::store(L::load(x + i, n) * by, x + i, n); });
  }

  static void adamw(T* p, const T* g, T* m, T* v, const AdamNumbers<T>& numbers, std::int64_t count) {
    const bool near = numbers.one_beta1 < T(0.5);  // of a linear interpolation, the end that is nearer
    const V kept(numbers.kept), beta2(numbers.beta2), one_beta2(numbers.one_beta2), root(numbers.root),
        step(-numbers.step), epsilon(numbers.epsilon), share(near ? numbers.one_beta1 : numbers.one_beta1 - T{1});
    L::pieces(count, [&](std::int64_t i, std::int64_t n) {
      const V gradient = L::load(g + i, n), before = L::load(m + i, n);
      const V first = at::vec::fmadd(share, gradient - before, near ? before : gradient);
      const V second = L::load(v + i, n) * beta2 + one_beta2 * gradient * gradient;
      const V below = second.sqrt() / root + epsilon;
      L::store(first, m + i, n);
      L::store(second, v + i, n);
      L::store(L::load(p + i, n) * kept + step * first / below, p + i, n);
    });
  }

  static void sgd(T* p, const T* g, T* b, const SgdNumbers<T>& numbers, std::int64_t count) {
    const V rate(-numbers.rate), decay(numbers.decay), momentum(numbers.momentum);
    L::pieces(count, [&](std::int64_t i, std::int64_t n) {
      const V before = L::load(p + i, n);
      V by = L::load(g + i, n);
      if (numbers.decay != T{0}) by = by + before * decay;
      if (b != nullptr) {
        const V buffer = L::load(b + i, n) * momentum + by;
        L::store(buffer, b + i, n);
        by = numbers.nesterov ? by + buffer * momentum : buffer;
      }
      L::store(before + by * rate, p + i, n);
    });
  }

  static constexpr T kStraight = 20;  // from where softplus is taken for what it is of

  static void softplus(const T* x, std::int64_t x_step, T* y, std::int64_t rows, std::int64_t width) {
    for (std::int64_t r = 0; r < rows; ++r, x += x_step, y += width) {
      L::pieces(width, [&](std::int64_t i, std::int64_t n) {
        const V u = L::load(x + i, n);
        L::store(V::blendv(u.exp().log1p(), u, u > V(kStraight)), y + i, n);
      });
    }
  }

  static void softplus_backward(const T* x, std::int64_t step, const T* dy, T* dx, std::int64_t rows,
                                std::int64_t width) {
    for (std::int64_t r = 0; r < rows; ++r, x += step, dy += width, dx += step) {
      L::pieces(width, [&](std::int64_t i, std::int64_t n) {
        const V u = L::load(x + i, n), d = L::load(dy + i, n);
        L::store(V::blendv(d / (V(T{1}) + u.neg().exp()), d, u > V(kStraight)), dx + i, n);
      });
    }
  }

  static void follow(T* a, const T* x, T keep, T take, std::int64_t count) {
    const V kept(keep), taken(take);
    L::pieces(count, [&](std::int64_t i, std::int64_t n) {
      L::store(at::vec::fmadd(L::load(x + i, n), taken, L::load(a + i, n) * kept), a + i, n);
    });
  }

  static void lerp(T* a, const T* x, T share, std::int64_t count) {
    const bool near = share < T(0.5);
    const V by(near ? share : share - T{1});
    L::pieces(count, [&](std::int64_t i, std::int64_t n) {
      const V from = L::load(a + i, n), to = L::load(x + i, n);
      L::store(at::vec::fmadd(by, to - from, near ? from : to), a + i, n);
    });
  }

  static constexpr Passes<T> table() {
    return {cross_entropy, squares, scale, adamw, sgd, softplus, softplus_backward, follow, lerp};
  }
};

}  // namespace

namespace LOCUS_FUSED_SET {
extern const Passes<float> passes_float = PassLoops<float>::table();
extern const Passes<double> passes_double = PassLoops<double>::table();
}  // namespace LOCUS_FUSED_SET

}  // namespace locus::engine::fused
