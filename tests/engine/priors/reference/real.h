// Numbers that remember how they were computed: scalar loops over them give values and, backwards, every
// derivative. No tensors, nothing of the engine.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace locus::engine::test {

// A float64 number on the thread's tape, or a constant.
class Real {
 public:
  Real() = default;
  Real(double value) : value_(value) {}  // NOLINT: constants mix freely with variables
  static Real variable(double value) { return Real(value, push(-1, 0, -1, 0)); }

  double value() const { return value_; }
  // d(last backward's result) / d(this); 0 for constants.
  double gradient() const { return id_ < 0 ? 0 : gradients()[static_cast<std::size_t>(id_)]; }

  // Derivatives of `this` by everything before it on the tape.
  void backward() const;
  static void clear_tape() { tape().clear(); }

  // f(a) with slope df/da; f(a, b) likewise.
  static Real unary(double value, const Real& a, double slope) {
    return a.id_ < 0 ? Real(value) : Real(value, push(a.id_, slope, -1, 0));
  }
  static Real binary(double value, const Real& a, double da, const Real& b, double db) {
    return a.id_ < 0 && b.id_ < 0 ? Real(value) : Real(value, push(a.id_, da, b.id_, db));
  }

 private:
  struct Node {
    std::int32_t a, b;
    double da, db;
  };
  Real(double value, std::int32_t id) : value_(value), id_(id) {}
  static std::vector<Node>& tape();
  static std::vector<double>& gradients();
  static std::int32_t push(std::int32_t a, double da, std::int32_t b, double db);

  double value_ = 0;
  std::int32_t id_ = -1;
};

inline Real operator+(const Real& a, const Real& b) { return Real::binary(a.value() + b.value(), a, 1, b, 1); }
inline Real operator-(const Real& a, const Real& b) { return Real::binary(a.value() - b.value(), a, 1, b, -1); }
inline Real operator*(const Real& a, const Real& b) {
  return Real::binary(a.value() * b.value(), a, b.value(), b, a.value());
}
inline Real operator/(const Real& a, const Real& b) {
  const double ratio = a.value() / b.value();
  return Real::binary(ratio, a, 1 / b.value(), b, -ratio / b.value());
}
inline Real operator-(const Real& a) { return Real::unary(-a.value(), a, -1); }
inline Real& operator+=(Real& a, const Real& b) { return a = a + b; }
inline Real& operator-=(Real& a, const Real& b) { return a = a - b; }
inline Real& operator*=(Real& a, const Real& b) { return a = a * b; }

Real exp(const Real& a);
Real log(const Real& a);
Real sqrt(const Real& a);  // slope 0 at 0
Real sin(const Real& a);
Real cos(const Real& a);
Real abs(const Real& a);  // slope 0 at 0
Real erf(const Real& a);
Real maximum(const Real& a, const Real& b);
Real minimum(const Real& a, const Real& b);
Real sigmoid(const Real& a);
Real softplus(const Real& a);     // ln(1 + e^a)
Real log_sigmoid(const Real& a);  // -softplus(-a)
Real gelu(const Real& a);         // erf form

// A block of numbers, last index fastest. Indices are checked.
class Array {
 public:
  Array() = default;
  explicit Array(std::vector<std::int64_t> shape, const Real& fill = 0.0);

  bool empty() const { return shape_.empty(); }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::int64_t size(std::size_t axis) const { return shape_.at(axis); }
  std::vector<Real>& data() { return data_; }
  const std::vector<Real>& data() const { return data_; }

  template <typename... Index>
  Real& operator()(Index... index) {
    return data_[offset({static_cast<std::int64_t>(index)...})];
  }
  template <typename... Index>
  const Real& operator()(Index... index) const {
    return data_[offset({static_cast<std::int64_t>(index)...})];
  }

 private:
  std::size_t offset(std::initializer_list<std::int64_t> index) const;
  std::vector<std::int64_t> shape_;
  std::vector<Real> data_;
};

// sum over k of row[k] * column[k], plus `start`: x [..., in] with W [out, in] as in y = x W^T + b. `bias`
// may be empty.
Array linear(const Array& x, const Array& weight, const Array& bias);
// Over the last axis, in place of logits.
Array softmax(const Array& logits);

}  // namespace locus::engine::test
