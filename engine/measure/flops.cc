// Operators are watched with record functions, which see every call through torch's dispatcher. Composite
// operators (linear, matmul, scaled_dot_product_attention) arrive as the products they are made of, so none
// is counted twice.
#include "engine/measure/flops.h"

#include <ATen/record_function.h>

#include "engine/attention/path.h"
#include "engine/fused/operands.h"

namespace locus::engine {
namespace {

using OperatorInputs = c10::ArrayRef<const c10::IValue>;
using Count = std::int64_t (*)(OperatorInputs inputs);

std::int64_t size(const c10::IValue& value, std::int64_t axis) { return value.toTensor().size(axis); }

// [.., m, k] x [.., k, n], the factors at `first` and behind it.
template <std::size_t first>
std::int64_t product(OperatorInputs in) {
  return 2 * in[first].toTensor().numel() * size(in[first + 1], -1);
}

// [m, k] x [k]
template <std::size_t first>
std::int64_t product_with_vector(OperatorInputs in) {
  return 2 * in[first].toTensor().numel();
}

// Every output pixel of a group is an inner product over a window of the group's input channels.
std::int64_t convolution(OperatorInputs in) {
  const Tensor &image = in[0].toTensor(), &weight = in[1].toTensor();
  const auto stride = in[3].toIntVector(), padding = in[4].toIntVector(), dilation = in[5].toIntVector();
  if (in[6].toBool()) return 2 * image.numel() * weight.numel() / image.size(1);  // transposed: per input pixel
  const auto at = [](const std::vector<std::int64_t>& values, std::int64_t axis) {
    return values.size() == 1 ? values[0] : values[static_cast<std::size_t>(axis)];
  };
  std::int64_t outputs = image.size(0) * weight.size(0);
  for (std::int64_t axis = 0; axis < image.dim() - 2; ++axis) {
    const std::int64_t window = at(dilation, axis) * (weight.size(2 + axis) - 1) + 1;
    outputs *= (image.size(2 + axis) + 2 * at(padding, axis) - window) / at(stride, axis) + 1;
  }
  return 2 * outputs * weight[0].numel();
}

// Fused attention: Q K^T and P V.
std::int64_t attention(OperatorInputs in) {
  const Tensor &q = in[0].toTensor(), &k = in[1].toTensor(), &v = in[2].toTensor();
  return 2 * q.numel() / q.size(-1) * k.size(-2) * (q.size(-1) + v.size(-1));
}

// Rows times a weight, however either of them lies.
std::int64_t product_of_rows(OperatorInputs in) {
  const Tensor &rows = in[0].toTensor(), &weight = in[1].toTensor();
  return 2 * rows.size(0) * weight.numel();
}

const std::map<std::string, Count, std::less<>>& counts() {
  static const std::map<std::string, Count, std::less<>> known = {
      {"aten::mm", product<0>},
      {"aten::bmm", product<0>},
      {"aten::addmm", product<1>},
      {"aten::baddbmm", product<1>},
      {"aten::mv", product_with_vector<0>},
      {"aten::dot", product_with_vector<0>},
      {"aten::addmv", product_with_vector<1>},
      {"aten::convolution", convolution},
      {"aten::_scaled_dot_product_flash_attention_for_cpu", attention},
      {"aten::_scaled_dot_product_flash_attention", attention},
      {"aten::_scaled_dot_product_efficient_attention", attention},
      {"aten::_scaled_dot_product_cudnn_attention", attention},
      {"aten::_scaled_dot_product_fused_attention_overrideable", attention},
      {kFlashOperator, attention},
      {fused::kProductOperator, product_of_rows}};
  return known;
}

thread_local FlopCounter* active = nullptr;

std::unique_ptr<at::ObserverContext> watch(const at::RecordFunction& called) {
  const auto known = counts().find(std::string_view(called.name()));
  if (known != counts().end() && active != nullptr) active->add(known->first, known->second(called.inputs()));
  return nullptr;
}

}  // namespace

FlopCounter::FlopCounter() {
  if (active != nullptr) throw std::logic_error("operations are being counted already");
  active = this;
  handle_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(watch).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
}

FlopCounter::~FlopCounter() {
  at::removeCallback(handle_);
  active = nullptr;
}

std::int64_t FlopCounter::total() const {
  std::int64_t sum = 0;
  for (const auto& [name, operations] : counted_) sum += operations;
  return sum;
}

std::vector<std::string> counted_operators() {
  std::vector<std::string> names;
  for (const auto& [name, count] : counts()) names.push_back(name);
  return names;
}

}  // namespace locus::engine
