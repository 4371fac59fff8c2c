// Reverse-mode differentiation over scalars.
#include "tests/engine/priors/reference/real.h"

#include <limits>
#include <numbers>

namespace locus::engine::test {

std::vector<Real::Node>& Real::tape() {
  thread_local std::vector<Node> nodes;
  return nodes;
}

std::vector<double>& Real::gradients() {
  thread_local std::vector<double> values;
  return values;
}

std::int32_t Real::push(std::int32_t a, double da, std::int32_t b, double db) {
  tape().push_back({a, b, da, db});
  return static_cast<std::int32_t>(tape().size() - 1);
}

void Real::backward() const {
  std::vector<double>& gradient = gradients();
  gradient.assign(tape().size(), 0.0);
  if (id_ < 0) return;
  gradient[static_cast<std::size_t>(id_)] = 1;
  for (std::int32_t i = id_; i >= 0; --i) {
    const Node& node = tape()[static_cast<std::size_t>(i)];
    const double g = gradient[static_cast<std::size_t>(i)];
    if (g == 0) continue;
    if (node.a >= 0) gradient[static_cast<std::size_t>(node.a)] += g * node.da;
    if (node.b >= 0) gradient[static_cast<std::size_t>(node.b)] += g * node.db;
  }
}

Real exp(const Real& a) {
  const double e = std::exp(a.value());
  return Real::unary(e, a, e);
}
Real log(const Real& a) { return Real::unary(std::log(a.value()), a, 1 / a.value()); }
Real sqrt(const Real& a) {
  const double root = std::sqrt(a.value());
  return Real::unary(root, a, root == 0 ? 0 : 0.5 / root);
}
Real sin(const Real& a) { return Real::unary(std::sin(a.value()), a, std::cos(a.value())); }
Real cos(const Real& a) { return Real::unary(std::cos(a.value()), a, -std::sin(a.value())); }
Real abs(const Real& a) { return Real::unary(std::abs(a.value()), a, a.value() > 0 ? 1 : a.value() < 0 ? -1 : 0); }
Real erf(const Real& a) {
  return Real::unary(std::erf(a.value()), a, 2 * std::numbers::inv_sqrtpi * std::exp(-a.value() * a.value()));
}
Real maximum(const Real& a, const Real& b) { return a.value() >= b.value() ? a : b; }
Real minimum(const Real& a, const Real& b) { return a.value() <= b.value() ? a : b; }
Real sigmoid(const Real& a) {
  const double s = 1 / (1 + std::exp(-a.value()));
  return Real::unary(s, a, s * (1 - s));
}
Real softplus(const Real& a) {
  const double value = std::max(a.value(), 0.0) + std::log1p(std::exp(-std::abs(a.value())));
  return Real::unary(value, a, 1 / (1 + std::exp(-a.value())));
}
Real log_sigmoid(const Real& a) { return -softplus(-a); }
Real gelu(const Real& a) { return 0.5 * a * (1.0 + erf(a / std::sqrt(2.0))); }

Array::Array(std::vector<std::int64_t> shape, const Real& fill) : shape_(std::move(shape)) {
  std::size_t count = 1;
  for (const std::int64_t length : shape_) count *= static_cast<std::size_t>(length);
  data_.assign(count, fill);
}

std::size_t Array::offset(std::initializer_list<std::int64_t> index) const {
  if (index.size() != shape_.size()) throw std::out_of_range("an index of the wrong rank");
  std::size_t at = 0, axis = 0;
  for (const std::int64_t i : index) {
    if (i < 0 || i >= shape_[axis]) throw std::out_of_range("an index outside the array");
    at = at * static_cast<std::size_t>(shape_[axis++]) + static_cast<std::size_t>(i);
  }
  return at;
}

Array linear(const Array& x, const Array& weight, const Array& bias) {
  const std::int64_t in = weight.size(1), out = weight.size(0);
  std::vector<std::int64_t> shape = x.shape();
  if (shape.back() != in) throw std::out_of_range("a linear map of another width");
  shape.back() = out;
  Array y(shape);
  const std::size_t rows = x.data().size() / static_cast<std::size_t>(in);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::int64_t o = 0; o < out; ++o) {
      Real sum = bias.empty() ? Real(0.0) : bias(o);
      for (std::int64_t i = 0; i < in; ++i)
        sum += x.data()[r * static_cast<std::size_t>(in) + static_cast<std::size_t>(i)] * weight(o, i);
      y.data()[r * static_cast<std::size_t>(out) + static_cast<std::size_t>(o)] = sum;
    }
  }
  return y;
}

Array softmax(const Array& logits) {
  Array p = logits;
  const auto width = static_cast<std::size_t>(logits.shape().back());
  for (std::size_t row = 0; row < p.data().size(); row += width) {
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < width; ++j) largest = std::max(largest, p.data()[row + j].value());
    Real sum = 0.0;
    for (std::size_t j = 0; j < width; ++j) {
      Real& entry = p.data()[row + j];
      entry = std::isinf(entry.value()) ? Real(0.0) : exp(entry - largest);
      sum += entry;
    }
    for (std::size_t j = 0; j < width; ++j) p.data()[row + j] = p.data()[row + j] / sum;
  }
  return p;
}

}  // namespace locus::engine::test
