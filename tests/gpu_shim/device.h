// What kernels ask of a device (engine/kernels/cuda/device.cuh), on the CPU. Include it before a kernel.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <source_location>

#include "tests/gpu_shim/block.h"

#define LOCUS_DEVICE inline
#define LOCUS_UNROLL
#define LOCUS_NO_UNROLL

namespace locus::gpu {

using Where = std::source_location;

struct Bf16 {
  std::uint16_t bits;
};
struct Fp16 {
  std::uint16_t bits;
};

constexpr float kInfinity = std::numeric_limits<float>::infinity();

inline gpu_shim::Block& block() { return *gpu_shim::Block::current(); }
inline int thread() { return block().thread(); }
inline int lane() { return thread() % gpu_shim::kWarp; }
inline int warp() { return thread() / gpu_shim::kWarp; }
inline int block_x() { return block().x(); }
inline int block_y() { return block().y(); }
inline int block_z() { return block().z(); }
inline int blocks_x() { return block().shape().x; }
inline int blocks_z() { return block().shape().z; }

void sync_block(const Where& where = Where::current());
void sync_warp(const Where& where = Where::current());
float shuffle_xor(float value, int mask, const Where& where = Where::current());
float shuffle(float value, int from, const Where& where = Where::current());

inline void forget(int&) {}

inline float exp2(float x) { return std::exp2(x); }
inline float log2(float x) { return std::log2(x); }
inline float square_root(float x) { return std::sqrt(x); }
inline float magnitude(float x) { return std::fabs(x); }
inline float larger(float x, float y) { return std::fmax(x, y); }

// What a number of shared memory is read and written through.
template <typename T>
class Reference {
 public:
  explicit Reference(int at) : at_(at) {}
  operator T() const {  // NOLINT(google-explicit-constructor): it stands for a T
    if (const std::string wrong = block().shadow().read(thread(), at_, sizeof(T)); !wrong.empty()) block().fail(wrong);
    T out;
    std::memcpy(&out, block().shadow().data() + at_, sizeof(T));
    return out;
  }
  Reference& operator=(const T& value) {
    if (const std::string wrong = block().shadow().write(thread(), at_, sizeof(T)); !wrong.empty()) block().fail(wrong);
    std::memcpy(block().shadow().data() + at_, &value, sizeof(T));
    return *this;
  }
  Reference(const Reference&) = default;
  Reference& operator=(const Reference& other) { return *this = static_cast<T>(other); }

 private:
  int at_;
};

// A pointer into shared memory that knows where what it points to begins and ends.
template <typename T>
class Shared {
 public:
  Shared(int begin, int end) : begin_(begin), end_(end), at_(begin) {}
  Reference<T> operator[](int i) const { return Reference<T>((*this + i).checked(sizeof(T))); }
  Shared operator+(int i) const {
    Shared moved = *this;
    moved.at_ += i * static_cast<int>(sizeof(T));
    return moved;
  }
  // The byte that it points to; the run ends where `bytes` from there on are not all its own.
  int checked(int bytes) const {
    if (at_ < begin_ || at_ + bytes > end_) {
      block().fail("out of bounds: " + std::to_string(at_ - begin_) + " of " + std::to_string(end_ - begin_) +
                   " bytes of a part of shared memory");
    }
    return at_;
  }

 private:
  int begin_, end_, at_;
};

template <typename T>
Shared<T> shared(int at, int count) {
  const int end = at + count * static_cast<int>(sizeof(T));
  if (end > block().shadow().bytes())
    block().fail("out of bounds: a part of shared memory that the launch did not ask for");
  return Shared<T>(at, end);
}

template <typename T>
T load(const T* at) {
  return *at;
}

// Rounding as the GPU does it; software, so that every processor gives the same bits.
std::uint16_t to_bf16(float x);
std::uint16_t to_fp16(float x);
float from_fp16(std::uint16_t bits);
std::uint32_t to_tf32(float x);
inline float as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }

inline float to_float(float x) { return x; }
inline float to_float(Bf16 x) { return as_float(static_cast<std::uint32_t>(x.bits) << 16); }
inline float to_float(Fp16 x) { return from_fp16(x.bits); }

template <typename T>
std::uint32_t pack(float low, float high) {
  if constexpr (std::is_same_v<T, Bf16>) {
    return to_bf16(low) | static_cast<std::uint32_t>(to_bf16(high)) << 16;
  } else {
    return to_fp16(low) | static_cast<std::uint32_t>(to_fp16(high)) << 16;
  }
}

void load4(float (&out)[4], Shared<float> at);
inline void store2(float* at, float low, float high) { at[0] = low, at[1] = high; }
template <typename T>
void store2(T* at, float low, float high) {
  const std::uint32_t both = pack<T>(low, high);
  std::memcpy(at, &both, sizeof both);
}

// Of bytes: where 16 of them start.
void ldmatrix_at(std::uint32_t (&r)[4], int at, bool transposed, const Where& where);
template <typename T>
void ldmatrix(std::uint32_t (&r)[4], Shared<T> row, const Where& where = Where::current()) {
  ldmatrix_at(r, row.checked(16), false, where);
}
template <typename T>
void ldmatrix_transposed(std::uint32_t (&r)[4], Shared<T> row, const Where& where = Where::current()) {
  ldmatrix_at(r, row.checked(16), true, where);
}

void cp_async_at(int to, const void* from);
template <typename T>
void cp_async(Shared<T> to, const T* from, bool valid) {
  cp_async_at(to.checked(16), valid ? from : nullptr);
}
void cp_async_commit();
void cp_async_left(int groups);
template <int kLeft>
void cp_async_wait() {
  cp_async_left(kLeft);
}

void mma_bf16(float (&c)[4], const std::uint32_t* a, std::uint32_t b0, std::uint32_t b1, const Where& where);
void mma_fp16(float (&c)[4], const std::uint32_t* a, std::uint32_t b0, std::uint32_t b1, const Where& where);
template <typename T>
void mma_16816(float (&c)[4], const std::uint32_t* a, std::uint32_t b0, std::uint32_t b1,
               const Where& where = Where::current()) {
  if constexpr (std::is_same_v<T, Bf16>) {
    mma_bf16(c, a, b0, b1, where);
  } else {
    mma_fp16(c, a, b0, b1, where);
  }
}
void mma_1688_tf32(float (&c)[4], const std::uint32_t* a, std::uint32_t b0, std::uint32_t b1,
                   const Where& where = Where::current());

}  // namespace locus::gpu
