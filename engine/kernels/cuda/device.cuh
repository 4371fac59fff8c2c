// What the kernels ask of a device, in PTX. Kernels name nothing else of CUDA, so that tests give the same names
// another meaning on the CPU (tests/gpu_shim/device.h); no other file has inline assembly, launches or shared memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <limits>

#define LOCUS_DEVICE __device__ __forceinline__
#define LOCUS_UNROLL _Pragma("unroll")
#define LOCUS_NO_UNROLL _Pragma("unroll 1")

namespace locus::gpu {

struct Bf16 {
  std::uint16_t bits;
};
struct Fp16 {
  std::uint16_t bits;
};

constexpr float kInfinity = std::numeric_limits<float>::infinity();

LOCUS_DEVICE int thread() { return static_cast<int>(threadIdx.x); }
LOCUS_DEVICE int lane() { return static_cast<int>(threadIdx.x % 32); }
LOCUS_DEVICE int warp() { return static_cast<int>(threadIdx.x / 32); }
LOCUS_DEVICE int block_x() { return static_cast<int>(blockIdx.x); }
LOCUS_DEVICE int block_y() { return static_cast<int>(blockIdx.y); }
LOCUS_DEVICE int block_z() { return static_cast<int>(blockIdx.z); }
LOCUS_DEVICE int blocks_x() { return static_cast<int>(gridDim.x); }
LOCUS_DEVICE int blocks_z() { return static_cast<int>(gridDim.z); }

LOCUS_DEVICE void sync_block() { __syncthreads(); }
LOCUS_DEVICE void sync_warp() { __syncwarp(); }
LOCUS_DEVICE float shuffle_xor(float value, int mask) { return __shfl_xor_sync(0xffffffffu, value, mask); }
LOCUS_DEVICE float shuffle(float value, int from) { return __shfl_sync(0xffffffffu, value, from); }

// Hides from the compiler where a number comes from, so that what is made of it is made where it is used.
LOCUS_DEVICE void forget(int& x) { asm volatile("" : "+r"(x)); }

LOCUS_DEVICE float exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
LOCUS_DEVICE float log2(float x) { return __log2f(x); }
LOCUS_DEVICE float square_root(float x) { return sqrtf(x); }
LOCUS_DEVICE float magnitude(float x) { return fabsf(x); }
LOCUS_DEVICE float larger(float x, float y) { return fmaxf(x, y); }

// Memory that all threads of a block share; a pointer to it.
template <typename T>
using Shared = T*;

// `count` numbers from byte `at` of the block's shared memory on.
template <typename T>
LOCUS_DEVICE Shared<T> shared(int at, [[maybe_unused]] int count) {
  extern __shared__ __align__(16) unsigned char memory[];
  return reinterpret_cast<T*>(memory + at);
}

LOCUS_DEVICE std::uint32_t shared_address(const void* at) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
}

// Reads of what no kernel writes while this one runs.
template <typename T>
LOCUS_DEVICE T load(const T* at) {
  return __ldg(at);
}
LOCUS_DEVICE float to_float(float x) { return x; }
LOCUS_DEVICE float to_float(Bf16 x) { return __uint_as_float(static_cast<std::uint32_t>(x.bits) << 16); }
LOCUS_DEVICE float to_float(Fp16 x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}

// Two numbers side by side, the first in the low half; to nearest, ties to even.
template <typename T>
LOCUS_DEVICE std::uint32_t pack(float low, float high);
template <>
LOCUS_DEVICE std::uint32_t pack<Bf16>(float low, float high) {
  std::uint32_t both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}
template <>
LOCUS_DEVICE std::uint32_t pack<Fp16>(float low, float high) {
  std::uint32_t both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}

// To the 10 bits of tf32, nearest, ties away; as bits.
LOCUS_DEVICE std::uint32_t to_tf32(float x) {
  std::uint32_t y;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
  return y;
}
LOCUS_DEVICE float as_float(std::uint32_t bits) { return __uint_as_float(bits); }

// Four neighboring floats, 16 bytes aligned.
LOCUS_DEVICE void load4(float (&out)[4], Shared<float> at) {
  const float4 v = *reinterpret_cast<const float4*>(at);
  out[0] = v.x, out[1] = v.y, out[2] = v.z, out[3] = v.w;
}
LOCUS_DEVICE void store2(float* at, float low, float high) { *reinterpret_cast<float2*>(at) = make_float2(low, high); }
template <typename T>
LOCUS_DEVICE void store2(T* at, float low, float high) {
  *reinterpret_cast<std::uint32_t*>(at) = pack<T>(low, high);
}

// Four 8 x 8 matrices of 16-bit numbers; lane 8 m + r names row r of matrix m.
template <typename T>
LOCUS_DEVICE void ldmatrix(std::uint32_t (&r)[4], Shared<T> row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}
template <typename T>
LOCUS_DEVICE void ldmatrix_transposed(std::uint32_t (&r)[4], Shared<T> row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

// 16 bytes from global to shared memory, there after cp_async_wait and a barrier; zeros where `valid` is not.
template <typename T>
LOCUS_DEVICE void cp_async(Shared<T> to, const T* from, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(valid ? 16 : 0)
               : "memory");
}
LOCUS_DEVICE void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// All groups but the `kLeft` youngest have arrived, for the calling thread.
template <int kLeft>
LOCUS_DEVICE void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

// c [16, 8] += a [16, 16] b [16, 8], in the fragments of the instruction.
template <typename T>
LOCUS_DEVICE void mma_16816(float (&c)[4], const std::uint32_t* a, std::uint32_t b0, std::uint32_t b1);
template <>
LOCUS_DEVICE void mma_16816<Bf16>(float (&c)[4], const std::uint32_t* a, std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <>
LOCUS_DEVICE void mma_16816<Fp16>(float (&c)[4], const std::uint32_t* a, std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// c [16, 8] += a [16, 8] b [8, 8]
LOCUS_DEVICE void mma_1688_tf32(float (&c)[4], const std::uint32_t* a, std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace locus::gpu
