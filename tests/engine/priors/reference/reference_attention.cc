// Softmax attention by scalar loops.
#include "tests/engine/priors/reference/reference_attention.h"

namespace locus::engine::test {
namespace {

Array content_logits(const Array& q, const Array& k) {
  const std::int64_t tokens = q.size(2), d = q.size(3);
  Array logits({q.size(0), q.size(1), tokens, tokens});
  for (std::int64_t b = 0; b < q.size(0); ++b) {
    for (std::int64_t h = 0; h < q.size(1); ++h) {
      for (std::int64_t i = 0; i < tokens; ++i) {
        for (std::int64_t j = 0; j < tokens; ++j) {
          Real sum = 0.0;
          for (std::int64_t c = 0; c < d; ++c) sum += q(b, h, i, c) * k(b, h, j, c);
          logits(b, h, i, j) = sum / std::sqrt(static_cast<double>(d));
        }
      }
    }
  }
  return logits;
}

void hide(Array& logits, const Hides& hides) {
  for (std::int64_t b = 0; b < logits.size(0); ++b) {
    for (std::int64_t h = 0; h < logits.size(1); ++h) {
      for (std::int64_t i = 0; i < logits.size(2); ++i) {
        for (std::int64_t j = 0; j < logits.size(3); ++j) {
          if (hides(b, i, j)) logits(b, h, i, j) += -100.0;
        }
      }
    }
  }
}

}  // namespace

void add(Array& to, const Array& what) {
  if (to.shape() != what.shape()) throw std::out_of_range("a sum of different shapes");
  for (std::size_t i = 0; i < to.data().size(); ++i) to.data()[i] += what.data()[i];
}

void multiply(Array& to, const Array& what) {
  if (to.shape() != what.shape()) throw std::out_of_range("a product of different shapes");
  for (std::size_t i = 0; i < to.data().size(); ++i) to.data()[i] *= what.data()[i];
}

Array reference_heads(const Array& projected, std::int64_t part, std::int64_t heads) {
  const std::int64_t width = projected.size(2) / 3, d = width / heads;
  Array out({projected.size(0), heads, projected.size(1), d});
  for (std::int64_t b = 0; b < out.size(0); ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t t = 0; t < out.size(2); ++t) {
        for (std::int64_t c = 0; c < d; ++c) out(b, h, t, c) = projected(b, t, part * width + h * d + c);
      }
    }
  }
  return out;
}

Array reference_softmax(const std::vector<ReferenceHere>& priors, const Array& q, const Array& k, const Array& v,
                        const Hides& hides) {
  Array logits = content_logits(q, k);
  const auto scale_by = [&](bool of_sum) {
    for (const ReferenceHere& here : priors) {
      if (here.prior.scales_biases(here.context) != of_sum) continue;
      const Array factor = here.prior.scale(here.context);
      if (!factor.empty()) multiply(logits, factor);
    }
  };
  scale_by(false);
  for (const ReferenceHere& here : priors) {
    const Array summand = here.prior.bias(here.context);
    if (!summand.empty()) add(logits, summand);
  }
  scale_by(true);
  if (hides) hide(logits, hides);
  Array p = softmax(logits);
  for (const ReferenceHere& here : priors) here.prior.probabilities(here.context, p);
  Array out(q.shape());
  for (std::int64_t b = 0; b < out.size(0); ++b) {
    for (std::int64_t h = 0; h < out.size(1); ++h) {
      for (std::int64_t i = 0; i < out.size(2); ++i) {
        for (std::int64_t c = 0; c < out.size(3); ++c) {
          for (std::int64_t j = 0; j < out.size(2); ++j) out(b, h, i, c) += p(b, h, i, j) * v(b, h, j, c);
        }
      }
    }
  }
  for (const ReferenceHere& here : priors) {
    const Array more = here.prior.from_probabilities(here.context, p);
    if (!more.empty()) add(out, more);
  }
  return out;
}

}  // namespace locus::engine::test
