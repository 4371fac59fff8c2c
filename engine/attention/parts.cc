// Probability terms, taken apart.
#include "engine/attention/parts.h"

#include <limits>

namespace locus::engine {
namespace {

class Summands {
 public:
  explicit Summands(const Scores& scores) : scores_(scores) {
    Scores first = with_values(scores, scores.v);
    first.probability_terms.clear();
    parts_.push_back({std::move(first)});
  }

  void add(const Weighted& term) {
    for (AttentionPart& part : parts_) part.scores.probability_terms.emplace_back(term);
  }

  void add(const Shifted& term) {
    AttentionPart& part = of_place();
    part.scores.probability_terms.emplace_back(Weighted{term.term});
    part.rows = at::full({1, 1, 1, 1}, static_cast<double>(scores_.q.size(2)), numbers());
  }

  void add(const Blended& term) {
    const std::int64_t tokens = scores_.q.size(2), prefix = term.prefix;
    const Tensor patches = term.share.view({1, -1, 1, 1}).expand({1, -1, tokens - prefix, 1});
    const Tensor share = prefix == 0 ? patches : at::constant_pad_nd(patches, {0, 0, prefix, 0});
    for (AttentionPart& part : parts_) part.rows = part.rows.defined() ? part.rows * (1 - share) : 1 - share;
    AttentionPart& part = of_place();
    part.scores.biases = {&term.logits};
    part.rows = share;
    if (prefix == 0) return;
    part.scores.region = at::arange(tokens, numbers().dtype(at::kLong)).lt(prefix).to(at::kChar).unsqueeze(0);
    part.scores.hidden = -std::numeric_limits<double>::infinity();
  }

  std::vector<AttentionPart> take() { return std::move(parts_); }

 private:
  at::TensorOptions numbers() const { return scores_.q.options().dtype(at::kFloat).requires_grad(false); }

  // One more part, whose logits are all 0.
  AttentionPart& of_place() {
    parts_.push_back({Scores{.q = scores_.q,
                             .k = scores_.k,
                             .v = scores_.v,
                             .scale = 0,
                             .scales = {},
                             .biases = {},
                             .probabilities = {},
                             .from_probabilities = {}}});
    return parts_.back();
  }

  const Scores& scores_;
  std::vector<AttentionPart> parts_;
};

}  // namespace

Scores with_values(const Scores& s, const Tensor& values) {
  return {.q = s.q,
          .k = s.k,
          .v = values,
          .scale = s.scale,
          .scales = s.scales,
          .biases = s.biases,
          .sum_scales = s.sum_scales,
          .probabilities = s.probabilities,
          .from_probabilities = s.from_probabilities,
          .region = s.region,
          .hidden = s.hidden,
          .probability_terms = s.probability_terms};
}

std::vector<AttentionPart> attention_parts(const Scores& scores) {
  Summands parts(scores);
  for (const ProbabilityTerm& term : scores.probability_terms)
    std::visit([&](const auto& one) { parts.add(one); }, term);
  return parts.take();
}

}  // namespace locus::engine
