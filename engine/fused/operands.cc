// Products by the matrix library, of bfloat16 by itself, since ATen would round them, or by our own kernels.
#include "engine/fused/operands.h"

#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <ATen/record_function.h>

#include <unordered_map>

#include "engine/base/processor.h"
#include "engine/cpu/matrix.h"
#include "engine/fused/switch.h"

// Of oneMKL, within torch's library. Row-major is 101; no transpose 111, transpose 112.
extern "C" void cblas_gemm_bf16bf16f32(int layout, int turn_a, int turn_b, int m, int n, int k, float alpha,
                                       const void* a, int lda, const void* b, int ldb, float beta, float* c, int ldc);
extern "C" void sgemm_(const char* turn_a, const char* turn_b, const int* m, const int* n, const int* k,
                       const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
                       const float* beta, float* c, const int* ldc);
extern "C" void dgemm_(const char* turn_a, const char* turn_b, const int* m, const int* n, const int* k,
                       const double* alpha, const double* a, const int* lda, const double* b, const int* ldb,
                       const double* beta, double* c, const int* ldc);

namespace locus::engine::fused {
namespace {

template <typename... Arguments>
void gemm(Arguments... arguments) {
  if constexpr ((std::is_same_v<Arguments, const double*> || ...)) {
    dgemm_(arguments...);
  } else {
    sgemm_(arguments...);
  }
}

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

// B of bfloat16 as our own kernels read it.
Tensor packed(const Tensor& b, bool turn, const Sizes& of) {
  const cpu::Bfloat16Products& own = cpu::bfloat16_products();
  Tensor out = at::empty({own.packed_size(of.depth, of.columns)}, b.options().dtype(at::kFloat));
  const cpu::Bfloat16Matrix from{bits(b), b.size(1), turn};
  float* const to = out.mutable_data_ptr<float>();
  constexpr std::int64_t kPanels = 4;  // the least that is worth a thread
  at::parallel_for(0, own.panels(of.columns), kPanels, [&](std::int64_t first, std::int64_t last) {
    own.pack(from, of.depth, of.columns, first, last, to);
  });
  return out;
}

void multiply_own(const cpu::Bfloat16Matrix& a, const Tensor& right, const Sizes& of, std::int64_t first,
                  std::int64_t last, float* c) {
  const cpu::Bfloat16Products& own = cpu::bfloat16_products();
  const Tensor room = at::empty({own.room_size()}, right.options());
  own.multiply(a, right.const_data_ptr<float>(), of.depth, of.columns, first, last, c, room.mutable_data_ptr<float>());
}

// In parts that each thread makes whole, so that no sum depends on how many there are.
Tensor by_own(const Tensor& a, const Tensor& b, Turn turn, const Sizes& of) {
  const Tensor right = packed(b, turn == Turn::kSecond, of);
  Tensor out = at::empty({of.rows, of.columns}, right.options());
  float* const c = out.mutable_data_ptr<float>();
  constexpr std::int64_t kRows = 28;  // the least that is worth a thread
  at::parallel_for(0, of.rows, kRows, [&](std::int64_t first, std::int64_t last) {
    multiply_own({bits(a), a.size(1), turn == Turn::kFirst}, right, of, first, last, c + first * of.columns);
  });
  return out;
}

// C of some rows by the matrix library.
void by_library(const void* a, bool turn_a, std::int64_t a_row, const Tensor& b, bool turn_b, const Sizes& of,
                float* c) {
  constexpr int kByRows = 101, kPlain = 111, kTurned = 112;
  cblas_gemm_bf16bf16f32(kByRows, turn_a ? kTurned : kPlain, turn_b ? kTurned : kPlain, static_cast<int>(of.rows),
                         static_cast<int>(of.columns), static_cast<int>(of.depth), 1, a, static_cast<int>(a_row),
                         b.const_data_ptr(), static_cast<int>(b.size(1)), 0, c, static_cast<int>(of.columns));
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
bool is_enabled() { return enabled; }

at::ScalarType operand_type(const Tensor& tokens) {
  const at::ScalarType own = tokens.scalar_type();
  return own == at::kFloat && bfloat16_wanted() ? at::kBFloat16 : own;
}

Tensor operand(const Tensor& weight, at::ScalarType type) {
  if (weight.scalar_type() == type && weight.is_contiguous()) return weight.detach();
  return rounded(weight, type);
}

Tensor product(const Tensor& given_a, const Tensor& given_b, Turn turn) {
  const bool turn_a = turn == Turn::kFirst, turn_b = turn == Turn::kSecond;
  if (given_a.scalar_type() != at::kBFloat16) return at::mm(turned(given_a, turn_a), turned(given_b, turn_b));
  const Tensor a = given_a.contiguous(), b = given_b.contiguous();
  const Sizes of{a.size(turn_a ? 1 : 0), a.size(turn_a ? 0 : 1), b.size(turn_b ? 0 : 1)};
  if (!has_matrix_tiles()) return by_own(a, b, turn, of);
  Tensor out = at::empty({of.rows, of.columns}, a.options().dtype(at::kFloat));
  by_library(a.const_data_ptr(), turn_a, a.size(1), b, turn_b, of, out.mutable_data_ptr<float>());
  return out;
}

void tell_of_product(const Tensor& rows, const Tensor& weight) {
  const c10::IValue told[] = {rows, weight};
  RECORD_FUNCTION(kProductOperator, c10::ArrayRef<const c10::IValue>(told));
}

template <typename T, typename S>
Map<T, S>::Map(const Tensor& weight, Turn turn)
    : in_(weight.size(turn == Turn::kNone ? 0 : 1)),
      out_(weight.size(turn == Turn::kNone ? 1 : 0)),
      turned_(turn != Turn::kNone),
      weight_(weight) {
  if (std::is_same_v<S, c10::BFloat16> && !has_matrix_tiles()) packed_ = packed(weight, turned_, {0, in_, out_});
}

template <typename T, typename S>
void Map<T, S>::multiply(const S* x, std::int64_t rows, T* y) const {
  const Sizes of{rows, in_, out_};
  if constexpr (std::is_same_v<S, T>) {
    // By columns, as the library counts, y is [out, rows]: W^T x^T.
    const int n = static_cast<int>(out_), m = static_cast<int>(rows), k = static_cast<int>(in_), row = turned_ ? k : n;
    const T one = 1, zero = 0;
    gemm(turned_ ? "T" : "N", "N", &n, &m, &k, &one, weight_.const_data_ptr<T>(), &row, x, &k, &zero, y, &n);
  } else if (packed_.defined()) {
    multiply_own({reinterpret_cast<const std::uint16_t*>(x), in_, false}, packed_, of, 0, rows, y);
  } else {
    by_library(x, false, in_, weight_, turned_, of, y);
  }
}

template class Map<float, float>;
template class Map<double, double>;
template class Map<float, c10::BFloat16>;

}  // namespace locus::engine::fused
