// Attention by scalar loops.
#include "tests/engine/support/reference.h"

#include <cmath>
#include <limits>

namespace locus::engine::test {
namespace {

using View = at::TensorAccessor<double, 4>;
View view(const Tensor& t) { return t.accessor<double, 4>(); }

double dot(const double* a, const double* b, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// One row of queries: logits before the terms, their factor, logits before the factors of the sum, their
// product, probabilities.
struct Row {
  std::vector<double> content, factor, sum, outer, p;
};

Row forward_row(const ReferenceInput& in, std::int64_t b, std::int64_t h, std::int64_t i) {
  const std::int64_t tokens = in.q.size(2), d = in.q.size(3);
  Row row;
  std::vector<double> logits;
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (std::int64_t j = 0; j < tokens; ++j) {
    row.content.push_back(in.scale * dot(view(in.q)[b][h][i].data(), view(in.k)[b][h][j].data(), d));
    double factor = 1, logit = 0;
    for (const Tensor& s : in.scales) factor *= view(s)[b][h][i][j];
    logit = factor * row.content.back();
    for (const Tensor& s : in.biases) logit += view(s)[b][h][i][j];
    double outer = 1;
    for (const Tensor& s : in.sum_scales) outer *= view(s)[b][h][i][j];
    row.factor.push_back(factor);
    row.sum.push_back(logit);
    row.outer.push_back(outer);
    logits.push_back(outer * logit);
    if (in.region.defined()) {
      const auto region = in.region.accessor<std::int8_t, 2>()[b % in.region.size(0)];
      if (region[i] != region[j]) logits.back() -= 100;
    }
    largest = std::max(largest, logits.back());
  }
  for (const double logit : logits) sum += row.p.emplace_back(std::exp(logit - largest));
  for (double& p : row.p) p /= sum;
  return row;
}

void backward_row(const ReferenceInput& in, const Row& row, const double* weight, std::int64_t b, std::int64_t h,
                  std::int64_t i, ReferenceResult& out) {
  const std::int64_t tokens = in.q.size(2), d = in.q.size(3);
  std::vector<double> dp;
  double mean = 0;
  for (std::int64_t j = 0; j < tokens; ++j) {
    const double p = row.p[static_cast<std::size_t>(j)];
    for (std::int64_t c = 0; c < d; ++c) view(out.v)[b][h][j][c] += p * weight[c];
    dp.push_back(dot(weight, view(in.v)[b][h][j].data(), d));
    mean += p * dp.back();
  }
  for (std::int64_t j = 0; j < tokens; ++j) {
    const auto at = static_cast<std::size_t>(j);
    const double whole = row.p[at] * (dp[at] - mean), dl = whole * row.outer[at];
    for (std::size_t s = 0; s < in.sum_scales.size(); ++s) {
      double others = 1;
      for (std::size_t o = 0; o < in.sum_scales.size(); ++o) others *= o == s ? 1 : view(in.sum_scales[o])[b][h][i][j];
      view(out.sum_scales[s])[b][h][i][j] = whole * row.sum[at] * others;
    }
    for (Tensor& g : out.biases) view(g)[b][h][i][j] = dl;
    for (std::size_t s = 0; s < in.scales.size(); ++s) {
      double others = 1;
      for (std::size_t o = 0; o < in.scales.size(); ++o) others *= o == s ? 1 : view(in.scales[o])[b][h][i][j];
      view(out.scales[s])[b][h][i][j] = dl * row.content[at] * others;
    }
    const double da = dl * row.factor[at] * in.scale;
    for (std::int64_t c = 0; c < d; ++c) {
      view(out.q)[b][h][i][c] += da * view(in.k)[b][h][j][c];
      view(out.k)[b][h][j][c] += da * view(in.q)[b][h][i][c];
    }
  }
}

}  // namespace

ReferenceResult reference_attention(const ReferenceInput& in, const Tensor& weight) {
  ReferenceResult out;
  out.out = at::zeros_like(in.v);
  out.q = at::zeros_like(in.q);
  out.k = at::zeros_like(in.k);
  out.v = at::zeros_like(in.v);
  for (const Tensor& s : in.scales) out.scales.push_back(at::zeros_like(s));
  for (const Tensor& s : in.biases) out.biases.push_back(at::zeros_like(s));
  for (const Tensor& s : in.sum_scales) out.sum_scales.push_back(at::zeros_like(s));
  for (std::int64_t b = 0; b < in.q.size(0); ++b) {
    for (std::int64_t h = 0; h < in.q.size(1); ++h) {
      for (std::int64_t i = 0; i < in.q.size(2); ++i) {
        const Row row = forward_row(in, b, h, i);
        for (std::int64_t j = 0; j < in.q.size(2); ++j) {
          for (std::int64_t c = 0; c < in.v.size(3); ++c) {
            view(out.out)[b][h][i][c] += row.p[static_cast<std::size_t>(j)] * view(in.v)[b][h][j][c];
          }
        }
        backward_row(in, row, view(weight)[b][h][i].data(), b, h, i, out);
      }
    }
  }
  return out;
}

Tensor reference_curve_decay(const Tensor& rank, const Tensor& rate, const Tensor& alpha, std::int64_t prefix) {
  const std::int64_t curves = rank.size(0), heads = rate.size(1), tokens = prefix + rank.size(1);
  Tensor out = at::empty({1, heads, tokens, tokens}, at::kDouble);
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t i = 0; i < tokens; ++i) {
      for (std::int64_t j = 0; j < tokens; ++j) {
        double sum = 0;
        for (std::int64_t c = 0; c < curves; ++c) {
          const bool patches = i >= prefix && j >= prefix;
          const int e = patches ? std::abs(rank[c][i - prefix].item<int>() - rank[c][j - prefix].item<int>()) : 0;
          sum += std::pow(std::exp(-rate[c][h].item<double>()), e);
        }
        view(out)[0][h][i][j] = alpha[h].item<double>() * sum / static_cast<double>(curves);
      }
    }
  }
  return out;
}

CurveDecayGradients reference_curve_decay_gradients(const Tensor& rank, const Tensor& rate, const Tensor& alpha,
                                                    std::int64_t prefix, const Tensor& weight) {
  const std::int64_t curves = rank.size(0), heads = rate.size(1), tokens = prefix + rank.size(1);
  CurveDecayGradients out{at::zeros_like(rate), at::zeros_like(alpha)};
  const Tensor mask = reference_curve_decay(rank, rate, at::ones_like(alpha), prefix);
  for (std::int64_t h = 0; h < heads; ++h) {
    const double a = alpha[h].item<double>();
    double d_alpha = 0;
    for (std::int64_t i = 0; i < tokens; ++i) {
      for (std::int64_t j = 0; j < tokens; ++j) {
        const double w = weight[h][i][j].item<double>();
        d_alpha += w * view(mask)[0][h][i][j];
        if (i < prefix || j < prefix) continue;
        for (std::int64_t c = 0; c < curves; ++c) {
          const int e = std::abs(rank[c][i - prefix].item<int>() - rank[c][j - prefix].item<int>());
          out.rate[c][h] -= w * a * e * std::exp(-rate[c][h].item<double>() * e) / static_cast<double>(curves);
        }
      }
    }
    out.alpha[h] = d_alpha;
  }
  return out;
}

Tensor reference_lookup(const Tensor& values, const Tensor& index, bool by_key) {
  const std::int64_t tokens = values.size(2);
  const auto at = index.accessor<std::int64_t, 2>();
  Tensor out = at::zeros({values.size(0), values.size(1), tokens, tokens}, at::kDouble);
  for (std::int64_t b = 0; b < values.size(0); ++b) {
    for (std::int64_t h = 0; h < values.size(1); ++h) {
      for (std::int64_t i = 0; i < tokens; ++i) {
        for (std::int64_t j = 0; j < tokens; ++j) {
          view(out)[b][h][i][j] = by_key ? view(values)[b][h][j][at[j][i]] : view(values)[b][h][i][at[i][j]];
        }
      }
    }
  }
  return out;
}

Tensor reference_lookup_gradient(const Tensor& full, const Tensor& index, bool by_key, std::int64_t rows) {
  const std::int64_t tokens = full.size(2);
  const auto at = index.accessor<std::int64_t, 2>();
  Tensor out = at::zeros({full.size(0), full.size(1), tokens, rows}, at::kDouble);
  for (std::int64_t b = 0; b < full.size(0); ++b) {
    for (std::int64_t h = 0; h < full.size(1); ++h) {
      for (std::int64_t i = 0; i < tokens; ++i) {
        for (std::int64_t j = 0; j < tokens; ++j) {
          view(out)[b][h][by_key ? j : i][by_key ? at[j][i] : at[i][j]] += view(full)[b][h][i][j];
        }
      }
    }
  }
  return out;
}

Tensor reference_distance_decay(const Tensor& positions, const Tensor& slope, std::int64_t prefix) {
  const std::int64_t heads = slope.size(0), tokens = prefix + positions.size(0);
  Tensor out = at::zeros({1, heads, tokens, tokens}, at::kDouble);
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t i = prefix; i < tokens; ++i) {
      for (std::int64_t j = prefix; j < tokens; ++j) {
        double square = 0;
        for (std::int64_t axis = 0; axis < positions.size(1); ++axis) {
          square +=
              std::pow(positions[i - prefix][axis].item<double>() - positions[j - prefix][axis].item<double>(), 2);
        }
        view(out)[0][h][i][j] = -slope[h].item<double>() * std::sqrt(square);
      }
    }
  }
  return out;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined() || a.sizes() != b.sizes()) return std::numeric_limits<double>::infinity();
  const Tensor difference = (a.detach().to(at::kCPU, at::kDouble) - b.detach().to(at::kCPU, at::kDouble)).abs();
  if (difference.numel() == 0) return 0;
  const double largest = difference.max().item<double>();
  return std::isnan(largest) ? std::numeric_limits<double>::infinity() : largest;
}

}  // namespace locus::engine::test
