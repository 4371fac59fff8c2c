// The sources of the CUDA kernels, on the CPU: values and gradients against the explicit formula in float64.
#include <gtest/gtest.h>

#include "engine/attention/flash_cuda.h"
#include "engine/base/precision.h"
#include "tests/engine/kernels/form_cases.h"
#include "tests/engine/kernels/kernels_on_cpu.h"

namespace locus::engine {
namespace {

using gpu_shim::Order;
using test::AttentionCase;
using test::CaseResult;

Tensor on_cpu(const Scores& scores) {
  EXPECT_TRUE(flash_supports(test::kernels_on_cpu(), scores));
  return flash_by(test::kernels_on_cpu(), scores);
}

struct TypeCase {
  std::string name;
  at::ScalarType type;
  bool tf32;
  double tolerance;
};

const std::vector<TypeCase>& type_cases() {
  // Of the largest number: of a few roundings of the type, in the products, in P and in the result.
  static const std::vector<TypeCase> cases = {{"float32", at::kFloat, false, 5e-6},
                                              {"tf32", at::kFloat, true, 4e-3},
                                              {"float16", at::kHalf, false, 4e-3},
                                              {"bfloat16", at::kBFloat16, false, 3e-2}};
  return cases;
}

std::string case_name(const testing::TestParamInfo<AttentionCase>& info) {
  std::string name;
  for (const char letter : info.param.name) {
    if (std::isalnum(static_cast<unsigned char>(letter))) name += letter;
  }
  return name;
}

class KernelSources : public testing::TestWithParam<AttentionCase> {
 protected:
  void SetUp() override { test::set_order(Order::kAscending); }
};

TEST_P(KernelSources, AgreeWithTheExplicitFormulaInValueAndEveryGradient) {
  for (const TypeCase& type : type_cases()) {
    const RoundsProducts tf32(type.tf32);
    const CaseResult expected = test::expected_result(GetParam(), type.type);
    const CaseResult found = test::result_of(GetParam(), at::kCPU, type.type, on_cpu);
    EXPECT_EQ(test::difference(found, expected, type.tolerance), "") << type.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, KernelSources, testing::ValuesIn(test::attention_cases()), case_name);

// Terms of each set that kernels are compiled for, by name; every set is compiled for every width.
std::vector<AttentionCase> set_cases() {
  constexpr std::int64_t kTokens = 35;
  const auto named = [](std::string name, std::function<void(test::CaseBuilder&, const AttentionCase&)> terms) {
    return AttentionCase{.name = std::move(name), .batch = 1, .heads = 1, .tokens = kTokens, .terms = std::move(terms)};
  };
  return {named("no term", {}),
          named("a table",
                [](auto& b, const AttentionCase&) {
                  const Tensor entries = at::arange(kTokens * kTokens, at::kLong).remainder(7).view({kTokens, kTokens});
                  b.bias(RelativeTable{b.leaf("table", {1, 1, 7}), PairIndex(entries)});
                }),
          named("curves",
                [](auto& b, const AttentionCase&) {
                  const auto ranks = std::make_shared<const CurveRanks>(at::arange(kTokens, at::kInt).unsqueeze(0), 0);
                  b.scale(CurveDecay{ranks, b.positive_leaf("rate", {1, 1}, 0.1, 0.2), b.leaf("alpha", {1}), 1});
                }),
          named("anything", [](auto& b, const AttentionCase&) {
            b.bias(Scan{b.leaf("place", {1, 1, kTokens}), 0});
          })};
}

TEST(KernelWidths, OfEveryKernelAgreeWithTheExplicitFormula) {
  // A parameter of one number is a sum over all pairs, much of which cancels: hence four times the tolerance.
  for (const TypeCase& type : type_cases()) {
    const RoundsProducts tf32(type.tf32);
    for (AttentionCase c : set_cases()) {
      for (const std::int64_t width : {20, 64, 72, 128}) {
        c.width = width;
        EXPECT_EQ(test::difference(test::result_of(c, at::kCPU, type.type, on_cpu), test::expected_result(c, type.type),
                                   4 * type.tolerance),
                  "")
            << type.name << ", width " << width << ", " << c.name;
      }
    }
  }
}

TEST(KernelOrder, OfThreadsChangesNoBit) {
  for (AttentionCase c : test::attention_cases()) {
    c.batch = c.heads = 1;
    test::set_order(Order::kAscending);
    const CaseResult first = test::result_of(c, at::kCPU, at::kBFloat16, on_cpu);
    for (const Order order : {Order::kDescending, Order::kRandom}) {
      test::set_order(order);
      const CaseResult again = test::result_of(c, at::kCPU, at::kBFloat16, on_cpu);
      for (std::size_t i = 0; i < first.values.size(); ++i)
        EXPECT_TRUE(at::equal(again.values[i], first.values[i])) << c.name << ": " << first.names[i];
    }
  }
  test::set_order(Order::kAscending);
}

// Of the kernels themselves: each barrier that a pass of several tiles needs, left out.
TEST(KernelBarriers, AreMissedWhereOneIsLeftOut) {
  AttentionCase c{.name = "", .batch = 1, .heads = 1, .tokens = 200, .width = 16};
  c.terms = [](auto& b, const AttentionCase& of) {
    b.bias(RelativeTable{
        b.leaf("table", {1, 1, 7}),
        PairIndex(at::arange(of.tokens * of.tokens, at::kLong).remainder(7).view({of.tokens, of.tokens}))});
  };
  for (int n = 0; n < 5; ++n) {
    test::leave_out_barrier(n);
    EXPECT_THROW(test::result_of(c, at::kCPU, at::kBFloat16, on_cpu), gpu_shim::KernelError) << "barrier " << n;
  }
  test::leave_out_barrier(-1);
}

TEST(KernelRefusals, SayWhatTheyDoNotTake) {
  const AttentionKernels& kernels = test::kernels_on_cpu();
  locus_attention p{};
  p.batch = p.heads = p.tokens = 4;
  p.width = 16;
  EXPECT_EQ(kernels.supports(&p, 1), nullptr);
  const auto refused = [&](const auto& change) {
    locus_attention changed = p;
    change(changed);
    const char* why = kernels.supports(&changed, 1);
    return why == nullptr ? std::string() : std::string(why);
  };
  EXPECT_NE(refused([](auto& c) { c.width = 136; }), "");
  EXPECT_NE(refused([](auto& c) { c.width = 12; }), "");
  EXPECT_NE(refused([](auto& c) { c.type = 9; }), "");
  EXPECT_NE(refused([](auto& c) { c.q.token = 3; }), "");
  EXPECT_NE(refused([](auto& c) { c.terms = 9; }), "");
  EXPECT_NE(refused([](auto& c) { c.terms = 1, c.term[0].form = LOCUS_CURVE_DECAY, c.term[0].count = 16; }), "");
  EXPECT_NE(refused([](auto& c) { c.terms = 2, c.term[0].role = LOCUS_BIAS; }), "") << "out of order";
}

TEST(KernelWorkspace, StaysLinearInTheTokens) {
  locus_attention p{};
  p.batch = 32, p.heads = 6, p.width = 64, p.terms = 1;
  float mark = 0;
  locus_term& t = p.term[0];
  t.form = LOCUS_RELATIVE_TABLE;
  t.gradient = &mark;
  const auto bytes = [&](int side) {
    p.tokens = side * side;
    t.count = (2 * side - 1) * (2 * side - 1);
    return static_cast<double>(test::kernels_on_cpu().workspace(&p));
  };
  EXPECT_LT(bytes(64) / bytes(32), 4.2);
}

}  // namespace
}  // namespace locus::engine
