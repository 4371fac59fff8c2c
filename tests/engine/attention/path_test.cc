// Every execution path agrees with the float64 reference, in value and in every gradient.
#include "engine/attention/path.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/base/random.h"
#include "engine/layers/layout.h"
#include "engine/priors/curves.h"
#include "tests/engine/support/reference.h"

namespace locus::engine {
namespace {

using test::largest_difference;

constexpr double kTolerance = 1e-12;
constexpr std::int64_t kBatch = 4, kWindows = 2, kPathHeads = 3, kPathWidth = 5;

// One problem: a layout, the terms' leaves, and the terms as the reference and as the paths see them.
struct Problem {
  Layout layout;
  Tensor q, k, v, weight;
  std::vector<Tensor> leaves;
  std::vector<BiasTerm> scales, biases, sum_scales;

  Tensor draw(std::string_view name, at::IntArrayRef shape, double low = -1, double high = 1) const {
    return RandomStreams(3).uniform("test", name, 0, shape, low, high).to(at::kDouble);
  }
  Tensor leaf(std::string_view name, at::IntArrayRef shape, double low = -1, double high = 1) {
    leaves.push_back(draw(name, shape, low, high).requires_grad_());
    return leaves.back();
  }
};

using TermKind = std::string;

// "sum-": of the content and the biases together.
std::vector<BiasTerm>& scales_of(Problem& p, const TermKind& kind) {
  return kind.starts_with("sum-") ? p.sum_scales : p.scales;
}

void add_term(Problem& p, const TermKind& kind) {
  const std::int64_t tokens = p.layout.tokens();
  if (kind == "dense")
    p.biases.emplace_back(Depends::kParameters, Dense{p.leaf("dense", {1, kPathHeads, tokens, tokens})});
  if (kind == "fixed-dense") p.biases.emplace_back(Depends::kLayout, Dense{p.draw("fixed", {1, 1, tokens, tokens})});
  if (kind == "low-rank") {
    p.biases.emplace_back(Depends::kContent, LowRank{p.leaf("lrq", {kBatch, kPathHeads, tokens, 2}),
                                                     p.leaf("lrk", {1, kPathHeads, tokens, 2})});
  }
  if (kind == "low-rank-row") {
    p.biases.emplace_back(Depends::kContent,
                          LowRank{p.leaf("lrrq", {1, kPathHeads, tokens, 3}), p.leaf("lrrk", {kBatch, 1, tokens, 3}),
                                  p.leaf("row", {1, kPathHeads, tokens, 1}, -9, 9)});
  }
  const auto index = [&](const char* name, std::int64_t most) {
    return p.draw(name, {tokens, tokens}, 0, static_cast<double>(most)).floor().to(at::kLong);
  };
  if (kind == "relative-table") {
    p.biases.emplace_back(Depends::kParameters,
                          RelativeTable{p.leaf("table", {1, kPathHeads, 6}), index("relative", 6)});
  }
  if (kind == "bucketed") {
    p.biases.emplace_back(
        Depends::kContent,
        Bucketed{{{p.leaf("by-query", {kBatch, kPathHeads, tokens, 4}), index("query-index", 4)},
                  {p.leaf("by-key", {1, kPathHeads, tokens, 5}), index("key-index", 5), /*by_key=*/true}}});
  }
  if (kind == "distance-decay") {
    const Tensor positions = grid_positions(p.layout, at::kDouble);
    p.biases.emplace_back(Depends::kLayout,
                          DistanceDecay{positions, p.draw("slope", {kPathHeads}, 0, 1), p.layout.prefix});
  }
  if (kind == "curve-decay" || kind == "sum-curve-decay") {
    std::vector<Tensor> rows;
    for (const char* name : {"hilbert", "snake-transposed", "zigzag"}) {
      rows.push_back(at::tensor(curve_ranks(name, p.layout.extent[0], p.layout.extent[1]), at::kInt));
    }
    const auto ranks = std::make_shared<const CurveRanks>(at::stack(rows), p.layout.prefix);
    const Tensor rate = p.leaf(kind + "rate", {3, kPathHeads}, 0.01, 0.9), alpha = p.leaf(kind, {kPathHeads}, -2, 2);
    scales_of(p, kind).emplace_back(Depends::kParameters, CurveDecay{ranks, rate, alpha});
  }
  if (kind == "dense-scale" || kind == "sum-dense-scale")
    scales_of(p, kind).emplace_back(Depends::kContent, Dense{p.leaf(kind, {kBatch, kPathHeads, tokens, tokens})});
}

Problem make_problem(const Layout& layout, const std::vector<TermKind>& terms) {
  Problem p;
  p.layout = layout;
  const std::int64_t tokens = layout.tokens();
  p.q = p.leaf("q", {kBatch, kPathHeads, tokens, kPathWidth}, -3, 3);
  p.k = p.leaf("k", {kBatch, kPathHeads, tokens, kPathWidth}, -3, 3);
  p.v = p.leaf("v", {kBatch, kPathHeads, tokens, kPathWidth});
  p.weight = p.draw("weight", {kBatch, kPathHeads, tokens, kPathWidth});
  for (const TermKind& term : terms) add_term(p, term);
  return p;
}

// The forms by their definitions, not by dense().
Tensor defined_value(const Form& form, const Problem& p) {
  const std::int64_t tokens = p.layout.tokens();
  Tensor value;
  if (const auto* f = std::get_if<Dense>(&form)) value = f->values.detach();
  if (const auto* f = std::get_if<LowRank>(&form)) {
    value = (f->query.unsqueeze(3) * f->key.unsqueeze(2)).sum(-1).detach();
    if (f->row.defined()) value = value + f->row.detach();
  }
  if (const auto* f = std::get_if<RelativeTable>(&form)) {
    value =
        test::reference_lookup(f->table.detach().unsqueeze(2).expand({-1, -1, tokens, -1}), f->index.dense(), false);
  }
  if (const auto* f = std::get_if<Bucketed>(&form)) {
    value = test::reference_lookup(f->lookups[0].values.detach(), f->lookups[0].index.dense(), false) +
            test::reference_lookup(f->lookups[1].values.detach(), f->lookups[1].index.dense(), true);
  }
  if (const auto* f = std::get_if<DistanceDecay>(&form))
    value = test::reference_distance_decay(f->positions, f->slope, f->prefix);
  if (const auto* f = std::get_if<CurveDecay>(&form)) {
    value = test::reference_curve_decay(f->ranks->rank(), f->rate.detach(), f->alpha.detach(), f->ranks->prefix());
  }
  return value.expand({kBatch, kPathHeads, tokens, tokens}).contiguous();
}

// Gradients of the leaves of a form, from the gradient of its full value.
std::vector<Tensor> leaf_gradients(const Form& form, const Tensor& full) {
  if (const auto* f = std::get_if<Dense>(&form)) {
    return f->values.requires_grad() ? std::vector<Tensor>{full.sum_to_size(f->values.sizes())} : std::vector<Tensor>{};
  }
  if (const auto* f = std::get_if<LowRank>(&form)) {
    std::vector<Tensor> found = {at::matmul(full, f->key.detach()).sum_to_size(f->query.sizes()),
                                 at::matmul(full.transpose(-2, -1), f->query.detach()).sum_to_size(f->key.sizes())};
    if (f->row.defined()) found.push_back(at::zeros_like(f->row));  // softmax does not see it
    return found;
  }
  if (const auto* f = std::get_if<RelativeTable>(&form)) {
    return {test::reference_lookup_gradient(full, f->index.dense(), false, f->table.size(2)).sum(2).sum(0, true)};
  }
  if (const auto* f = std::get_if<Bucketed>(&form)) {
    std::vector<Tensor> found;
    for (const auto& lookup : f->lookups) {
      found.push_back(test::reference_lookup_gradient(full, lookup.index.dense(), lookup.by_key, lookup.values.size(3))
                          .sum_to_size(lookup.values.sizes()));
    }
    return found;
  }
  if (const auto* f = std::get_if<CurveDecay>(&form)) {
    const auto g = test::reference_curve_decay_gradients(f->ranks->rank(), f->rate.detach(), f->alpha.detach(),
                                                         f->ranks->prefix(), full.sum(0));
    return {g.rate, g.alpha};
  }
  return {};
}

struct PathCase {
  std::string path;
  Layout layout;
  std::vector<TermKind> terms;
  bool windows = false;  // samples are windows, and pairs of different regions hidden
};

std::string describe(const PathCase& c) {
  std::string name = c.path + "_on_" + std::to_string(c.layout.extent[0]) + "x" + std::to_string(c.layout.extent[1]) +
                     "_prefix_" + std::to_string(c.layout.prefix) + (c.windows ? "_in_windows" : "");
  for (const TermKind& term : c.terms) name += "_" + term;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
void PrintTo(const PathCase& c, std::ostream* out) { *out << describe(c); }

class PathAgainstReference : public testing::TestWithParam<PathCase> {};

TEST_P(PathAgainstReference, AgreesInValueAndEveryGradient) {
  const PathCase& param = GetParam();
  Problem p = make_problem(param.layout, param.terms);
  test::ReferenceInput in{p.q.detach(), p.k.detach(), p.v.detach(), 0.37, {}, {}};
  const Tensor region =
      param.windows ? p.draw("region", {kWindows, p.layout.tokens()}, 0, 3).floor().to(at::kChar) : Tensor();
  in.region = region;
  for (const BiasTerm& term : p.scales) in.scales.push_back(defined_value(term.form(), p));
  for (const BiasTerm& term : p.biases) in.biases.push_back(defined_value(term.form(), p));
  for (const BiasTerm& term : p.sum_scales) in.sum_scales.push_back(defined_value(term.form(), p));
  const auto expected = test::reference_attention(in, p.weight);

  Scores scores{.q = p.q,
                .k = p.k,
                .v = p.v,
                .scale = 0.37,
                .scales = {},
                .biases = {},
                .probabilities = {},
                .from_probabilities = {},
                .region = region};
  for (const BiasTerm& term : p.scales) scores.scales.push_back(&term);
  for (const BiasTerm& term : p.biases) scores.biases.push_back(&term);
  for (const BiasTerm& term : p.sum_scales) scores.sum_scales.push_back(&term);
  const ExecutionPath& path = choose_path(param.path, scores);
  ASSERT_EQ(path.name, param.path) << "the case is meant to run on this path";
  const Tensor out = path.run(scores);
  EXPECT_LT(largest_difference(out, expected.out), kTolerance);

  (out * p.weight).sum().backward();
  std::vector<Tensor> gradients = {expected.q, expected.k, expected.v};
  const auto add = [&](const std::vector<BiasTerm>& terms, const std::vector<Tensor>& full) {
    for (std::size_t i = 0; i < terms.size(); ++i) {
      for (const Tensor& g : leaf_gradients(terms[i].form(), full[i])) gradients.push_back(g);
    }
  };
  // Leaves were made in the order of the terms; scales and biases are told apart by kind, so collect in that
  // order too.
  std::size_t scale = 0, bias = 0, sum_scale = 0;
  for (const TermKind& kind : param.terms) {
    if (kind.starts_with("sum-")) {
      add({p.sum_scales[sum_scale]}, {expected.sum_scales[sum_scale]});
      ++sum_scale;
      continue;
    }
    const bool is_scale = kind == "curve-decay" || kind == "dense-scale";
    const std::size_t i = is_scale ? scale++ : bias++;
    add({(is_scale ? p.scales : p.biases)[i]}, {(is_scale ? expected.scales : expected.biases)[i]});
  }
  ASSERT_EQ(gradients.size(), p.leaves.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Tensor found = p.leaves[i].grad().defined() ? p.leaves[i].grad() : at::zeros_like(p.leaves[i]);
    EXPECT_LT(largest_difference(found, gradients[i]), 20 * kTolerance) << "leaf " << i;
  }
}

std::vector<PathCase> path_cases() {
  const std::vector<Layout> layouts = {{{4, 4}, 0}, {{3, 5}, 1}, {{5, 2}, 5}, {{1, 7}, 1}};
  // What PyTorch's kernel can take: no factors, and no mask with a gradient.
  const std::vector<std::vector<TermKind>> anywhere = {{},
                                                       {"low-rank"},
                                                       {"low-rank-row"},
                                                       {"low-rank", "low-rank-row", "distance-decay", "fixed-dense"},
                                                       {"distance-decay"},
                                                       {"distance-decay", "fixed-dense"}};
  const std::vector<std::vector<TermKind>> elsewhere = {
      {"dense"},
      {"low-rank", "dense"},
      {"relative-table"},
      {"bucketed"},
      {"bucketed", "relative-table", "distance-decay"},
      {"curve-decay", "bucketed", "dense"},
      {"curve-decay"},
      {"curve-decay", "dense"},
      {"curve-decay", "dense-scale", "distance-decay", "low-rank"},
      {"dense-scale"},
      {"dense", "sum-dense-scale"},
      {"distance-decay", "dense", "sum-curve-decay"},
      {"bucketed", "dense-scale", "sum-curve-decay"},
      {"curve-decay", "relative-table", "low-rank", "sum-curve-decay", "sum-dense-scale"},
  };
  std::vector<std::pair<std::vector<std::string>, std::vector<TermKind>>> terms;
  for (const auto& kinds : anywhere) terms.push_back({{"flash", "sdpa", "explicit"}, kinds});
  for (const auto& kinds : elsewhere) terms.push_back({{"flash", "explicit"}, kinds});
  std::vector<PathCase> cases;
  for (const auto& [paths, kinds] : terms) {
    for (const std::string& path : paths) {
      for (const Layout& layout : layouts) cases.push_back({path, layout, kinds});
      cases.push_back({path, layouts[0], kinds, /*windows=*/true});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Paths, PathAgainstReference, testing::ValuesIn(path_cases()),
                         [](const auto& test) { return describe(test.param); });

Scores plain(const Tensor& q) {
  return {
      .q = q, .k = q, .v = q, .scale = 1, .scales = {}, .biases = {}, .probabilities = {}, .from_probabilities = {}};
}

TEST(PathChoice, FallsBackToExplicitWhereTheWantedPathCannotRun) {
  const Tensor q = at::rand({1, 1, 4, 4});
  const BiasTerm scale(Depends::kContent, Dense{at::ones({1, 1, 4, 4})});
  Scores scores = plain(q);
  EXPECT_EQ(choose_path("sdpa", scores).name, "sdpa");
  scores.scales.push_back(&scale);
  EXPECT_EQ(choose_path("sdpa", scores).name, "explicit");
  EXPECT_EQ(choose_path("flash", scores).name, "flash");
  Scores biased = plain(q);
  biased.biases.push_back(&scale);
  EXPECT_EQ(choose_path("sdpa", biased).name, "sdpa");
  biased.sum_scales.push_back(&scale);
  EXPECT_EQ(choose_path("sdpa", biased).name, "explicit");
  EXPECT_EQ(choose_path("flash", plain(at::ones({1, 1, 4, 4}, at::kLong))).name, "explicit")
      << "no kernel for the type";
}

TEST(PathChoice, IsByItselfTheBlockedPathOfTheCpu) {
  const Tensor q = at::rand({1, 1, 4, 4});
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf})
    EXPECT_EQ(choose_path("auto", plain(q.to(type))).name, "flash") << type;
}

TEST(PathChoice, KeepsFunctionsOfProbabilitiesAwayFromBlockedPaths) {
  const Tensor q = at::rand({1, 1, 4, 4});
  Scores scores = plain(q);
  scores.probabilities = [](const Tensor& p) { return p * 2; };
  EXPECT_EQ(choose_path("flash", scores).name, "explicit");
  EXPECT_EQ(choose_path("sdpa", scores).name, "explicit");
  EXPECT_LT(largest_difference(choose_path("explicit", scores).run(scores),
                               2 * at::matmul(at::softmax(at::matmul(q, q.mT()), -1), q)),
            1e-6);
  Scores terms = plain(q);
  terms.value_tables.push_back({at::rand({1, 1, 2, 4}), PairIndex(at::zeros({4, 4}, at::kLong))});
  EXPECT_EQ(choose_path("auto", terms).name, "flash");
  EXPECT_EQ(choose_path("sdpa", terms).name, "explicit");
}

// Paths without T x T tensors, and those with a hook, hide the same pairs; a tool that looks inside sees them hidden.
TEST(Regions, HidePairsFromTheHooksOnProbabilitiesToo) {
  const Tensor q = at::rand({4, 2, 3, 4}, at::kDouble), region = at::tensor({0, 1, 1, 0, 0, 0}, at::kChar).view({2, 3});
  Scores scores = plain(q);
  scores.region = region;
  Tensor seen;
  scores.probabilities = [&](const Tensor& p) { return seen = p; };
  choose_path("explicit", scores).run(scores);
  for (std::int64_t sample = 0; sample < 4; ++sample) {
    const Tensor row = seen[sample][1][0];
    const double hidden = (row[1] + row[2]).item<double>();
    EXPECT_EQ(hidden < 1e-30, sample % 2 == 0) << "sample " << sample << " is window " << sample % 2;
    EXPECT_NEAR(row.sum().item<double>(), 1, 1e-12);
  }
  EXPECT_TRUE(at::equal(explicit_weights(scores).probabilities, seen));
  EXPECT_LT(explicit_weights(scores).logits[0][0][0][1].item<double>(), -90);
}

TEST(PathChoice, RefusesAnUnknownNameAndSaysIt) {
  const Tensor q = at::rand({1, 1, 4, 4});
  try {
    choose_path("warp", plain(q));
    FAIL() << "accepted an unknown path";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("'warp'"), std::string::npos);
  }
}

}  // namespace
}  // namespace locus::engine
