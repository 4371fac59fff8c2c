// Warps' operations by their definition: which lane holds which element of a fragment.
#include "tests/gpu_shim/device.h"

namespace locus::gpu {
namespace {

using gpu_shim::Block;
using gpu_shim::kWarp;
using gpu_shim::Operands;
using Lanes = std::array<Operands, kWarp>;

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

void exchange(Block& of, int warp_index, Lanes& lanes) {
  (void)of, (void)warp_index;
  std::array<std::uint32_t, kWarp> answers{};
  for (std::size_t l = 0; l < kWarp; ++l) answers[l] = lanes[lanes[l].in[1] % kWarp].in[0];
  for (std::size_t l = 0; l < kWarp; ++l) *lanes[l].out = answers[l];
}

void order(Block& of, int warp_index, Lanes&) { of.order_warp(warp_index); }

// The two halves of a register hold neighboring elements of a row, or of a column where transposed.
template <bool kTransposed>
void matrices(Block& of, int warp_index, Lanes& lanes) {
  std::uint16_t rows[4][8][8];
  for (std::size_t l = 0; l < kWarp; ++l) {
    const int at = static_cast<int>(lanes[l].in[0]);
    // All lanes use what one lane names.
    const std::string wrong =
        at % 16 != 0 ? "ldmatrix where no 16 bytes start" : of.shadow().read(-1 - warp_index, at, 16);
    if (!wrong.empty()) throw gpu_shim::KernelError(wrong);
    std::memcpy(rows[l / 8][l % 8], of.shadow().data() + at, 16);
  }
  for (std::size_t l = 0; l < kWarp; ++l) {
    const std::size_t g = l / 4, t = l % 4;
    for (std::size_t m = 0; m < 4; ++m) {
      const auto low = kTransposed ? rows[m][2 * t][g] : rows[m][g][2 * t];
      const auto high = kTransposed ? rows[m][2 * t + 1][g] : rows[m][g][2 * t + 1];
      lanes[l].out[m] = low | static_cast<std::uint32_t>(high) << 16;
    }
  }
}

// c [16, 8] += a [16, k] b [k, 8]; operands are in[0..3] = a, in[4..5] = b, in[6..9] = c.
template <std::size_t kDepth, typename AtA, typename AtB>
void multiply(Lanes& lanes, const AtA& at_a, const AtB& at_b) {
  float a[16][kDepth], b[kDepth][8];
  for (std::size_t l = 0; l < kWarp; ++l) {
    at_a(a, l, lanes[l].in);
    at_b(b, l, lanes[l].in);
  }
  for (std::size_t l = 0; l < kWarp; ++l) {
    for (std::size_t e = 0; e < 4; ++e) {
      const std::size_t row = l / 4 + e / 2 * 8, column = l % 4 * 2 + e % 2;
      double sum = 0;
      for (std::size_t k = 0; k < kDepth; ++k) sum += static_cast<double>(a[row][k]) * b[k][column];
      lanes[l].out[e] = bits_of(static_cast<float>(as_float(lanes[l].in[6 + e]) + sum));
    }
  }
}

template <typename T>
void multiply_halves(Block& of, int warp_index, Lanes& lanes) {
  (void)of, (void)warp_index;
  const auto half = [](std::uint32_t both, std::size_t which) {
    return to_float(T{static_cast<std::uint16_t>(both >> (16 * which))});
  };
  multiply<16>(
      lanes,
      [&](auto& a, std::size_t l, const auto& in) {
        for (std::size_t r = 0; r < 4; ++r) {
          for (std::size_t h = 0; h < 2; ++h) a[l / 4 + r % 2 * 8][l % 4 * 2 + h + r / 2 * 8] = half(in[r], h);
        }
      },
      [&](auto& b, std::size_t l, const auto& in) {
        for (std::size_t r = 0; r < 2; ++r) {
          for (std::size_t h = 0; h < 2; ++h) b[l % 4 * 2 + h + r * 8][l / 4] = half(in[4 + r], h);
        }
      });
}

void multiply_tf32(Block& of, int warp_index, Lanes& lanes) {
  (void)of, (void)warp_index;
  const auto read = [](std::uint32_t bits) { return as_float(bits & ~0x1FFFu); };  // the device looks at no more
  multiply<8>(
      lanes,
      [&](auto& a, std::size_t l, const auto& in) {
        for (std::size_t r = 0; r < 4; ++r) a[l / 4 + r % 2 * 8][l % 4 + r / 2 * 4] = read(in[r]);
      },
      [&](auto& b, std::size_t l, const auto& in) {
        for (std::size_t r = 0; r < 2; ++r) b[l % 4 + r * 4][l / 4] = read(in[4 + r]);
      });
}

void run_mma(gpu_shim::Collective operation, float (&c)[4], const std::uint32_t* a, std::uint32_t b0, std::uint32_t b1,
             const Where& where) {
  Operands operands;
  for (std::size_t i = 0; i < 4; ++i) operands.in[i] = a[i];
  operands.in[4] = b0;
  operands.in[5] = b1;
  for (std::size_t i = 0; i < 4; ++i) operands.in[6 + i] = bits_of(c[i]);
  std::uint32_t out[4];
  operands.out = out;
  block().collective(operation, operands, where);
  for (std::size_t i = 0; i < 4; ++i) c[i] = as_float(out[i]);
}

float exchanged(float value, int from, const Where& where) {
  Operands operands;
  operands.in[0] = bits_of(value);
  operands.in[1] = static_cast<std::uint32_t>(from);
  std::uint32_t out = 0;
  operands.out = &out;
  block().collective(exchange, operands, where);
  return as_float(out);
}

void check(const std::string& wrong) {
  if (!wrong.empty()) block().fail(wrong);
}

}  // namespace

void sync_block(const Where& where) { block().sync_block(where); }
void sync_warp(const Where& where) { block().collective(order, {}, where); }
float shuffle_xor(float value, int mask, const Where& where) { return exchanged(value, lane() ^ mask, where); }
float shuffle(float value, int from, const Where& where) { return exchanged(value, from, where); }

std::uint16_t to_bf16(float x) {
  const std::uint32_t bits = bits_of(x);
  if (std::isnan(x)) return 0x7FFF;
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

std::uint16_t to_fp16(float x) {
  const auto sign = static_cast<std::uint16_t>(bits_of(x) >> 16 & 0x8000);
  const float size = std::fabs(x);
  if (std::isnan(x)) return 0x7FFF;
  if (size >= 65520) return sign | 0x7C00;
  if (size == 0) return sign;
  int exponent = 0;
  std::frexp(size, &exponent);
  const int unit = std::max(exponent - 11, -24);  // of the last bit; below 2^-14 it stays where it is
  const auto units = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, -unit)));
  // Units with the leading bit carry into the exponent by themselves.
  const std::uint32_t bits = unit == -24 ? units : units + (static_cast<std::uint32_t>(unit + 24) << 10);
  return static_cast<std::uint16_t>(sign | bits);
}

float from_fp16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 0x3FF;
  const float sign = bits & 0x8000 ? -1.f : 1.f;
  if (exponent == 31) return fraction ? std::numeric_limits<float>::quiet_NaN() : sign * kInfinity;
  return exponent == 0 ? sign * std::ldexp(static_cast<float>(fraction), -24)
                       : sign * std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
}

std::uint32_t to_tf32(float x) { return std::isfinite(x) ? (bits_of(x) + 0x1000u) & ~0x1FFFu : bits_of(x); }

void load4(float (&out)[4], Shared<float> at) {
  const int byte = at.checked(16);
  if (byte % 16 != 0) block().fail("four floats are read where no 16 bytes start");
  check(block().shadow().read(thread(), byte, 16));
  std::memcpy(out, block().shadow().data() + byte, 16);
}

void ldmatrix_at(std::uint32_t (&r)[4], int at, bool transposed, const Where& where) {
  Operands operands;
  operands.in[0] = static_cast<std::uint32_t>(at);
  operands.out = r;
  block().collective(transposed ? matrices<true> : matrices<false>, operands, where);
}

void cp_async_at(int to, const void* from) { check(block().shadow().copy_later(thread(), to, from)); }
void cp_async_commit() { block().shadow().commit(thread()); }
void cp_async_left(int groups) { check(block().shadow().wait(thread(), groups)); }

void mma_bf16(float (&c)[4], const std::uint32_t* a, std::uint32_t b0, std::uint32_t b1, const Where& where) {
  run_mma(multiply_halves<Bf16>, c, a, b0, b1, where);
}
void mma_fp16(float (&c)[4], const std::uint32_t* a, std::uint32_t b0, std::uint32_t b1, const Where& where) {
  run_mma(multiply_halves<Fp16>, c, a, b0, b1, where);
}
void mma_1688_tf32(float (&c)[4], const std::uint32_t* a, std::uint32_t b0, std::uint32_t b1, const Where& where) {
  run_mma(multiply_tf32, c, a, b0, b1, where);
}

}  // namespace locus::gpu
