// Nearest neighbors against a plain definition: sort all of them, add up their votes.
#include "engine/train/neighbors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/random.h"

namespace locus::engine {
namespace {

constexpr std::int64_t kClasses = 7;

using Row = std::vector<double>;

Row row_of(const Tensor& tensor, std::int64_t row) {
  const Tensor values = tensor[row].to(at::kDouble).contiguous();
  return {values.const_data_ptr<double>(), values.const_data_ptr<double>() + values.numel()};
}

double product(const Row& a, const Row& b) {
  const auto length = [](const Row& row) {
    return std::sqrt(std::inner_product(row.begin(), row.end(), row.begin(), 0.0));
  };
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0) / (length(a) * length(b));
}

// By the definition, for one query.
Row votes_of(const Row& query, const Tensor& references, const Tensor& labels, std::int64_t k, double temperature) {
  std::vector<double> near;
  for (std::int64_t i = 0; i < references.size(0); ++i) near.push_back(product(query, row_of(references, i)));
  std::vector<std::size_t> order(near.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return near[a] > near[b]; });
  Row out(kClasses, 0.0);
  for (std::size_t j = 0; j < static_cast<std::size_t>(k); ++j) {
    const auto label = labels[static_cast<std::int64_t>(order[j])].item<std::int64_t>();
    out[static_cast<std::size_t>(label)] += std::exp(near[order[j]] / temperature);
  }
  return out;
}

struct Data {
  Tensor queries, references, labels, own;
};
Data drawn(std::int64_t queries, std::int64_t references, std::int64_t width) {
  const RandomStreams random(4);
  const auto labels = [&](const char* name, std::int64_t count) {
    return random.uniform("test", name, 0, {count}, 0, kClasses).to(at::kLong);
  };
  return {random.normal("test", "queries", 0, {queries, width}).to(at::kDouble),
          random.normal("test", "references", 0, {references, width}).to(at::kDouble), labels("labels", references),
          labels("own", queries)};
}

TEST(Neighbors, VoteByTheDefinition) {
  const Data data = drawn(9, 60, 4);
  Neighbors neighbors(data.queries, 40);
  neighbors.add(data.references, data.labels);
  for (const std::int64_t k : {1, 5, 40}) {
    const Tensor votes = neighbors.votes(k, 0.07, kClasses);
    for (std::int64_t q = 0; q < 9; ++q) {
      const Row expected = votes_of(row_of(data.queries, q), data.references, data.labels, k, 0.07);
      for (std::int64_t c = 0; c < kClasses; ++c) {
        const double one = expected[static_cast<std::size_t>(c)];
        EXPECT_NEAR(votes[q][c].item<double>(), one, 1e-9 * (1 + one)) << k << " " << q << " " << c;
      }
    }
  }
}

TEST(Neighbors, CountWhoseLabelIsFirstOrAmongTheFirstFive) {
  const Data data = drawn(50, 80, 3);
  Neighbors neighbors(data.queries, 20);
  neighbors.add(data.references, data.labels);
  const auto found = neighbors.right({20, 3}, 0.07, kClasses, data.own);
  ASSERT_EQ(found.size(), 2u);
  for (const Neighbors::Right& right : found) {
    std::int64_t top1 = 0, top5 = 0;
    for (std::int64_t q = 0; q < 50; ++q) {
      const Row votes = votes_of(row_of(data.queries, q), data.references, data.labels, right.k, 0.07);
      std::vector<std::int64_t> order(kClasses);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        return votes[static_cast<std::size_t>(a)] > votes[static_cast<std::size_t>(b)];
      });
      const auto place = std::find(order.begin(), order.end(), data.own[q].item<std::int64_t>()) - order.begin();
      top1 += place == 0;
      top5 += place < std::min<std::int64_t>(5, right.k);
    }
    EXPECT_EQ(right.top1, top1) << right.k;
    EXPECT_EQ(right.top5, top5) << right.k;
  }
  EXPECT_EQ(found[0].k, 20);
  EXPECT_LE(found[1].top5, 50);
}

// More references than are looked at together, so that the best of several pieces are merged.
TEST(Neighbors, AreTheSameInWhateverPiecesTheReferencesCome) {
  const Data data = drawn(6, 5000, 3);
  const auto votes = [&](std::int64_t piece) {
    Neighbors neighbors(data.queries, 30);
    for (std::int64_t first = 0; first < 5000; first += piece) {
      const std::int64_t end = std::min<std::int64_t>(first + piece, 5000);
      neighbors.add(data.references.slice(0, first, end), data.labels.slice(0, first, end));
    }
    EXPECT_EQ(neighbors.references(), 5000);
    return neighbors.votes(30, 0.07, kClasses);
  };
  const Tensor whole = votes(5000);
  for (const std::int64_t piece : {1700, 333}) EXPECT_TRUE(at::allclose(votes(piece), whole, 1e-12, 0)) << piece;
}

TEST(Neighbors, OfEqualNearnessAreThoseThatCameFirst) {
  // All references are the same but for their length, a power of two: the products agree to the bit.
  const Tensor queries = at::ones({2, 3});
  const Tensor references = at::ones({3000, 3}) * at::pow(2.0, at::arange(3000).remainder(7)).unsqueeze(1);
  Tensor labels = at::full({3000}, 5, at::kLong);
  labels.slice(0, 0, 4).fill_(1);
  Neighbors neighbors(queries, 6);
  neighbors.add(references, labels);
  const Tensor votes = neighbors.votes(6, 1.0, kClasses);
  EXPECT_NEAR(votes[0][1].item<double>(), 4 * std::exp(1.0), 1e-5);
  EXPECT_NEAR(votes[1][5].item<double>(), 2 * std::exp(1.0), 1e-5);
}

TEST(Neighbors, OfEqualVotesTheLowerClassIsFirst) {
  Neighbors neighbors(at::ones({3, 2}), 4);
  neighbors.add(at::ones({4, 2}), at::tensor({6, 2, 4, 2}, at::kLong));
  // Votes: class 2 twice, 4 and 6 once, the others never.
  const auto right = [&](std::int64_t label) {
    return neighbors.right({4}, 0.5, kClasses, at::full({3}, label, at::kLong)).at(0);
  };
  EXPECT_EQ(right(2).top1, 3);
  EXPECT_EQ(right(4).top1, 0);
  // k is 4, so four classes count: 2, 4, 6 and, of those without a vote, 0.
  EXPECT_EQ(right(6).top5, 3);
  EXPECT_EQ(right(0).top5, 3);
  EXPECT_EQ(right(1).top5, 0);
}

TEST(Neighbors, RefuseMoreThanThereAre) {
  Neighbors neighbors(at::ones({1, 2}), 10);
  neighbors.add(at::ones({4, 2}), at::zeros({4}, at::kLong));
  EXPECT_THROW(neighbors.votes(5, 1, 2), std::invalid_argument);
  EXPECT_THROW(neighbors.votes(11, 1, 2), std::invalid_argument);
  EXPECT_NO_THROW(neighbors.votes(4, 1, 2));
}

TEST(Neighbors, RefuseFeaturesThatAreNoNumbers) {
  EXPECT_THROW(Neighbors(at::full({1, 2}, std::numeric_limits<double>::quiet_NaN()), 1), std::invalid_argument);
  Neighbors neighbors(at::ones({1, 2}), 1);
  neighbors.add(at::full({1, 2}, std::numeric_limits<float>::infinity()), at::zeros({1}, at::kLong));
  EXPECT_THROW(neighbors.votes(1, 1, 2), std::invalid_argument);
}

}  // namespace
}  // namespace locus::engine
