// Curve decay on CUDA: binds the plugin's kernels to tensors and the current stream. Links no CUDA.
#include <c10/core/impl/VirtualGuardImpl.h>

#include "engine/attention/curve_decay.h"
#include "engine/kernels/plugin.h"

namespace locus::engine {

const CurveDecayKernel& cuda_curve_decay_kernel();

namespace {

int dtype_code(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return LOCUS_FLOAT32;
    case at::kBFloat16:
      return LOCUS_BFLOAT16;
    case at::kHalf:
      return LOCUS_FLOAT16;
    default:
      return -1;
  }
}

void check(int code) {
  if (code != 0)
    throw std::runtime_error(std::string("curve decay kernel: ") + engine::cuda_kernels()->error_text(code));
}

locus_curve_decay problem(const Tensor& content, const CurveRanks& ranks, const Tensor& rate, const Tensor& alpha) {
  const c10::impl::VirtualGuardImpl guard(content.device().type());
  locus_curve_decay p{};
  p.dtype = dtype_code(content.scalar_type());
  p.curves = static_cast<std::int32_t>(ranks.rank().size(0));
  p.batch = content.size(0);
  p.heads = content.size(1);
  p.tokens = content.size(2);
  p.prefix = ranks.prefix();
  p.ranks = ranks.rank().const_data_ptr<std::int32_t>();
  p.rate = rate.const_data_ptr<float>();
  p.alpha = alpha.const_data_ptr<float>();
  p.stream = guard.getStreamNativeHandle(guard.getStream(content.device()));
  return p;
}

bool supports(const Tensor& content, std::int64_t curves) {
  return dtype_code(content.scalar_type()) >= 0 && curves <= LOCUS_CURVES_MOST && engine::cuda_kernels() != nullptr;
}

Tensor forward(const Tensor& content, const CurveRanks& ranks, const Tensor& rate, const Tensor& alpha) {
  const Tensor r = rate.to(at::kFloat), a = alpha.to(at::kFloat);
  Tensor out = at::empty_like(content);
  const auto p = problem(content, ranks, r, a);
  check(engine::cuda_kernels()->curve_decay_forward(&p, content.const_data_ptr(), out.mutable_data_ptr()));
  return out;
}

CurveDecayKernel::Gradients backward(const Tensor& grad, const Tensor& content, const CurveRanks& ranks,
                                     const Tensor& rate, const Tensor& alpha) {
  const Tensor r = rate.to(at::kFloat), a = alpha.to(at::kFloat);
  const auto p = problem(content, ranks, r, a);
  const auto* kernels = engine::cuda_kernels();
  const Tensor workspace = at::empty({kernels->curve_decay_workspace(&p)}, content.options().dtype(at::kByte));
  CurveDecayKernel::Gradients out{at::empty_like(content), at::empty_like(r), at::empty_like(a)};
  check(kernels->curve_decay_backward(&p, content.const_data_ptr(), grad.const_data_ptr(),
                                      out.content.mutable_data_ptr(), out.alpha.mutable_data_ptr<float>(),
                                      out.rate.mutable_data_ptr<float>(), workspace.mutable_data_ptr()));
  out.rate = out.rate.to(rate.scalar_type());
  out.alpha = out.alpha.to(alpha.scalar_type());
  return out;
}

constexpr CurveDecayKernel kCuda{supports, forward, backward};

}  // namespace

const CurveDecayKernel& cuda_curve_decay_kernel() { return kCuda; }

}  // namespace locus::engine
