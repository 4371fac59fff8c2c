// By a dispatch key below autograd that nothing else in torch uses.
#include "tests/engine/train/tape.h"

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <set>

namespace locus::engine::test {
namespace {

constexpr c10::DispatchKey kTape = c10::DispatchKey::Fake;
thread_local Tape* recording = nullptr;

// What makes the host wait for a GPU, which then records nothing.
bool waits(const std::string& name) {
  static const std::set<std::string> names = {"aten::_local_scalar_dense",
                                              "aten::item",
                                              "aten::nonzero",
                                              "aten::masked_select",
                                              "aten::equal",
                                              "aten::is_nonzero",
                                              "aten::unique_consecutive",
                                              "aten::_unique2",
                                              "aten::bincount",
                                              "aten::_assert_async",
                                              "aten::repeat_interleave"};
  return names.contains(name);
}

// Memory that nothing was written to yet.
bool makes_room(const std::string& name) {
  return name.starts_with("aten::empty") || name.starts_with("aten::new_empty");
}

// Tensors of the same memory that stay what they are where others are reshaped in place.
c10::IValue kept(const c10::IValue& value) {
  if (value.isTensor()) return value.toTensor().defined() ? at::alias(value.toTensor()) : value;
  if (!value.isTensorList()) return value;
  std::vector<Tensor> out;
  for (const Tensor& tensor : value.toTensorVector()) out.push_back(at::alias(tensor));
  return out;
}

torch::jit::Stack kept(torch::jit::Stack::const_iterator first, torch::jit::Stack::const_iterator last) {
  const at::AutoDispatchBelowADInplaceOrView below;
  torch::jit::Stack out;
  for (; first != last; ++first) out.push_back(kept(*first));
  return out;
}

void copy_result(const c10::IValue& fresh, const c10::IValue& kept) {
  if (kept.isTensor() && kept.toTensor().defined()) kept.toTensor().copy_(fresh.toTensor());
  if (!kept.isTensorList()) return;
  const auto into = kept.toTensorVector(), from = fresh.toTensorVector();
  for (std::size_t i = 0; i < into.size(); ++i) into[i].copy_(from[i]);
}

}  // namespace

void Tape::note(const c10::OperatorHandle& operation, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const std::string& name = operation.operator_name().name;
  if (recording != nullptr && waits(name)) throw std::runtime_error(name + " waits for the device, which records");
  const bool notes = recording != nullptr && !makes_room(name) && !operation.hasTag(at::Tag::inplace_view);
  const auto count = static_cast<std::ptrdiff_t>(operation.schema().arguments().size());
  const c10::impl::ExcludeDispatchKeyGuard below(kTape);
  torch::jit::Stack arguments = notes ? kept(stack->end() - count, stack->end()) : torch::jit::Stack();
  operation.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kTape), stack);
  if (!notes) return;
  const auto returns = static_cast<std::ptrdiff_t>(operation.schema().returns().size());
  recording->entries_.push_back({operation, std::move(arguments), kept(stack->end() - returns, stack->end())});
}

void Tape::record(const std::function<void()>& work) {
  std::vector<Tensor> before;
  for (const Tensor& tensor : state_) before.push_back(tensor.detach().clone());
  {
    const c10::impl::IncludeDispatchKeyGuard include(kTape);
    recording = this;
    try {
      work();
    } catch (...) {
      recording = nullptr;
      throw;
    }
    recording = nullptr;
  }
  const at::NoGradGuard no_gradient;
  for (std::size_t i = 0; i < state_.size(); ++i) state_[i].copy_(before[i]);
}

void Tape::replay() {
  const at::NoGradGuard no_gradient;
  for (const Entry& entry : entries_) {
    torch::jit::Stack stack = entry.arguments;
    entry.operation.callBoxed(stack);
    const auto& returns = entry.operation.schema().returns();
    for (std::size_t i = 0; i < returns.size(); ++i) {
      // Views and what was written in place are where they were.
      if (returns[i].alias_info() == nullptr) copy_result(stack[i], entry.results[i]);
    }
  }
}

}  // namespace locus::engine::test

TORCH_LIBRARY_IMPL(_, Fake, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&locus::engine::test::Tape::note>());
}
