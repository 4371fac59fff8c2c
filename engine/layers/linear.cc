// The plain linear layer.
#include "engine/layers/linear.h"

#include <typeinfo>

namespace locus::engine {

Linear::Linear(std::int64_t in, std::int64_t out, bool with_bias) {
  weight = register_parameter("weight", at::empty({out, in}));
  if (with_bias) bias = register_parameter("bias", at::empty({out}));
}

Tensor Linear::forward(const Tensor& x) { return at::linear(x, weight, bias); }

bool Linear::plain() const { return typeid(*this) == typeid(Linear); }

LinearFactory plain_linear() {
  return [](std::string_view, std::int64_t in, std::int64_t out, bool with_bias) {
    return std::make_shared<Linear>(in, out, with_bias);
  };
}

}  // namespace locus::engine
