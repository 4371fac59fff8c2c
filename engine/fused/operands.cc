// Products by ATen where they have the type of their result, else by the matrix library itself: ATen would round them.
#include "engine/fused/operands.h"

#include <ATen/Version.h>
#include <ATen/autocast_mode.h>

#include <unordered_map>

#include "engine/fused/switch.h"

// Of oneMKL, within torch's library. Row-major is 101; no transpose 111, transpose 112.
extern "C" void cblas_gemm_bf16bf16f32(int layout, int turn_a, int turn_b, int m, int n, int k, float alpha,
                                       const void* a, int lda, const void* b, int ldb, float beta, float* c, int ldc);

namespace locus::engine::fused {
namespace {

bool enabled = true;

bool bfloat16_wanted() {
  return at::autocast::is_autocast_enabled(at::kCPU) && at::autocast::get_autocast_dtype(at::kCPU) == at::kBFloat16;
}

struct Rounded {
  c10::weak_intrusive_ptr<c10::TensorImpl> weight;
  std::uint32_t version;
  const void* data;
  Tensor value;
};
thread_local std::unordered_map<const c10::TensorImpl*, Rounded> rounded_weights;

Tensor rounded(const Tensor& weight, at::ScalarType type) {
  const auto version = static_cast<std::uint32_t>(weight._version());
  const auto found = rounded_weights.find(weight.unsafeGetTensorImpl());
  if (found != rounded_weights.end()) {
    Rounded& kept = found->second;
    if (!kept.weight.expired() && kept.version == version && kept.data == weight.const_data_ptr() &&
        kept.value.scalar_type() == type)
      return kept.value;
  } else {
    std::erase_if(rounded_weights, [](const auto& entry) { return entry.second.weight.expired(); });
  }
  const Tensor value = weight.detach().to(type).contiguous();
  rounded_weights.insert_or_assign(weight.unsafeGetTensorImpl(),
                                   Rounded{c10::weak_intrusive_ptr<c10::TensorImpl>(weight.getIntrusivePtr()), version,
                                           weight.const_data_ptr(), value});
  return value;
}

// Without dot products of bfloat16 the matrix library takes many times as long as for float32.
bool has_dot_products() {
#if defined(__x86_64__)
  static const bool has =
      std::string(at::get_cpu_capability()).starts_with("AVX512") && __builtin_cpu_supports("avx512bf16") != 0;
  return has;
#else
  return false;
#endif
}

Tensor turned(const Tensor& a, bool turn) { return turn ? a.t() : a; }

// Products of two numbers of 8 bits are exact in float32, so widened operands give the same up to the order of sums.
Tensor product_of_bfloat16(const Tensor& a, const Tensor& b, Turn turn) {
  if (!has_dot_products()) {
    return at::mm(turned(a.to(at::kFloat), turn == Turn::kFirst), turned(b.to(at::kFloat), turn == Turn::kSecond));
  }
  constexpr int kRows = 101, kPlain = 111, kTurned = 112;
  const auto m = static_cast<int>(a.size(turn == Turn::kFirst ? 1 : 0)),
             k = static_cast<int>(a.size(turn == Turn::kFirst ? 0 : 1)),
             n = static_cast<int>(b.size(turn == Turn::kSecond ? 0 : 1));
  Tensor out = at::empty({m, n}, a.options().dtype(at::kFloat));
  cblas_gemm_bf16bf16f32(kRows, turn == Turn::kFirst ? kTurned : kPlain, turn == Turn::kSecond ? kTurned : kPlain, m, n,
                         k, 1, a.const_data_ptr(), static_cast<int>(a.size(1)), b.const_data_ptr(),
                         static_cast<int>(b.size(1)), 0, out.mutable_data_ptr<float>(), n);
  return out;
}

}  // namespace

bool fits(const Tensor& tokens) {
  if (!enabled || !tokens.is_cpu() || !tokens.is_contiguous() || tokens.numel() == 0) return false;
  const at::ScalarType type = tokens.scalar_type();
  if (!at::autocast::is_autocast_enabled(at::kCPU)) return type == at::kFloat || type == at::kDouble;
  return type == at::kFloat && bfloat16_wanted();
}

Tensor stream_of(const Tensor& tokens) {
  const bool narrow = enabled && tokens.is_cpu() && tokens.scalar_type() == at::kBFloat16 && bfloat16_wanted();
  return narrow ? tokens.to(at::kFloat) : tokens;
}

void set_enabled(bool on) { enabled = on; }

at::ScalarType operand_type(const Tensor& tokens) {
  const at::ScalarType own = tokens.scalar_type();
  return own == at::kFloat && bfloat16_wanted() ? at::kBFloat16 : own;
}

Tensor operand(const Tensor& weight, at::ScalarType type) {
  if (weight.scalar_type() == type && weight.is_contiguous()) return weight.detach();
  return rounded(weight, type);
}

Tensor product(const Tensor& a, const Tensor& b, Turn turn) {
  if (a.scalar_type() == at::kBFloat16) return product_of_bfloat16(a.contiguous(), b.contiguous(), turn);
  return at::mm(turned(a, turn == Turn::kFirst), turned(b, turn == Turn::kSecond));
}

}  // namespace locus::engine::fused
