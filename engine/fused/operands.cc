// Products by ATen where they have the type of their result, else by the matrix library itself: ATen would round them.
#include "engine/fused/operands.h"

#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <unordered_map>

#include "engine/base/processor.h"
#include "engine/cpu/matrix.h"
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

Tensor turned(const Tensor& a, bool turn) { return turn ? a.t() : a; }

const std::uint16_t* bits(const Tensor& t) { return static_cast<const std::uint16_t*>(t.const_data_ptr()); }

struct Sizes {
  std::int64_t rows, depth, columns;
};

// By our own kernels, in parts that each thread makes whole, so that no sum depends on how many there are.
Tensor by_dot_products(const cpu::Bfloat16Products& own, const Tensor& a, const Tensor& b, Turn turn, Sizes of) {
  const cpu::Bfloat16Matrix left{bits(a), a.size(1), turn == Turn::kFirst},
      right{bits(b), b.size(1), turn == Turn::kSecond};
  const at::TensorOptions numbers = a.options().dtype(at::kFloat);
  const Tensor packed = at::empty({own.packed_size(of.depth, of.columns)}, numbers);
  Tensor out = at::empty({of.rows, of.columns}, numbers);
  float *const to = packed.mutable_data_ptr<float>(), *const c = out.mutable_data_ptr<float>();
  constexpr std::int64_t kPanels = 4, kRows = 112;  // the least that is worth a thread
  at::parallel_for(0, own.panels(of.columns), kPanels, [&](std::int64_t first, std::int64_t last) {
    own.pack(right, of.depth, of.columns, first, last, to);
  });
  at::parallel_for(0, of.rows, kRows, [&](std::int64_t first, std::int64_t last) {
    const Tensor room = at::empty({own.room_size(of.depth)}, numbers);
    own.multiply(left, to, of.depth, of.columns, first, last, c, room.mutable_data_ptr<float>());
  });
  return out;
}

Tensor by_library(const Tensor& a, const Tensor& b, Turn turn, Sizes of) {
  constexpr int kByRows = 101, kPlain = 111, kTurned = 112;
  Tensor out = at::empty({of.rows, of.columns}, a.options().dtype(at::kFloat));
  cblas_gemm_bf16bf16f32(kByRows, turn == Turn::kFirst ? kTurned : kPlain, turn == Turn::kSecond ? kTurned : kPlain,
                         static_cast<int>(of.rows), static_cast<int>(of.columns), static_cast<int>(of.depth), 1,
                         a.const_data_ptr(), static_cast<int>(a.size(1)), b.const_data_ptr(),
                         static_cast<int>(b.size(1)), 0, out.mutable_data_ptr<float>(), static_cast<int>(of.columns));
  return out;
}

// Products of two numbers of 8 bits are exact in float32, so widened operands give the same up to the order of sums. The
// matrix library is not asked without tiles: on some processors it widens as well, on others it takes many times as long.
Tensor product_of_bfloat16(const Tensor& a, const Tensor& b, Turn turn) {
  const Sizes of{a.size(turn == Turn::kFirst ? 1 : 0), a.size(turn == Turn::kFirst ? 0 : 1),
                 b.size(turn == Turn::kSecond ? 0 : 1)};
  if (has_matrix_tiles()) return by_library(a, b, turn, of);
  if (const cpu::Bfloat16Products* own = cpu::bfloat16_products()) return by_dot_products(*own, a, b, turn, of);
  const c10::impl::ExcludeDispatchKeyGuard no_casts(c10::DispatchKey::AutocastCPU);  // they would round the result
  return at::mm(turned(a.to(at::kFloat), turn == Turn::kFirst), turned(b.to(at::kFloat), turn == Turn::kSecond));
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
