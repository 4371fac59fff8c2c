// Products by our own kernels; those of float64 by the matrix library.
#include "engine/fused/operands.h"

#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <ATen/record_function.h>

#include <unordered_map>

#include "engine/cpu/matrix.h"
#include "engine/fused/switch.h"

// Of oneMKL, within torch's library.
extern "C" void dgemm_(const char* turn_a, const char* turn_b, const int* m, const int* n, const int* k,
                       const double* alpha, const double* a, const int* lda, const double* b, const int* ldb,
                       const double* beta, double* c, const int* ldc);

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

// What our own kernels know a type of operands by.
template <typename S>
using Number = std::conditional_t<std::is_same_v<S, c10::BFloat16>, std::uint16_t, S>;
template <typename S>
const Number<S>* numbers(const Tensor& t) {
  return static_cast<const Number<S>*>(t.const_data_ptr());
}

// A weight as our own kernels read it: [depth, columns], or turned.
template <typename S>
Tensor packed(const Tensor& weight, bool turned, std::int64_t depth, std::int64_t columns) {
  const cpu::Products<Number<S>>& own = cpu::products<Number<S>>();
  Tensor out = at::empty({own.packed_size(depth, columns)}, weight.options().dtype(at::kFloat));
  float* const to = out.mutable_data_ptr<float>();
  constexpr std::int64_t kPanels = 4;  // the least that is worth a thread
  at::parallel_for(0, own.panels(columns), kPanels, [&](std::int64_t first, std::int64_t last) {
    own.pack({numbers<S>(weight), weight.size(1), turned}, depth, columns, first, last, to);
  });
  return out;
}

// The rows in halves, which are added, and for more than two threads shares of the result, which change no bit. So each thread
// reads rows that it made itself, and still has near.
template <typename S>
Tensor sum_outer(const Tensor& a, const Tensor& b) {
  constexpr std::int64_t kLeast = 512, kHalves = 2;  // the least rows that are worth a sum of their own
  constexpr std::int64_t kShare = 28;                // rows of the result, at least
  constexpr std::int64_t kNumbersAtOnce = 32 * 1024;
  const cpu::Products<Number<S>>& own = cpu::products<Number<S>>();
  const std::int64_t count = a.size(0), rows = a.size(1), columns = b.size(1), size = rows * columns;
  const std::int64_t parts = std::clamp<std::int64_t>(count / kLeast, 1, kHalves);
  const std::int64_t threads = at::get_num_threads(),
                     shares = std::clamp<std::int64_t>(threads / parts, 1, std::max<std::int64_t>(rows / kShare, 1));
  const at::TensorOptions wide = a.options().dtype(at::kFloat);
  Tensor sums = at::empty({parts, rows, columns}, wide);
  float* const to = sums.mutable_data_ptr<float>();
  at::parallel_for(0, parts * shares, 1, [&](std::int64_t first, std::int64_t end) {
    Tensor room = at::empty({own.outer_room_size(columns)}, wide);
    for (std::int64_t n = first; n < end; ++n) {
      const std::int64_t part = n / shares, row = rows * (n % shares) / shares,
                         last_row = rows * (n % shares + 1) / shares;
      own.sum_outer(numbers<S>(a), rows, numbers<S>(b), columns, row, last_row, count * part / parts,
                    count * (part + 1) / parts, to + part * size + row * columns, room.mutable_data_ptr<float>());
    }
  });
  if (parts == 1) return sums.view({rows, columns});
  Tensor out = at::empty({rows, columns}, wide);
  float* const sum = out.mutable_data_ptr<float>();
  at::parallel_for(0, size, kNumbersAtOnce, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end; ++i) sum[i] = to[i] + to[size + i];
  });
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
bool is_enabled() { return enabled; }

at::ScalarType operand_type(const Tensor& tokens) {
  const at::ScalarType own = tokens.scalar_type();
  return own == at::kFloat && bfloat16_wanted() ? at::kBFloat16 : own;
}

Tensor operand(const Tensor& weight, at::ScalarType type) {
  if (weight.scalar_type() == type && weight.is_contiguous()) return weight.detach();
  return rounded(weight, type);
}

Tensor outer_sum(const Tensor& a, const Tensor& b) {
  switch (a.scalar_type()) {
    case at::kFloat:
      return sum_outer<float>(a.contiguous(), b.contiguous());
    case at::kBFloat16:
      return sum_outer<c10::BFloat16>(a.contiguous(), b.contiguous());
    default:
      return at::mm(a.t(), b);
  }
}

void tell_of_product(const Tensor& rows, const Tensor& weight) {
  const c10::IValue told[] = {rows, weight};
  RECORD_FUNCTION(kProductOperator, c10::ArrayRef<const c10::IValue>(told));
}

template <typename T, typename S>
Map<T, S>::Map(const Tensor& weight, Turn turn)
    : in_(weight.size(turn == Turn::kNone ? 0 : 1)),
      out_(weight.size(turn == Turn::kNone ? 1 : 0)),
      turned_(turn != Turn::kNone) {
  if constexpr (std::is_same_v<T, double>) {
    weight_ = weight;
  } else {
    packed_ = packed<S>(weight, turned_, in_, out_);
  }
}

template <typename T, typename S>
void Map<T, S>::multiply(const S* x, std::int64_t rows, T* y) const {
  if constexpr (std::is_same_v<T, double>) {
    // By columns, as the library counts, y is [out, rows]: W^T x^T.
    const int n = static_cast<int>(out_), m = static_cast<int>(rows), k = static_cast<int>(in_), row = turned_ ? k : n;
    const double one = 1, zero = 0;
    dgemm_(turned_ ? "T" : "N", "N", &n, &m, &k, &one, weight_.const_data_ptr<double>(), &row, x, &k, &zero, y, &n);
  } else {
    const cpu::Products<Number<S>>& own = cpu::products<Number<S>>();
    Tensor room = at::empty({own.room_size(in_)}, packed_.options());
    own.multiply(reinterpret_cast<const Number<S>*>(x), in_, rows, packed_.const_data_ptr<float>(), in_, out_, y,
                 room.mutable_data_ptr<float>());
  }
}

template class Map<float, float>;
template class Map<double, double>;
template class Map<float, c10::BFloat16>;

}  // namespace locus::engine::fused
