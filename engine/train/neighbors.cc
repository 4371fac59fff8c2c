// Pieces of queries times pieces of references, and the best so far merged with each piece.
#include "engine/train/neighbors.h"

#include <algorithm>

namespace locus::engine {
namespace {

constexpr std::int64_t kReferencesAtOnce = 2048;
constexpr std::int64_t kNumbersAtOnce = 1 << 23;

Tensor of_unit_length(const Tensor& features) {
  return features / at::linalg_vector_norm(features, 2, at::IntArrayRef{1}, /*keepdim=*/true).clamp_min(1e-12);
}

// The places of the `count` largest numbers of each row, the largest first, of equal ones the one further left.
Tensor largest(const Tensor& rows, std::int64_t count) {
  const auto [values, places] = at::topk(rows, count, 1);
  const Tensor least = values.narrow(1, count - 1, 1);
  if (rows.ge(least).sum(1).gt(count).any().item<bool>()) {
    // Equal numbers on both sides of the border, of which topk takes any.
    return std::get<1>(at::sort(rows, /*stable=*/true, 1, /*descending=*/true)).narrow(1, 0, count);
  }
  const Tensor in_order = std::get<0>(places.sort(1));
  return in_order.gather(1, std::get<1>(at::sort(rows.gather(1, in_order), /*stable=*/true, 1, /*descending=*/true)));
}

}  // namespace

Neighbors::Neighbors(const Tensor& queries, std::int64_t most)
    : most_(most),
      queries_(of_unit_length(queries)),
      nearest_(at::empty({queries.size(0), 0}, queries.options())),
      kind_(at::empty({queries.size(0), 0}, queries.options().dtype(at::kLong))) {
  if (!queries_.isfinite().all().item<bool>())
    throw std::invalid_argument("the features of the images are no finite numbers; the model has diverged");
}

void Neighbors::add(const Tensor& features, const Tensor& labels) {
  features_.push_back(features);
  labels_.push_back(labels);
  references_ += features.size(0);
  waiting_ += features.size(0);
  if (waiting_ >= kReferencesAtOnce) flush();
}

void Neighbors::flush() {
  if (waiting_ == 0) return;
  const Tensor references = of_unit_length(at::cat(features_)), labels = at::cat(labels_);
  features_.clear();
  labels_.clear();
  waiting_ = 0;
  if (!references.isfinite().all().item<bool>())
    throw std::invalid_argument("the features of the references are no finite numbers; the model has diverged");
  const std::int64_t kept = std::min(most_, references_);
  const std::int64_t rows = std::max<std::int64_t>(1, kNumbersAtOnce / (kept + references.size(0)));
  std::vector<Tensor> nearest, kind;
  for (std::int64_t first = 0; first < queries_.size(0); first += rows) {
    const std::int64_t end = std::min(first + rows, queries_.size(0));
    // What is kept came earlier and so stands further left.
    const Tensor products =
        at::cat({nearest_.slice(0, first, end), queries_.slice(0, first, end).mm(references.t())}, 1);
    const Tensor kinds = at::cat({kind_.slice(0, first, end), labels.unsqueeze(0).expand({end - first, -1})}, 1);
    const Tensor places = largest(products, kept);
    nearest.push_back(products.gather(1, places));
    kind.push_back(kinds.gather(1, places));
  }
  nearest_ = at::cat(nearest);
  kind_ = at::cat(kind);
}

void Neighbors::check(std::int64_t k) const {
  if (k > most_)
    throw std::invalid_argument(std::to_string(k) + " neighbors are asked for and " + std::to_string(most_) +
                                " are kept");
  if (k > references_) {
    throw std::invalid_argument(std::to_string(k) + " neighbors are asked for among " + std::to_string(references_) +
                                " images; ask for fewer (k), or look among more");
  }
}

void Neighbors::count(std::int64_t first, std::int64_t end, const std::vector<std::int64_t>& k, double temperature,
                      std::int64_t classes, const std::function<void(std::int64_t, const Tensor&)>& told) const {
  const Tensor weights = nearest_.slice(0, first, end).to(at::kDouble).div(temperature).exp();
  const Tensor kinds = kind_.slice(0, first, end);
  Tensor votes = at::zeros({end - first, classes}, weights.options());
  // One neighbor at a time: no row adds to a class twice at once, so that the order of the sum is theirs on every device.
  for (std::int64_t j = 0; j < k.back(); ++j) {
    votes.scatter_add_(1, kinds.narrow(1, j, 1), weights.narrow(1, j, 1));
    if (std::binary_search(k.begin(), k.end(), j + 1)) told(j + 1, votes);
  }
}

Tensor Neighbors::votes(std::int64_t k, double temperature, std::int64_t classes) {
  flush();
  check(k);
  Tensor out;
  count(0, queries_.size(0), {k}, temperature, classes, [&](std::int64_t, const Tensor& votes) { out = votes; });
  return out;
}

std::vector<Neighbors::Right> Neighbors::right(const std::vector<std::int64_t>& k, double temperature,
                                               std::int64_t classes, const Tensor& labels) {
  flush();
  std::vector<std::int64_t> ascending = k;
  std::sort(ascending.begin(), ascending.end());
  check(ascending.back());
  std::map<std::int64_t, Right> sums;
  const std::int64_t rows = std::max<std::int64_t>(1, kNumbersAtOnce / classes);
  for (std::int64_t first = 0; first < queries_.size(0); first += rows) {
    const std::int64_t end = std::min(first + rows, queries_.size(0));
    const Tensor own = labels.slice(0, first, end).unsqueeze(1), classes_before = at::arange(classes, own.options());
    count(first, end, ascending, temperature, classes, [&](std::int64_t at_k, const Tensor& votes) {
      const Tensor mine = votes.gather(1, own);
      const Tensor before = votes.gt(mine).logical_or(votes.eq(mine).logical_and(classes_before.lt(own))).sum(1);
      Right& sum = sums[at_k];
      sum.top1 += before.lt(1).sum().item<std::int64_t>();
      sum.top5 += before.lt(std::min<std::int64_t>(5, at_k)).sum().item<std::int64_t>();
    });
  }
  std::vector<Right> out;
  for (const std::int64_t one : k) out.push_back({one, sums[one].top1, sums[one].top5});
  return out;
}

}  // namespace locus::engine
