// Blocked attention agrees with the explicit formula in value and in every gradient: every form in every role, kernels for
// every processor, rows cut into blocks and ranges, and bits that do not depend on threads.
#include "engine/attention/flash.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <ATen/Parallel.h>

#include <algorithm>
#include <limits>

#include "engine/base/random.h"
#include "tests/engine/support/names.h"
#include "tests/engine/support/reference.h"

namespace locus::engine {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();

struct Size {
  std::int64_t batch, heads, rows, columns, prefix, width;
  std::int64_t patches() const { return rows * columns; }
  std::int64_t tokens() const { return prefix + patches(); }
};

// Scores and all that they refer to.
class Attending {
 public:
  Attending(const Size& size, at::ScalarType type) : size_(size), type_(type) {
    // As a projection leaves them: the three beside one another, tokens outside heads.
    const Tensor all = leaf("qkv", {size.batch, size.tokens(), 3, size.heads, size.width}, -2, 2);
    qkv_ = all.permute({2, 0, 3, 1, 4}).unbind(0);
    scores_.emplace(Scores{.q = qkv_[0],
                           .k = qkv_[1],
                           .v = qkv_[2],
                           .scale = 0.37,
                           .scales = {},
                           .biases = {},
                           .probabilities = {},
                           .from_probabilities = {}});
  }

  // "scale:dense", "blend:quadratic", "values"
  void add(const std::string& what) {
    const auto colon = what.find(':');
    const std::string role = what.substr(0, colon);
    if (role == "values") {
      const Tensor table = leaf(what, {1, size_.heads, 7 + 3, size_.width});
      scores_->value_tables.push_back({table, rule(/*mapped=*/true)});
      return;
    }
    const BiasTerm& term = terms_.emplace_back(Depends::kContent, form(what.substr(colon + 1)));
    if (role == "scale") scores_->scales.push_back(&term);
    if (role == "bias") scores_->biases.push_back(&term);
    if (role == "sum-scale") scores_->sum_scales.push_back(&term);
    if (role == "times") scores_->probability_terms.push_back(Weighted{term});
    if (role == "plus") scores_->probability_terms.push_back(Shifted{term});
    if (role == "blend")
      scores_->probability_terms.push_back(Blended{term, leaf(what + "share", {size_.heads}, 0.1, 0.9), size_.prefix});
  }
  void hide(double hidden) {
    scores_->region = draw("region", {2, size_.tokens()}, 0, 3).floor().to(at::kChar);
    scores_->hidden = hidden;
  }

  const Scores& scores() const { return *scores_; }
  // The output, and the gradient of every leaf for a fixed one of the output.
  std::vector<Tensor> results(const std::function<Tensor(const Scores&)>& run) const {
    const Tensor out = run(*scores_);
    const Tensor weight = draw("weight", {size_.batch, size_.heads, size_.tokens(), size_.width});
    auto all = torch::autograd::grad({(out * weight).sum()}, leaves_, {}, /*retain_graph=*/true, /*create_graph=*/false,
                                     /*allow_unused=*/true);
    for (std::size_t i = 0; i < all.size(); ++i) {  // a path may leave out a constant of a row
      if (!all[i].defined()) all[i] = at::zeros_like(leaves_[i]);
    }
    all.push_back(out.detach());
    return all;
  }

 private:
  Tensor draw(std::string_view name, at::IntArrayRef shape, double low = -1, double high = 1) const {
    return RandomStreams(8).uniform("test", name, 0, shape, low, high).to(type_);
  }
  Tensor leaf(const std::string& name, at::IntArrayRef shape, double low = -1, double high = 1) {
    leaves_.push_back(draw(name + std::to_string(leaves_.size()), shape, low, high).requires_grad_());
    return leaves_.back();
  }
  // Offsets of the grid, or seven classes of them; three entries more for the prefix.
  PairIndex rule(bool mapped) const {
    const std::int64_t reach = 2 * size_.columns - 1, offsets = (2 * size_.rows - 1) * reach;
    const Tensor at = at::arange(size_.patches(), at::kInt);
    const std::int64_t entries = mapped ? 7 : offsets;
    PairIndex::Rule out{.code = (at.div(size_.columns, "floor") * reach + at.remainder(size_.columns)).to(at::kInt),
                        .shift = (size_.rows - 1) * reach + size_.columns - 1,
                        .prefix = size_.prefix,
                        .from_prefix = entries,
                        .to_prefix = entries + 1,
                        .among_prefix = entries + 2};
    if (mapped) out.map = at::arange(offsets, at::kInt).mul(5).remainder(7).to(at::kInt);
    return out;
  }
  // Offsets along one axis, and one entry more for the prefix.
  PairIndex along(bool rows) const {
    const Tensor at = at::arange(size_.patches(), at::kInt);
    const std::int64_t extent = rows ? size_.rows : size_.columns, outside = 2 * extent - 1;
    return PairIndex::Rule{.code = (rows ? at.div(size_.columns, "floor") : at.remainder(size_.columns)).to(at::kInt),
                           .shift = extent - 1,
                           .prefix = size_.prefix,
                           .from_prefix = outside,
                           .to_prefix = outside,
                           .among_prefix = outside};
  }
  std::int64_t offsets() const { return (2 * size_.rows - 1) * (2 * size_.columns - 1) + 3; }
  Tensor entries(std::int64_t below) const {
    return draw("entries", {size_.tokens(), size_.tokens()}, 0, static_cast<double>(below)).floor().to(at::kLong);
  }

  Form form(const std::string& kind) {
    const std::int64_t b = size_.batch, h = size_.heads, t = size_.tokens(), n = size_.patches();
    const Tensor grid = draw("grid", {n, 2}, 0, 3), points = draw("points", {b, n, 3}, 0, 3);
    if (kind == "dense") return Dense{leaf(kind, {1, h, t, t})};
    if (kind == "dense-of-heads") return Dense{leaf(kind, {1, 1, t, t})};
    if (kind == "dense-of-samples") return Dense{leaf(kind, {b, h, t, t})};
    if (kind == "low-rank")
      return LowRank{leaf(kind, {b, h, t, 5}), leaf(kind, {1, h, t, 5}), leaf(kind, {1, 1, t, 1})};
    if (kind == "low-rank-shared") return LowRank{leaf(kind, {1, h, t, 20}), leaf(kind, {1, 1, t, 20})};
    if (kind == "table") return RelativeTable{leaf(kind, {1, h, offsets()}), rule(false)};
    if (kind == "table-of-samples") return RelativeTable{leaf(kind, {b, h, 10}), rule(true)};
    if (kind == "table-by-entries") return RelativeTable{leaf(kind, {1, 1, 6}), entries(6)};
    if (kind == "bucketed") {
      return Bucketed{{{leaf(kind, {b, h, t, 10}), rule(true)},
                       {leaf(kind, {1, h, t, offsets()}), rule(false), /*by_key=*/true},
                       {leaf(kind, {1, 1, 1, 10}), rule(true), /*by_key=*/true}}};
    }
    if (kind == "bucketed-by-axis") {
      return Bucketed{{{leaf(kind, {b, h, t, 2 * size_.rows}), along(/*rows=*/true)},
                       {leaf(kind, {1, h, t, 2 * size_.columns}), along(/*rows=*/false)},
                       {leaf(kind, {1, h, 1, 2 * size_.rows}), along(/*rows=*/true), /*by_key=*/true},
                       {leaf(kind, {1, 1, 1, offsets()}), rule(/*mapped=*/false), /*by_key=*/true}}};
    }
    if (kind == "bucketed-by-entries") return Bucketed{{{leaf(kind, {1, h, t, 4}), entries(4), /*by_key=*/true}}};
    if (kind == "distance-decay") return DistanceDecay{grid, leaf(kind, {h}), size_.prefix};
    if (kind == "distance-decay-of-samples") return DistanceDecay{points, leaf(kind, {h}), size_.prefix};
    if (kind == "quadratic") return Quadratic{leaf(kind, {b, h, n, 5}), grid, size_.prefix};
    if (kind == "quadratic-of-heads")
      return Quadratic{leaf(kind, {1, h, 1, 5}).expand({-1, -1, n, -1}), grid, size_.prefix};
    if (kind == "quadratic-of-samples") return Quadratic{leaf(kind, {1, 1, n, 9}), points, size_.prefix};
    if (kind == "gated") return Gated{leaf(kind, {b, h, n}), grid, size_.prefix};
    if (kind == "gated-points") return Gated{leaf(kind, {1, h, n}), points, size_.prefix};
    if (kind == "scan") return Scan{leaf(kind, {b, h, n}), size_.prefix};
    if (kind == "causal") return Scan{leaf(kind, {1, h, n}), size_.prefix, /*causal=*/true};
    const Tensor ranks = at::stack({draw("first", {n}).argsort(), draw("second", {n}).argsort()}).to(at::kInt);
    const double plus = kind == "curves-and-one" ? 1 : 0;
    if (kind.starts_with("curves")) {
      // Of steep ones an exponential of the farthest rank is no number of float32, and of some decay is growth.
      const bool steep = kind == "curves-of-any-rate";
      return CurveDecay{std::make_shared<const CurveRanks>(ranks, size_.prefix),
                        leaf(kind, {2, h}, steep ? -0.1 : 0.01, steep ? 40 : 0.9), leaf(kind, {h}, -2, 2), plus};
    }
    throw std::invalid_argument("no form is called " + kind);
  }

  Size size_;
  at::ScalarType type_;
  std::vector<Tensor> leaves_, qkv_;
  std::deque<BiasTerm> terms_;
  std::optional<Scores> scores_;
};

std::vector<std::vector<std::string>> flash_cases() {
  std::vector<std::vector<std::string>> all = {{}, {"bias:causal"}, {"values"}, {"values", "values"}};
  for (const std::string role : {"scale:", "bias:", "sum-scale:", "times:", "plus:"}) {
    for (const std::string kind : {"dense",
                                   "dense-of-heads",
                                   "dense-of-samples",
                                   "low-rank",
                                   "low-rank-shared",
                                   "table",
                                   "table-of-samples",
                                   "table-by-entries",
                                   "bucketed",
                                   "bucketed-by-axis",
                                   "bucketed-by-entries",
                                   "distance-decay",
                                   "distance-decay-of-samples",
                                   "quadratic",
                                   "quadratic-of-heads",
                                   "quadratic-of-samples",
                                   "gated",
                                   "gated-points",
                                   "scan",
                                   "curves",
                                   "curves-and-one",
                                   "curves-of-any-rate"}) {
      all.push_back({role + kind});
    }
  }
  for (const std::string kind : {"dense", "gated", "quadratic-of-heads", "quadratic-of-samples", "curves"})
    all.push_back({"blend:" + kind});
  all.push_back({"scale:curves", "bias:table", "bias:gated", "bias:dense", "sum-scale:curves-and-one"});
  all.push_back({"scale:curves", "scale:dense", "scale:gated", "bias:low-rank", "sum-scale:table", "sum-scale:scan"});
  all.push_back({"scale:curves", "scale:dense", "sum-scale:table", "sum-scale:curves"});
  all.push_back({"bias:table", "bias:quadratic", "times:curves", "plus:table", "blend:quadratic-of-heads", "values",
                 "times:gated"});
  all.push_back({"blend:quadratic-of-heads", "blend:gated", "times:dense-of-samples"});
  all.push_back({"scale:dense", "bias:low-rank", "bias:low-rank-shared", "sum-scale:low-rank"});
  return all;
}

void expect_explicit(const cpu::AttentionKernels& kernels, const Attending& attending, double tolerance) {
  const auto expected = attending.results([](const Scores& s) { return choose_path("explicit", s).run(s); });
  ASSERT_TRUE(flash_supports(attending.scores()));
  const auto found = attending.results([&](const Scores& s) { return run_flash_on(kernels, s); });
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double size = 1 + expected[i].abs().max().item<double>();
    EXPECT_LT(test::largest_difference(found[i], expected[i]), tolerance * size)
        << "result " << i << " of " << found.size();
  }
}

std::string name_of(const std::vector<std::string>& terms) {
  std::string name = terms.empty() ? "nothing" : "";
  for (const std::string& term : terms) name += (name.empty() ? "" : "_") + term;
  return test::fit_for_a_name(name);
}

class FlashAgainstExplicit : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(FlashAgainstExplicit, AgreesInValueAndEveryGradientWithEveryKernel) {
  const cpu::KernelList all = cpu::runnable_attention_kernels(/*is_double=*/true);
  for (int n = 0; n < all.count; ++n) {
    for (const Size& size : {Size{4, 3, 3, 5, 2, 5}, Size{2, 2, 5, 7, 0, 16}}) {
      for (const double hidden : {1.0, -100.0, kNothing}) {
        SCOPED_TRACE(std::string(all.kernels[n]->name) + ", hidden " + std::to_string(hidden));
        Attending attending(size, at::kDouble);
        for (const std::string& term : GetParam()) attending.add(term);
        if (hidden < 0) attending.hide(hidden);
        expect_explicit(*all.kernels[n], attending, 1e-11);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, FlashAgainstExplicit, testing::ValuesIn(flash_cases()),
                         [](const auto& test) { return name_of(test.param); });

// Several blocks, kept runs of them and ranges; a width of no whole vector.
TEST(Flash, CutsLongRowsIntoBlocksAndRanges) {
  for (const std::vector<std::string>& terms : {std::vector<std::string>{},
                                                {"scale:curves", "bias:table", "bias:gated"},
                                                {"bias:dense", "times:curves", "values", "blend:quadratic-of-heads"}}) {
    Attending attending({2, 1, 19, 20, 1, 7}, at::kDouble);
    for (const std::string& term : terms) attending.add(term);
    expect_explicit(cpu::attention_kernels(true), attending, 1e-10);
  }
}

TEST(Flash, AgreesInFloatToo) {
  const cpu::KernelList all = cpu::runnable_attention_kernels(/*is_double=*/false);
  for (int n = 0; n < all.count; ++n) {
    for (const std::vector<std::string>& terms : {std::vector<std::string>{},
                                                  {"scale:curves", "bias:table", "bias:gated"},
                                                  {"bias:quadratic", "values"},
                                                  {"scale:curves-of-any-rate", "bias:bucketed-by-axis"}}) {
      Attending attending({3, 2, 7, 7, 1, 16}, at::kFloat);
      for (const std::string& term : terms) attending.add(term);
      expect_explicit(*all.kernels[n], attending, 1e-4);
    }
  }
}

// Kernels that round the operands of products stay near the plainest one, which widens them instead: odd numbers of tokens
// and channels, blocks of several rows, terms of every role.
TEST(Flash, AgreesInBfloat16WithinItsRounding) {
  const cpu::KernelList all = cpu::runnable_attention_kernels(/*is_double=*/false);
  for (const Size& size : {Size{3, 2, 7, 7, 1, 16}, Size{2, 1, 5, 5, 0, 7}, Size{1, 2, 9, 9, 0, 64}}) {
    for (const std::vector<std::string>& terms :
         {std::vector<std::string>{}, {"scale:curves", "bias:table", "bias:gated"}, {"times:table", "values"}}) {
      Attending attending(size, at::kBFloat16);
      for (const std::string& term : terms) attending.add(term);
      const auto results = [&](int n) {
        return attending.results([&](const Scores& s) { return run_flash_on(*all.kernels[n], s); });
      };
      const auto expected = results(0);
      for (int n = 1; n < all.count; ++n) {
        SCOPED_TRACE(all.kernels[n]->name);
        const auto found = results(n);
        for (std::size_t i = 0; i < found.size(); ++i) {
          const double norm = expected[i].to(at::kDouble).norm().item<double>();
          const Tensor apart = found[i].to(at::kDouble) - expected[i].to(at::kDouble);
          EXPECT_LT(apart.norm().item<double>(), 0.01 * norm + 1e-6) << "result " << i << " of " << found.size();
        }
      }
    }
  }
}

TEST(Flash, GivesTheSameBitsWithAnyNumberOfThreads) {
  const int before = at::get_num_threads();
  for (const Size& size : {Size{5, 3, 4, 4, 1, 8}, Size{2, 1, 18, 18, 0, 8}}) {
    Attending attending(size, at::kFloat);
    for (const char* term : {"scale:curves", "bias:table", "bias:gated", "times:table", "values"}) attending.add(term);
    at::set_num_threads(1);
    const auto one = attending.results(run_flash);
    at::set_num_threads(3);
    const auto three = attending.results(run_flash);
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(at::equal(one[i], three[i])) << "result " << i;
  }
  at::set_num_threads(before);
}

// Products with numbers below the normal ones take some hundred times as long on some processors, and decays over distance
// make them by the tile.
TEST(Flash, TakesWhatIsBelowNormalNumbersForNothingAndLeavesItToOthers) {
  Tensor values = at::zeros({1, 1, 20, 20});
  values.select(3, 0).fill_(-86.5);  // of the first key everybody sees 3e-38
  const BiasTerm far(Depends::kContent, Dense{values});
  const cpu::KernelList all = cpu::runnable_attention_kernels(/*is_double=*/false);
  for (int n = 0; n < all.count; ++n) {
    const Tensor v = at::ones({1, 1, 20, 8}).requires_grad_();
    const Tensor zero = at::zeros({1, 1, 20, 8});
    const Scores scores{.q = zero,
                        .k = zero,
                        .v = v,
                        .scale = 1,
                        .scales = {},
                        .biases = {&far},
                        .probabilities = {},
                        .from_probabilities = {}};
    run_flash_on(*all.kernels[n], scores).backward(at::full({1, 1, 20, 8}, 1e-4));
    EXPECT_EQ(v.grad()[0][0][0].abs().max().item<float>(), 0) << all.kernels[n]->name;
    EXPECT_GT(v.grad()[0][0][1].abs().min().item<float>(), 9e-5) << all.kernels[n]->name;
  }
  volatile float least = std::numeric_limits<float>::min();
  EXPECT_GT(least / 2, 0);
}

TEST(Flash, PassesOnWhatIsNoNumber) {
  Tensor q = at::rand({1, 1, 20, 8});
  q[0][0][3][2] = std::numeric_limits<float>::quiet_NaN();
  const Tensor k = at::rand({1, 1, 20, 8});
  const Scores scores{
      .q = q, .k = k, .v = k, .scale = 1, .scales = {}, .biases = {}, .probabilities = {}, .from_probabilities = {}};
  const Tensor bad = run_flash(scores).isnan()[0][0].all(1);
  for (std::int64_t i = 0; i < 20; ++i) EXPECT_EQ(bad[i].item<bool>(), i == 3) << "row " << i;
}

// A query that may see no key at all attends to nothing, and gives no gradient.
TEST(Flash, GivesNothingWhereThereIsNoKey) {
  const Tensor q = at::rand({1, 1, 5, 4}, at::kDouble).requires_grad_();
  const BiasTerm mask(Depends::kLayout, Dense{at::full({1, 1, 5, 5}, kNothing, at::kDouble)});
  const Scores scores{.q = q,
                      .k = q,
                      .v = q,
                      .scale = 1,
                      .scales = {},
                      .biases = {&mask},
                      .probabilities = {},
                      .from_probabilities = {}};
  const Tensor out = run_flash(scores);
  EXPECT_EQ(out.abs().max().item<double>(), 0);
  out.sum().backward();
  EXPECT_EQ(q.grad().abs().max().item<double>(), 0);
}

}  // namespace
}  // namespace locus::engine
