// Binds the plugin's kernels to tensors, to autograd and to the current stream. Links no CUDA.
#include "engine/attention/flash_cuda.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include "engine/attention/flash_problem.h"
#include "engine/attention/parts.h"
#include "engine/base/precision.h"

namespace locus::engine {
namespace {

void* flash_stream(at::Device device) {
  if (!device.is_cuda()) return nullptr;
  const c10::impl::VirtualGuardImpl guard(device.type());
  return guard.getStreamNativeHandle(guard.getStream(device));
}

// What forward and backward share beside tensors.
struct CudaCall : torch::CustomClassHolder {
  struct Result {
    Tensor o, lse;
  };

  CudaCall(const AttentionKernels& k, FlashProblem p) : kernels(k), problem(std::move(p)), wanted(problem.wanted()) {}

  Result forward(at::TensorList inputs) const {
    const locus_attention& shape = problem.shape();
    // The heads of a token side by side, as the layer goes on with them.
    const Tensor o =
        at::empty({shape.batch, shape.tokens, shape.heads, shape.width}, inputs[0].options()).transpose(1, 2);
    const Tensor lse = at::empty({shape.batch, shape.heads, shape.tokens}, inputs[0].options().dtype(at::kFloat));
    locus_attention p = problem.forward(inputs, o, lse);
    p.stream = flash_stream(o.device());
    check(kernels.forward(&p));
    return {o, lse};
  }

  // Of each input, undefined where `wants` does not want it, but for q, k and v.
  std::vector<Tensor> backward(at::TensorList inputs, const Result& of, const Tensor& grad,
                               const std::vector<bool>& wants) const {
    const Tensor aligned = FlashProblem::aligned(grad);
    FlashProblem::Buffers buffers;
    locus_attention p = problem.backward(problem.forward(inputs, of.o, of.lse), aligned, inputs, wants, buffers);
    buffers.workspace = at::empty({kernels.workspace(&p)}, of.lse.options());
    p.workspace = buffers.workspace.mutable_data_ptr<float>();
    p.stream = flash_stream(of.o.device());
    check(kernels.backward(&p));
    return problem.gradients(buffers, inputs, wants);
  }

  void check(int code) const {
    if (code != 0) throw std::runtime_error(std::string("attention kernel: ") + kernels.error_text(code));
  }

  AttentionKernels kernels;
  FlashProblem problem;
  std::vector<bool> wanted;  // of each input, whether its gradient is
};

using Variables = torch::autograd::variable_list;

c10::intrusive_ptr<CudaCall> call_of(torch::autograd::AutogradContext* context) {
  return c10::static_intrusive_pointer_cast<CudaCall>(context->saved_data["call"].toCapsule());
}

class CudaFlashFunction : public torch::autograd::Function<CudaFlashFunction> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context, const c10::intrusive_ptr<CudaCall>& call,
                        at::TensorList inputs) {
    const CudaCall::Result result = call->forward(inputs);
    Variables kept(inputs.begin(), inputs.end());
    kept.push_back(result.o);
    kept.push_back(result.lse);
    context->save_for_backward(std::move(kept));
    context->saved_data["call"] = at::IValue::make_capsule(call);
    return result.o;
  }

  static Variables backward(torch::autograd::AutogradContext* context, const Variables& grads) {
    const auto call = call_of(context);
    const Variables kept = context->get_saved_variables();
    const at::TensorList inputs(kept.data(), kept.size() - 2);
    const CudaCall::Result result{kept[kept.size() - 2], kept[kept.size() - 1]};
    Variables out = call->backward(inputs, result, grads[0], call->wanted);
    out.insert(out.begin(), Tensor());  // of the call
    return out;
  }
};

// S [B, H, T, R], the probabilities summed by entry: S[i, r] = sum of P[i, j] over the j of entry r. The last input is a
// weight of P by entry, [B, H, T, R] ones, and v is one in its first number: then the first number of o is sum_r S[i, r],
// and S is its gradient to the weight. The other way, sum_r G[i, r] S[i, r] is that number with G as the weight.
class CudaSumsFunction : public torch::autograd::Function<CudaSumsFunction> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context, const c10::intrusive_ptr<CudaCall>& call,
                        at::TensorList inputs) {
    std::vector<bool> sums(inputs.size(), false);
    sums.back() = true;
    Variables kept(inputs.begin(), inputs.end() - 1);
    context->save_for_backward(std::move(kept));
    context->saved_data["call"] = at::IValue::make_capsule(call);
    return call->backward(inputs, call->forward(inputs), inputs[2], sums).back();
  }

  static Variables backward(torch::autograd::AutogradContext* context, const Variables& grads) {
    const auto call = call_of(context);
    Variables inputs = context->get_saved_variables();
    inputs.push_back(grads[0].to(at::kFloat).contiguous());
    Variables out = call->backward(inputs, call->forward(inputs), inputs[2], call->wanted);
    out[2] = out.back() = Tensor();
    out.insert(out.begin(), Tensor());  // of the call
    return out;
  }
};

bool takes(const AttentionKernels& kernels, const Scores& scores, bool sums) {
  const auto problem = FlashProblem::of(scores);
  if (!problem) return false;
  std::vector<bool> wanted = problem->wanted();
  if (sums) wanted.back() = true;
  const locus_attention marked = problem->with_gradients(wanted);
  return kernels.supports(&marked, sums || at::GradMode::is_enabled()) == nullptr;
}

// One in the first number of every token's.
Tensor units(const Tensor& v) {
  return at::one_hot(at::zeros({1, 1, 1}, v.options().dtype(at::kLong).requires_grad(false)), v.size(3))
      .to(v.scalar_type())
      .expand(v.sizes());
}

// The part whose gradient to its last weight are the probabilities by entry of the table.
Scores by_entry(const Scores& part, const Tensor& units, const ValueTable& table) {
  Scores out = with_values(part, units);
  const Tensor ones = at::ones({1, 1, 1, 1}, units.options().dtype(at::kFloat));
  const Bucketed weight{
      {{ones.expand({units.size(0), units.size(1), units.size(2), table.table.size(2)}), table.index}}};
  out.probability_terms.emplace_back(Weighted{BiasTerm(Depends::kParameters, weight)});
  return out;
}

template <class Function>
Tensor run(const AttentionKernels& kernels, const Scores& scores) {
  auto call = c10::make_intrusive<CudaCall>(kernels, *FlashProblem::of(scores));
  const std::vector<Tensor> inputs = call->problem.inputs();
  return Function::apply(call, at::TensorList(inputs));
}

// P V, for P that is weighted at most.
Tensor attended(const AttentionKernels& kernels, const Scores& scores) {
  const Tensor o = run<CudaFlashFunction>(kernels, scores);
  return o.size(3) == scores.v.size(3) ? o : o.narrow(3, 0, scores.v.size(3));
}

}  // namespace

bool flash_supports(const AttentionKernels& kernels, const Scores& scores) {
  if (scores.hooked()) return false;
  const Tensor one = scores.value_tables.empty() ? Tensor() : units(scores.v);
  for (const AttentionPart& part : attention_parts(scores)) {
    if (!takes(kernels, part.scores, false)) return false;
    for (const ValueTable& table : scores.value_tables) {
      if (!takes(kernels, by_entry(part.scores, one, table), true)) return false;
    }
  }
  return true;
}

Tensor flash_by(const AttentionKernels& kernels, const Scores& scores) {
  const std::vector<AttentionPart> parts = attention_parts(scores);
  if (parts.size() == 1 && scores.value_tables.empty()) return attended(kernels, parts[0].scores);
  const Autocast off(Precision::kFloat32, scores.q.device());
  const Tensor one = scores.value_tables.empty() ? Tensor() : units(scores.v);
  Tensor sum;
  for (const AttentionPart& part : parts) {
    Tensor o = attended(kernels, part.scores).to(at::kFloat);
    for (const ValueTable& table : scores.value_tables) {
      const Tensor sums = run<CudaSumsFunction>(kernels, by_entry(part.scores, one, table));
      o = o + at::matmul(sums, table.table.to(at::kFloat));
    }
    if (part.rows.defined()) o = o * part.rows.to(at::kFloat);
    sum = sum.defined() ? sum + o : o;
  }
  return sum.to(scores.v.scalar_type());
}

bool flash_cuda_supports(const Scores& scores) {
  const CudaKernels* kernels = scores.q.is_cuda() ? cuda_kernels() : nullptr;
  return kernels != nullptr && flash_supports(kernels->attention, scores);
}

Tensor flash_cuda(const Scores& scores) { return flash_by(cuda_kernels()->attention, scores); }

}  // namespace locus::engine
