// Binds the plugin's kernels to tensors, to autograd and to the current stream. Links no CUDA.
#include "engine/attention/flash_cuda.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include "engine/attention/flash_problem.h"

namespace locus::engine {
namespace {

void* flash_stream(at::Device device) {
  if (!device.is_cuda()) return nullptr;
  const c10::impl::VirtualGuardImpl guard(device.type());
  return guard.getStreamNativeHandle(guard.getStream(device));
}

// What forward and backward share beside tensors.
struct CudaCall : torch::CustomClassHolder {
  CudaCall(const AttentionKernels& k, FlashProblem p) : kernels(k), problem(std::move(p)), wanted(problem.wanted()) {}

  void check(int code) const {
    if (code != 0) throw std::runtime_error(std::string("attention kernel: ") + kernels.error_text(code));
  }

  AttentionKernels kernels;
  FlashProblem problem;
  std::vector<bool> wanted;  // of each input, whether its gradient is
};

class CudaFlashFunction : public torch::autograd::Function<CudaFlashFunction> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context, const c10::intrusive_ptr<CudaCall>& call,
                        at::TensorList inputs) {
    const locus_attention& shape = call->problem.shape();
    // The heads of a token side by side, as the layer goes on with them.
    const Tensor o =
        at::empty({shape.batch, shape.tokens, shape.heads, shape.width}, inputs[0].options()).transpose(1, 2);
    const Tensor lse = at::empty({shape.batch, shape.heads, shape.tokens}, inputs[0].options().dtype(at::kFloat));
    locus_attention p = call->problem.forward(inputs, o, lse);
    p.stream = flash_stream(o.device());
    call->check(call->kernels.forward(&p));
    torch::autograd::variable_list kept(inputs.begin(), inputs.end());
    kept.push_back(o);
    kept.push_back(lse);
    context->save_for_backward(std::move(kept));
    context->saved_data["call"] = at::IValue::make_capsule(call);
    return o;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    const auto call = c10::static_intrusive_pointer_cast<CudaCall>(context->saved_data["call"].toCapsule());
    const torch::autograd::variable_list kept = context->get_saved_variables();
    const at::TensorList inputs(kept.data(), kept.size() - 2);
    const Tensor &o = kept[kept.size() - 2], &lse = kept[kept.size() - 1];
    const Tensor grad = FlashProblem::aligned(grads[0]);
    FlashProblem::Buffers buffers;
    locus_attention p =
        call->problem.backward(call->problem.forward(inputs, o, lse), grad, inputs, call->wanted, buffers);
    buffers.workspace = at::empty({call->kernels.workspace(&p)}, lse.options());
    p.workspace = buffers.workspace.mutable_data_ptr<float>();
    p.stream = flash_stream(o.device());
    call->check(call->kernels.backward(&p));
    torch::autograd::variable_list out = {Tensor()};  // of the call
    for (Tensor& gradient : call->problem.gradients(buffers, inputs, call->wanted)) out.push_back(std::move(gradient));
    return out;
  }
};

}  // namespace

bool flash_supports(const AttentionKernels& kernels, const Scores& scores) {
  const auto problem = FlashProblem::of(scores);
  if (!problem) return false;
  const locus_attention marked = problem->with_gradients(problem->wanted());
  return kernels.supports(&marked, at::GradMode::is_enabled()) == nullptr;
}

Tensor flash_by(const AttentionKernels& kernels, const Scores& scores) {
  auto call = c10::make_intrusive<CudaCall>(kernels, *FlashProblem::of(scores));
  const std::vector<Tensor> inputs = call->problem.inputs();
  const Tensor o = CudaFlashFunction::apply(call, at::TensorList(inputs));
  return o.size(3) == scores.v.size(3) ? o : o.narrow(3, 0, scores.v.size(3));
}

bool flash_cuda_supports(const Scores& scores) {
  const CudaKernels* kernels = scores.q.is_cuda() ? cuda_kernels() : nullptr;
  return kernels != nullptr && flash_supports(kernels->attention, scores);
}

Tensor flash_cuda(const Scores& scores) { return flash_by(cuda_kernels()->attention, scores); }

}  // namespace locus::engine
