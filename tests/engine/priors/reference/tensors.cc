// Entry by entry.
#include "tests/engine/priors/reference/tensors.h"

namespace locus::engine::test {

Array array_of(const Tensor& t, bool variables) {
  const Tensor wide = t.detach().to(at::kDouble).contiguous();
  Array out(wide.sizes().vec());
  for (std::int64_t i = 0; i < wide.numel(); ++i) {
    const double value = wide.const_data_ptr<double>()[i];
    out.data()[static_cast<std::size_t>(i)] = variables ? Real::variable(value) : Real(value);
  }
  return out;
}

Tensor tensor_of(const Array& a, double (Real::*what)() const) {
  Tensor out = at::empty(a.shape(), at::kDouble);
  for (std::size_t i = 0; i < a.data().size(); ++i) out.mutable_data_ptr<double>()[i] = (a.data()[i].*what)();
  return out;
}

}  // namespace locus::engine::test
