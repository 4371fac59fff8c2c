// Attention with every form in every role, as problems of a kernel: values and gradients against the explicit formula
// in float64.
#pragma once

#include <deque>
#include <functional>
#include <string>

#include "engine/attention/path.h"

namespace locus::engine::test {

// What a case builds its terms from. Random numbers are the same in every type, rounded to float32 (q, k, v to the
// type of the case).
class CaseBuilder {
 public:
  CaseBuilder(at::Device device, at::ScalarType type, at::ScalarType rounded);

  Tensor leaf(const std::string& name, at::IntArrayRef sizes, double deviation = 1);  // wants a gradient
  Tensor positive_leaf(const std::string& name, at::IntArrayRef sizes, double low, double high);
  Tensor fixed(const Tensor& numbers) const;  // in the type of terms
  at::Device device() const { return device_; }
  bool is_reference() const { return type_ == at::kDouble; }

  void scale(Form form) { scales_.emplace_back(Depends::kContent, std::move(form)); }
  void bias(Form form) { biases_.emplace_back(Depends::kContent, std::move(form)); }
  void sum_scale(Form form) { sum_scales_.emplace_back(Depends::kContent, std::move(form)); }
  // Done to P, in the order of the calls.
  void weigh(Form form) { terms_.emplace_back(Weighted{BiasTerm(Depends::kContent, std::move(form))}); }
  void shift(Form form) { terms_.emplace_back(Shifted{BiasTerm(Depends::kContent, std::move(form))}); }
  void blend(Form form, Tensor share, std::int64_t prefix) {
    terms_.emplace_back(Blended{BiasTerm(Depends::kParameters, std::move(form)), std::move(share), prefix});
  }
  void values(Tensor table, PairIndex index) { tables_.push_back({std::move(table), std::move(index)}); }
  void hide(Tensor region, double hidden) { region_ = std::move(region), hidden_ = hidden; }

 private:
  friend struct CaseRun;
  Tensor made(const std::string& name, Tensor numbers, at::ScalarType type, at::ScalarType rounded);
  at::Device device_;
  at::ScalarType type_, rounded_;
  std::vector<std::string> names_;
  std::vector<Tensor> leaves_;
  std::deque<BiasTerm> scales_, biases_, sum_scales_;
  std::vector<ProbabilityTerm> terms_;
  std::vector<ValueTable> tables_;
  Tensor region_;
  double hidden_ = kHidden;
};

struct AttentionCase {
  std::string name;
  std::int64_t batch = 2, heads = 2, tokens = 66, width = 16;
  std::function<void(CaseBuilder&, const AttentionCase&)> terms = {};
};

// Every form as a bias, shared and by sample, in other roles where that means something, several at once, regions, all
// that can be done to P.
const std::vector<AttentionCase>& attention_cases();

// What attention gives: the output and the gradient of every leaf in a fixed sum of it, in float64 on the CPU.
struct CaseResult {
  std::vector<std::string> names;  // "o", then leaves
  std::vector<Tensor> values;
};
// By the explicit formula in float64, for q, k, v that are rounded to `rounded`.
CaseResult expected_result(const AttentionCase& c, at::ScalarType rounded);
CaseResult result_of(const AttentionCase& c, at::Device device, at::ScalarType type,
                     const std::function<Tensor(const Scores&)>& attend);
// Where the two differ by more than `tolerance` of the largest number; empty: nowhere.
std::string difference(const CaseResult& found, const CaseResult& expected, double tolerance);

}  // namespace locus::engine::test
