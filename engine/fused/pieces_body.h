// Vectors of numbers in memory, for the instruction set that the including file is compiled for (kernels_body.h).
#pragma once

#include <ATen/cpu/vec/vec.h>

#include <ATen/cpu/vec/functional.h>

#include <cstdint>

namespace locus::engine::fused {
namespace {

template <typename T>
using Vec = at::vec::Vectorized<T>;

template <typename T>
struct Pieces {
  using V = Vec<T>;
  static constexpr std::int64_t kLanes = V::size();

  static V load(const T* p, std::int64_t n) { return n == kLanes ? V::loadu(p) : V::loadu(p, n); }
  static void store(const V& v, T* p, std::int64_t n) {
    if (n == kLanes) {
      v.store(p);
    } else {
      v.store(p, static_cast<int>(n));
    }
  }
  static V load(const c10::BFloat16* p, std::int64_t n) {
    return at::vec::convert<T>(Vec<c10::BFloat16>::loadu(p, static_cast<int>(n)));
  }
  static void store(const V& v, c10::BFloat16* p, std::int64_t n) {
    at::vec::convert<c10::BFloat16>(v).store(p, static_cast<int>(n));
  }

  // f(i, n) for pieces of n numbers from i on.
  template <typename F>
  static void pieces(std::int64_t width, const F& f) {
    std::int64_t i = 0;
    for (; i + kLanes <= width; i += kLanes) f(i, kLanes);
    if (i < width) f(i, width - i);
  }
  static void add_to(T* p, const V& v, std::int64_t n) { store(load(p, n) + v, p, n); }
};

}  // namespace
}  // namespace locus::engine::fused
