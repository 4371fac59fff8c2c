// RMT and SDT-H written out once more, channels last, convolutions as sums over the places of a kernel and decays pair by
// pair: nothing of engine/backbones, engine/attention or engine/priors.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "engine/backbones/backbone.h"

namespace locus::engine::test {

// The network that is written out, and ways to misread it.
struct RmtPlain {
  std::vector<std::int64_t> depths, heads;
  std::vector<bool> lines;    // of each stage: attention within rows, then within columns
  std::vector<double> range;  // of each stage: how the decay grows over the heads
  bool training = false;      // batch norms go by the batch
  bool content = false;       // SDT-H: decay by content, and a gate
  bool outside = false;       // the sigmoid of the gate stands behind both of its maps
  double alpha = 0.1;         // misread: 0.05
  double eps = 1e-6;          // of layer norms; misread: 1e-5
  bool exchanged = false;     // misread: the gates of rows and columns
  bool stem_active = false;   // misread: GELU behind the last convolution of the stem, too
};

using RmtTensors = std::map<std::string, Tensor>;

class RmtDefinition {
 public:
  // Parameters and buffers by full name.
  RmtDefinition(RmtPlain plain, const RmtTensors& tensors) : plain_(std::move(plain)), p_(tensors) {}

  struct Result {
    std::vector<Tensor> stages;  // [B, rows, columns, D] each, after its last block
    Tensor pooled;               // [B, pool width]
  };

  Result run(const Tensor& image) const {
    Tensor x = image.permute({0, 2, 3, 1});
    for (const std::int64_t i : {0, 1, 2, 3}) {
      x = normed_convolution(x, "stem." + std::to_string(i) + ".", i % 2 == 0 ? 2 : 1);
      if (i < 3 || plain_.stem_active) x = gelu(x);
    }
    Result out;
    std::int64_t layer = 0;
    for (std::size_t s = 0; s < plain_.depths.size(); ++s) {
      if (s > 0) x = normed_convolution(x, "stages." + std::to_string(s) + ".entry.", 2);
      for (std::int64_t i = 0; i < plain_.depths[s]; ++i, ++layer) x = block(x, s, i, layer);
      out.stages.push_back(x);
    }
    const Tensor y = batch_norm(linear(x, "pool.map"), "pool.norm.");
    out.pooled = (y * at::sigmoid(y)).mean({1, 2});
    return out;
  }

 private:
  static Tensor gelu(const Tensor& x) { return 0.5 * x * (1 + at::erf(x / std::sqrt(2.0))); }
  Tensor linear(const Tensor& x, const std::string& name) const {
    return at::matmul(x, p_.at(name + ".weight").t()) + p_.at(name + ".bias");
  }
  Tensor layer_norm(const Tensor& x, const std::string& name) const {
    const Tensor centered = x - x.mean(-1, true);
    return centered / (centered.square().mean(-1, true) + plain_.eps).sqrt() * p_.at(name + ".weight") +
           p_.at(name + ".bias");
  }
  Tensor batch_norm(const Tensor& x, const std::string& name) const {
    const Tensor mean = plain_.training ? x.mean({0, 1, 2}) : p_.at(name + "running_mean");
    const Tensor variance = plain_.training ? (x - mean).square().mean({0, 1, 2}) : p_.at(name + "running_var");
    return (x - mean) / (variance + 1e-5).sqrt() * p_.at(name + "weight") + p_.at(name + "bias");
  }

  // `at_place` is given what lies under one place of the kernel, [B, rows', columns', C], and the place.
  template <typename AtPlace>
  static Tensor over_kernel(const Tensor& x, std::int64_t side, std::int64_t stride, AtPlace at_place) {
    const std::int64_t border = side / 2, rows = (x.size(1) + stride - 1) / stride,
                       columns = (x.size(2) + stride - 1) / stride;
    const Tensor wide = at::constant_pad_nd(x, {0, 0, border, border, border, border});
    Tensor sum;
    for (std::int64_t i = 0; i < side; ++i) {
      for (std::int64_t j = 0; j < side; ++j) {
        const Tensor under =
            wide.slice(1, i, i + (rows - 1) * stride + 1, stride).slice(2, j, j + (columns - 1) * stride + 1, stride);
        const Tensor part = at_place(under, i, j);
        sum = sum.defined() ? sum + part : part;
      }
    }
    return sum;
  }
  Tensor normed_convolution(const Tensor& x, const std::string& name, std::int64_t stride) const {
    const Tensor& kernel = p_.at(name + "conv.weight");
    const Tensor out = over_kernel(x, 3, stride, [&](const Tensor& under, std::int64_t i, std::int64_t j) {
      return at::matmul(under, kernel.select(3, j).select(2, i).t());
    });
    return batch_norm(out + p_.at(name + "conv.bias"), name + "norm.");
  }
  Tensor depthwise(const Tensor& x, const std::string& name) const {
    const Tensor& kernel = p_.at(name + ".weight");
    const Tensor out = over_kernel(x, kernel.size(3), 1, [&](const Tensor& under, std::int64_t i, std::int64_t j) {
      return under * kernel.select(3, j).select(2, i).squeeze(1);
    });
    return out + p_.at(name + ".bias");
  }

  static std::string of_prior(const std::string& id, std::size_t stage, const std::string& rest) {
    return "priors." + id + ".stages." + std::to_string(stage) + "." + rest;
  }

  Tensor block(Tensor x, std::size_t stage, std::int64_t place, std::int64_t layer) const {
    const std::string name = "stages." + std::to_string(stage) + ".blocks." + std::to_string(place) + ".",
                      number = "layers." + std::to_string(layer) + ".";
    const auto scaled = [&](const Tensor& branch, const char* which) {
      return p_.contains(name + which) ? branch * p_.at(name + which) : branch;
    };
    x = x + depthwise(x, of_prior("cpe", stage, number + "convolution"));
    x = x + scaled(attention(layer_norm(x, name + "norm1"), stage, name + "attention.", number), "scale1");
    Tensor inside = gelu(linear(layer_norm(x, name + "norm2"), name + "mlp.in"));
    inside = inside + depthwise(inside, name + "mlp.conv");
    return x + scaled(linear(inside, name + "mlp.out"), "scale2");
  }

  Tensor attention(const Tensor& x, std::size_t stage, const std::string& name, const std::string& number) const {
    const std::int64_t heads = plain_.heads[stage], width = x.size(3) / heads;
    const std::vector<Tensor> maps = p_.at(name + "qkv.weight").chunk(3), biases = p_.at(name + "qkv.bias").chunk(3);
    std::vector<Tensor> parts;  // each [B, heads, rows, columns, d]
    for (std::size_t i = 0; i < 3; ++i) {
      parts.push_back((at::matmul(x, maps[i].t()) + biases[i]).unflatten(3, {heads, width}).permute({0, 3, 1, 2, 4}));
    }
    const Tensor q = turned(parts[0]), k = turned(parts[1]) / std::sqrt(static_cast<double>(width));
    const Tensor attended = plain_.lines[stage] ? along_lines(q, k, parts[2], x, stage, number)
                                                : over_grid(q, k, parts[2], x, stage, number);
    const Tensor v = parts[2].permute({0, 2, 3, 1, 4}).flatten(3);
    const std::string lepe =
        plain_.content ? of_prior("spatial-decay", stage, "lepe." + number) : of_prior("lepe", stage, number);
    Tensor out = attended.permute({0, 2, 3, 1, 4}).flatten(3) + depthwise(v, lepe + "convolution");
    if (plain_.content) out = out * gate(x, stage, number);
    return linear(out, name + "out");
  }

  // Neighbors among the channels of q or k turn by the raster index times 10000^(-i / (d/2 - 1)).
  static Tensor turned(const Tensor& x) {
    const std::int64_t rows = x.size(2), columns = x.size(3), pairs = x.size(4) / 2;
    const Tensor place = at::arange(rows * columns, at::kDouble).view({rows, columns, 1});
    std::vector<double> frequency;
    for (std::int64_t i = 0; i < pairs; ++i)
      frequency.push_back(std::pow(10000.0, pairs == 1 ? 0 : -static_cast<double>(i) / static_cast<double>(pairs - 1)));
    const Tensor angle = place * at::tensor(frequency, at::kDouble);
    const Tensor even = x.slice(4, 0, x.size(4), 2), odd = x.slice(4, 1, x.size(4), 2);
    return at::stack({even * angle.cos() - odd * angle.sin(), odd * angle.cos() + even * angle.sin()}, -1).flatten(4);
  }

  // ln(gamma) of each head, [heads, 1, 1].
  Tensor log_gamma(std::size_t stage) const {
    std::vector<double> out;
    const auto heads = static_cast<double>(plain_.heads[stage]);
    for (std::int64_t n = 0; n < plain_.heads[stage]; ++n)
      out.push_back(std::log(1 - std::pow(2.0, -2 - plain_.range[stage] * static_cast<double>(n) / heads)));
    return at::tensor(out, at::kDouble).view({-1, 1, 1});
  }
  // |i - j|, [n, n].
  static Tensor apart(std::int64_t n) {
    const Tensor place = at::arange(n, at::kDouble);
    return (place.unsqueeze(1) - place).abs();
  }
  // What sets the decay of the tokens x [.., D], [.., heads]: ln sigmoid of the map's rows of one axis.
  Tensor content(const Tensor& x, std::size_t stage, const std::string& number, std::int64_t axis) const {
    const Tensor& map = p_.at(of_prior("spatial-decay", stage, number + "decay"));
    const std::int64_t heads = plain_.heads[stage];
    return -at::log(1 + (-at::matmul(x, map.slice(0, axis * heads, (axis + 1) * heads).t())).exp());
  }

  // [B, heads, rows, columns, d]
  Tensor over_grid(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& x, std::size_t stage,
                   const std::string& number) const {
    const std::int64_t rows = q.size(2), columns = q.size(3);
    const Tensor distance = (apart(rows).view({rows, 1, rows, 1}) + apart(columns).view({1, columns, 1, columns}))
                                .view({rows * columns, -1});
    Tensor bias = log_gamma(stage) * distance;  // [heads, N, N]
    if (plain_.content) {
      const Tensor g = content(x, stage, number, 0).flatten(1, 2).transpose(1, 2);  // [B, heads, N]
      bias = -plain_.alpha * (0.5 * (g.unsqueeze(3) + g.unsqueeze(2))).abs() * distance;
    }
    const Tensor logits = at::matmul(q.flatten(2, 3), k.flatten(2, 3).transpose(2, 3)) + bias;
    return at::matmul(at::softmax(logits, -1), v.flatten(2, 3)).unflatten(2, {rows, columns});
  }

  // Within rows, then within columns with what came out as values.
  Tensor along_lines(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& x, std::size_t stage,
                     const std::string& number) const {
    const auto columns_last = [](const Tensor& t) { return t.transpose(2, 3); };
    const Tensor within_rows = within_lines(q, k, v, x, stage, number, plain_.exchanged ? 0 : 1);
    return columns_last(within_lines(columns_last(q), columns_last(k), columns_last(within_rows), x.transpose(1, 2),
                                     stage, number, plain_.exchanged ? 1 : 0));
  }
  // Of lines along the last axis of places; x [B, lines, n, D].
  Tensor within_lines(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& x, std::size_t stage,
                      const std::string& number, std::int64_t gate) const {
    const std::int64_t length = q.size(3);
    Tensor bias = (log_gamma(stage) * apart(length)).unsqueeze(1);  // [heads, 1, n, n]
    if (plain_.content) {
      // The sum of |g_k| over min(i, j) <= k < max(i, j).
      const Tensor place = at::arange(length, at::kDouble), i = place.view({-1, 1, 1}), j = place.view({1, -1, 1});
      const Tensor between = at::logical_and(place >= at::minimum(i, j), place < at::maximum(i, j)).to(at::kDouble);
      const Tensor g = content(x, stage, number, gate).abs().permute({0, 3, 1, 2});  // [B, heads, lines, n]
      bias = -(between * g.unsqueeze(3).unsqueeze(3)).sum(-1);
    }
    return at::matmul(at::softmax(at::matmul(q, k.transpose(3, 4)) + bias, -1), v);
  }

  // U [B, rows, columns, D]
  Tensor gate(const Tensor& x, std::size_t stage, const std::string& number) const {
    const auto sigmoid = [](const Tensor& y) { return 1 / (1 + (-y).exp()); };
    const Tensor low = at::matmul(x, p_.at(of_prior("spatial-decay", stage, number + "down")).t());
    const Tensor up = p_.at(of_prior("spatial-decay", stage, number + "up")).t();
    return plain_.outside ? sigmoid(at::matmul(low, up)) : at::matmul(sigmoid(low), up);
  }

  RmtPlain plain_;
  const RmtTensors& p_;
};

}  // namespace locus::engine::test
