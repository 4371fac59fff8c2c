// The loops of kernels.h, for the instruction set that the including file is compiled for. It defines
// LOCUS_FUSED_SET, a name for its table, and includes this and passes_body.h once.
//
// Only what is inlined may be used here: what the linker merges over files must not hold instructions of one of them.
#include <cmath>
#include <type_traits>

#include "engine/fused/convolve_body.h"
#include "engine/fused/kernels.h"

namespace locus::engine::fused {
namespace {

template <typename T, typename S>
struct Loops : Pieces<T> {
  using P = Pieces<T>;
  using P::add_to, P::kLanes, P::load, P::pieces, P::store;
  using typename P::V;

  // Halves are added, then their halves: of float by shuffles in registers where ATen has them, in the same order.
  static T sum(const V& v) {
#if defined(CPU_CAPABILITY_AVX2) || defined(CPU_CAPABILITY_AVX512)
    if constexpr (std::is_same_v<T, float>)
      return at::vec::vec_reduce_all<float>([](const V& a, const V& b) { return a + b; }, v);
#endif
    T lanes[kLanes];
    v.store(lanes);
    for (std::int64_t step = kLanes / 2; step > 0; step /= 2) {
      for (std::int64_t i = 0; i < step; ++i) lanes[i] += lanes[i + step];
    }
    return lanes[0];
  }

  static void norm(const T* x, const T* w, const T* b, double eps, S* y, T* mean, T* rstd, std::int64_t rows,
                   std::int64_t width) {
    for (std::int64_t r = 0; r < rows; ++r, x += width, y += width) {
      V total(T{0});
      pieces(width, [&](std::int64_t i, std::int64_t n) { total = total + load(x + i, n); });
      const T m = sum(total) / static_cast<T>(width);
      const V center(m);
      V squares(T{0});
      pieces(width, [&](std::int64_t i, std::int64_t n) {
        const V d = V::set(V(T{0}), load(x + i, n) - center, n);
        squares = at::vec::fmadd(d, d, squares);
      });
      const T scale = T{1} / std::sqrt(sum(squares) / static_cast<T>(width) + static_cast<T>(eps));
      const V factor(scale);
      pieces(width, [&](std::int64_t i, std::int64_t n) {
        store(at::vec::fmadd((load(x + i, n) - center) * factor, load(w + i, n), load(b + i, n)), y + i, n);
      });
      mean[r] = m;
      rstd[r] = scale;
    }
  }

  static void norm_backward(const T* dy, const T* x, const T* mean, const T* rstd, const T* w, const T* more, T* dx,
                            T* w_sum, T* b_sum, std::int64_t rows, std::int64_t width) {
    for (std::int64_t r = 0; r < rows; ++r, x += width, dy += width, dx += width) {
      const V center(mean[r]), factor(rstd[r]);
      V of_g(T{0}), of_gh(T{0});
      pieces(width, [&](std::int64_t i, std::int64_t n) {  // what is loaded beyond the end of dy is 0
        const V d = load(dy + i, n), h = (load(x + i, n) - center) * factor, g = d * load(w + i, n);
        of_g = of_g + g;
        of_gh = at::vec::fmadd(g, h, of_gh);
        add_to(w_sum + i, d * h, n);
        add_to(b_sum + i, d, n);
      });
      const V first(sum(of_g) / static_cast<T>(width)), second(sum(of_gh) / static_cast<T>(width));
      pieces(width, [&](std::int64_t i, std::int64_t n) {
        const V h = (load(x + i, n) - center) * factor, g = load(dy + i, n) * load(w + i, n);
        const V d = (g - first - h * second) * factor;
        store(more != nullptr ? d + load(more + i, n) : d, dx + i, n);
      });
      if (more != nullptr) more += width;
    }
  }

  struct Normal {
    V cumulative, density;
  };
  // Phi(u) and phi(u). In float32 both come of one exponential: for x = |u| / sqrt(2),
  //   erfc(x) = t (a1 + t (a2 + t (a3 + t (a4 + t a5)))) exp(-x^2),  t = 1 / (1 + p x),
  // within 1.5e-7 (Abramowitz and Stegun 1964, equation 7.1.26).
  static Normal normal(const V& u) {
    const V exponent = u * u * V(T(-0.5));
    constexpr T kDensity = T(0.39894228040143267794), kRoot = T(0.70710678118654752440);
    if constexpr (std::is_same_v<T, double>) {
      return {at::vec::fmadd(V(0.5), (u * V(kRoot)).erf(), V(0.5)), exponent.exp() * V(kDensity)};
    } else {
      const V e = exponent.exp_u20(), t = V(1) / at::vec::fmadd(u.abs(), V(T(0.3275911) * kRoot), V(1));
      V sum = at::vec::fmadd(t, V(T(1.061405429)), V(T(-1.453152027)));
      sum = at::vec::fmadd(t, sum, V(T(1.421413741)));
      sum = at::vec::fmadd(t, sum, V(T(-0.284496736)));
      sum = at::vec::fmadd(t, sum, V(T(0.254829592)));
      const V tail = V(T(0.5)) * t * sum * e;  // of the side that u lies on
      return {V::blendv(V(1) - tail, tail, u < V(0)), e * V(kDensity)};
    }
  }

  static void gelu(const T* x, const T* bias, S* y, S* sum, std::int64_t rows, std::int64_t width) {
    for (std::int64_t r = 0; r < rows; ++r, x += width, y += width) {
      pieces(width, [&](std::int64_t i, std::int64_t n) {
        const V u = load(x + i, n) + load(bias + i, n);
        store(u * normal(u).cumulative, y + i, n);
        if (sum != nullptr) store(u, sum + i, n);
      });
      if (sum != nullptr) sum += width;
    }
  }

  static void gelu_backward(const S* x, const T* bias, const T* dy, S* dx, T* b_sum, std::int64_t rows,
                            std::int64_t width) {
    for (std::int64_t r = 0; r < rows; ++r, x += width, dy += width, dx += width) {
      pieces(width, [&](std::int64_t i, std::int64_t n) {
        const V u = bias != nullptr ? load(x + i, n) + load(bias + i, n) : load(x + i, n);
        const Normal at = normal(u);
        const V d = load(dy + i, n) * at::vec::fmadd(u, at.density, at.cumulative);
        store(d, dx + i, n);
        add_to(b_sum + i, d, n);
      });
    }
  }

  static void add(const T* x, const T* p, const T* bias, const T* s, T f, T* y, std::int64_t rows, std::int64_t width) {
    const V factor(f);
    for (std::int64_t r = 0; r < rows; ++r, x += width, p += width, y += width) {
      pieces(width, [&](std::int64_t i, std::int64_t n) {
        V branch = load(p + i, n) + load(bias + i, n);
        if (s != nullptr) branch = branch * load(s + i, n);
        store(at::vec::fmadd(branch, factor, load(x + i, n)), y + i, n);
      });
    }
  }

  static void add_backward(const T* dy, const T* p, const T* bias, const T* s, T f, S* dp, T* b_sum, T* s_sum,
                           std::int64_t rows, std::int64_t width) {
    const V factor(f);
    for (std::int64_t r = 0; r < rows; ++r, dy += width) {
      pieces(width, [&](std::int64_t i, std::int64_t n) {
        V d = load(dy + i, n) * factor;
        if (s_sum != nullptr) add_to(s_sum + i, d * (load(p + i, n) + load(bias + i, n)), n);
        if (s != nullptr) d = d * load(s + i, n);
        if (dp != nullptr) store(d, dp + i, n);
        add_to(b_sum + i, d, n);
      });
      if (p != nullptr) p += width;
      if (dp != nullptr) dp += width;
    }
  }

  static void move(const T* x, std::int64_t x_step, const T* bias, S* y, std::int64_t y_step, std::int64_t rows,
                   std::int64_t width) {
    for (std::int64_t r = 0; r < rows; ++r, x += x_step, y += y_step) {
      pieces(width, [&](std::int64_t i, std::int64_t n) {
        store(bias != nullptr ? load(x + i, n) + load(bias + i, n) : load(x + i, n), y + i, n);
      });
    }
  }

  static void gather(const S* x, std::int64_t x_step, S* y, std::int64_t y_step, T* b_sum, std::int64_t rows,
                     std::int64_t width) {
    for (std::int64_t r = 0; r < rows; ++r, x += x_step, y += y_step) {
      pieces(width, [&](std::int64_t i, std::int64_t n) {
        const V d = load(x + i, n);
        store(d, y + i, n);
        if (b_sum != nullptr) add_to(b_sum + i, d, n);
      });
    }
  }

  // body(c, first, second) for the pairs of a row.
  template <typename F>
  static void pairs(std::int64_t width, bool neighbors, const F& body) {
    const std::int64_t half = width / 2;
    if (neighbors) {
      for (std::int64_t c = 0; c < half; ++c) body(c, 2 * c, 2 * c + 1);
    } else {
      for (std::int64_t c = 0; c < half; ++c) body(c, c, c + half);
    }
  }

  static void turn(const S* x, std::int64_t x_step, const T* cos, const T* sin, std::int64_t turn_step, bool neighbors,
                   S* y, std::int64_t rows, std::int64_t width) {
    for (std::int64_t r = 0; r < rows; ++r, x += x_step, cos += turn_step, sin += turn_step, y += width) {
      pairs(width, neighbors, [&](std::int64_t, std::int64_t a, std::int64_t b) {
        const T first = static_cast<T>(x[a]), second = static_cast<T>(x[b]);
        y[a] = static_cast<S>(first * cos[a] + second * sin[a]);
        y[b] = static_cast<S>(second * cos[b] + first * sin[b]);
      });
    }
  }

  static void turn_backward(const S* dy, std::int64_t dy_step, const S* x, std::int64_t x_step, const T* cos,
                            const T* sin, std::int64_t turn_step, bool neighbors, S* dx, T* angle_sum,
                            std::int64_t rows, std::int64_t width) {
    for (std::int64_t r = 0; r < rows; ++r, dy += dy_step, cos += turn_step, sin += turn_step, dx += width) {
      pairs(width, neighbors, [&](std::int64_t c, std::int64_t a, std::int64_t b) {
        const T first = static_cast<T>(dy[a]), second = static_cast<T>(dy[b]);
        const T d = first * cos[a] + second * sin[b], d2 = second * cos[b] + first * sin[a];
        if (x != nullptr) angle_sum[c] += static_cast<T>(x[a]) * d2 - static_cast<T>(x[b]) * d;
        dx[a] = static_cast<S>(d);
        dx[b] = static_cast<S>(d2);
      });
      if (x != nullptr) x += x_step, angle_sum += width / 2;
    }
  }

  static constexpr Kernels<T, S> table() {
    return {norm,
            norm_backward,
            gelu,
            gelu_backward,
            add,
            add_backward,
            move,
            gather,
            turn,
            turn_backward,
            Convolutions<T>::convolve,
            Convolutions<T>::convolve_backward};
  }
};

}  // namespace

namespace LOCUS_FUSED_SET {
extern const Kernels<float, float> of_float = Loops<float, float>::table();
extern const Kernels<double, double> of_double = Loops<double, double>::table();
extern const Kernels<float, c10::BFloat16> of_bfloat16 = Loops<float, c10::BFloat16>::table();
}  // namespace LOCUS_FUSED_SET

}  // namespace locus::engine::fused
