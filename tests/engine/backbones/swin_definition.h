// Swin Transformer written out once more, by rolling and slicing grids, a loop over windows and masks by region: nothing
// of engine/backbones or engine/attention.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "engine/backbones/backbone.h"

namespace locus::engine::test {

// Windows of a stage and the shift of its odd blocks.
struct SwinWindows {
  std::int64_t rows, columns, down, right;
};

// The network that is written out, and ways to misread it.
struct SwinPlain {
  std::int64_t patch = 2;
  std::vector<std::int64_t> depths, heads;
  std::vector<SwinWindows> windows;  // of each stage
  bool second = false;
  bool pad_first = true;
  bool masked = true;            // misread: pairs of opposite borders see each other
  bool padding_seen = true;      // misread: places without tokens are hidden
  bool columns_last = true;      // misread: cells are merged in raster order
  std::int64_t pretraining = 0;  // side of the window that offsets are read by; 0: the stage's
  double eps = 1e-5;             // misread: 1e-6
};

using SwinParameters = std::map<std::string, Tensor>;

class SwinDefinition {
 public:
  SwinDefinition(SwinPlain plain, const SwinParameters& parameters) : plain_(std::move(plain)), p_(parameters) {}

  struct Result {
    Tensor tokens;               // [B, N, D] after the final norm
    std::vector<Tensor> stages;  // [B, rows, columns, D] each, before merging
  };

  Result run(const Tensor& image) const {
    const std::int64_t patch = plain_.patch;
    const Tensor& kernel = p_.at("embed.weight");
    const Tensor whole = at::constant_pad_nd(
        image, {0, (patch - image.size(3) % patch) % patch, 0, (patch - image.size(2) % patch) % patch});
    Tensor x = at::conv2d(whole, kernel.view({kernel.size(0), image.size(1), patch, patch}), p_.at("embed.bias"), patch)
                   .permute({0, 2, 3, 1});
    x = norm(x, "embed_norm");
    Result out;
    std::int64_t layer = 0;
    for (std::size_t s = 0; s < plain_.depths.size(); ++s) {
      if (s > 0) x = merged(x, "stages." + std::to_string(s) + ".entry.");
      for (std::int64_t i = 0; i < plain_.depths[s]; ++i, ++layer) x = block(x, s, i, layer);
      out.stages.push_back(x);
    }
    out.tokens = norm(x, "norm").flatten(1, 2);
    return out;
  }

 private:
  Tensor norm(const Tensor& x, const std::string& name) const {
    const Tensor centered = x - x.mean(-1, true);
    return centered / (centered.square().mean(-1, true) + plain_.eps).sqrt() * p_.at(name + ".weight") +
           p_.at(name + ".bias");
  }
  Tensor linear(const Tensor& x, const std::string& name) const {
    const Tensor y = at::matmul(x, p_.at(name + ".weight").t());
    return p_.contains(name + ".bias") ? y + p_.at(name + ".bias") : y;
  }

  Tensor merged(const Tensor& given, const std::string& name) const {
    Tensor x = at::constant_pad_nd(given, {0, 0, 0, given.size(2) % 2, 0, given.size(1) % 2});
    const auto corner = [&](std::int64_t row, std::int64_t column) {
      return x.slice(1, row, std::nullopt, 2).slice(2, column, std::nullopt, 2);
    };
    const Tensor cells = plain_.columns_last ? at::cat({corner(0, 0), corner(1, 0), corner(0, 1), corner(1, 1)}, -1)
                                             : at::cat({corner(0, 0), corner(0, 1), corner(1, 0), corner(1, 1)}, -1);
    return plain_.second ? norm(linear(cells, name + "map"), name + "norm")
                         : linear(norm(cells, name + "norm"), name + "map");
  }

  Tensor block(Tensor x, std::size_t stage, std::int64_t place, std::int64_t layer) const {
    const std::string name = "stages." + std::to_string(stage) + ".blocks." + std::to_string(place);
    const auto mlp = [&](const Tensor& t) {
      const Tensor inside = linear(t, name + ".mlp.in");
      return linear(0.5 * inside * (1 + at::erf(inside / std::sqrt(2.0))), name + ".mlp.out");
    };
    const auto windows = [&](const Tensor& t) { return in_windows(t, stage, place, layer); };
    if (plain_.second) {
      x = x + norm(windows(x), name + ".norm1");
      return x + norm(mlp(x), name + ".norm2");
    }
    x = x + windows(norm(x, name + ".norm1"));
    return x + mlp(norm(x, name + ".norm2"));
  }

  // Tokens [B, rows, columns, D], filled up with zeros to whole windows.
  static Tensor filled(const Tensor& x, const SwinWindows& w) {
    const auto lacking = [](std::int64_t side, std::int64_t window) { return (window - side % window) % window; };
    return at::constant_pad_nd(x, {0, 0, 0, lacking(x.size(2), w.columns), 0, lacking(x.size(1), w.rows)});
  }
  Tensor laid_out(const Tensor& x, const SwinWindows& w) const {
    return plain_.pad_first ? at::roll(filled(x, w), {-w.down, -w.right}, {1, 2})
                            : filled(at::roll(x, {-w.down, -w.right}, {1, 2}), w);
  }

  Tensor in_windows(const Tensor& x, std::size_t stage, std::int64_t place, std::int64_t layer) const {
    SwinWindows w = plain_.windows[stage];
    if (place % 2 == 0) w.down = w.right = 0;
    const std::int64_t rows = x.size(1), columns = x.size(2);
    const Tensor grid = laid_out(x, w);
    const Tensor tokens = laid_out(at::ones_like(x.slice(0, 0, 1).slice(3, 0, 1)), w);  // 0: there is none
    const Tensor regions = regions_of(grid.size(1), grid.size(2), w);
    std::vector<Tensor> bands;
    for (std::int64_t top = 0; top < grid.size(1); top += w.rows) {
      std::vector<Tensor> band;
      for (std::int64_t left = 0; left < grid.size(2); left += w.columns) {
        const auto cut = [&](const Tensor& t, std::int64_t axis) {
          return t.slice(axis, top, top + w.rows).slice(axis + 1, left, left + w.columns);
        };
        const Tensor region = cut(regions, 0).flatten(), there = cut(tokens, 1).flatten();
        Tensor mask = plain_.masked ? -100.0 * region.unsqueeze(1).ne(region.unsqueeze(0)).to(at::kDouble)
                                    : at::zeros({region.numel(), region.numel()}, at::kDouble);
        if (!plain_.padding_seen) mask = mask - 100 * (1 - there).unsqueeze(0);
        band.push_back(window(cut(grid, 1), mask, w, stage, place, layer));
      }
      bands.push_back(at::cat(band, 2));
    }
    Tensor out = at::cat(bands, 1);
    if (!plain_.pad_first) out = out.slice(1, 0, rows).slice(2, 0, columns);
    out = at::roll(out, {w.down, w.right}, {1, 2});
    return out.slice(1, 0, rows).slice(2, 0, columns);
  }

  // The nine regions of a shifted grid by their numbers.
  static Tensor regions_of(std::int64_t rows, std::int64_t columns, const SwinWindows& w) {
    const auto band = [](std::int64_t at, std::int64_t side, std::int64_t window, std::int64_t shift) {
      return shift == 0 || at < side - window ? 0 : at < side - shift ? 1 : 2;
    };
    Tensor out = at::zeros({rows, columns}, at::kLong);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c)
        out[r][c] = 3 * band(r, rows, w.rows, w.down) + band(c, columns, w.columns, w.right);
    }
    return out;
  }

  // One window of all images: [B, h, w, D] -> the same.
  Tensor window(const Tensor& x, const Tensor& mask, const SwinWindows& w, std::size_t stage, std::int64_t place,
                std::int64_t layer) const {
    const std::string name = "stages." + std::to_string(stage) + ".blocks." + std::to_string(place) + ".attention.";
    const std::int64_t width = x.size(3), heads = plain_.heads[stage], head_width = width / heads;
    Tensor projected = linear(x.flatten(1, 2), name + "qkv");
    if (p_.contains(name + "q_bias")) {
      const Tensor& q_bias = p_.at(name + "q_bias");
      projected = projected + at::cat({q_bias, at::zeros_like(q_bias), p_.at(name + "v_bias")});
    }
    const auto heads_of = [&](std::int64_t part) {
      return projected.slice(2, part * width, (part + 1) * width).unflatten(2, {heads, head_width}).transpose(1, 2);
    };
    const Tensor q = heads_of(0), k = heads_of(1), v = heads_of(2);
    const Tensor logits = scores(q, k, stage, layer) + bias(w, stage, layer) + mask;
    const Tensor out = at::matmul(at::softmax(logits, -1), v).transpose(1, 2).flatten(2);
    return linear(out, name + "out").unflatten(1, {w.rows, w.columns});
  }

  std::string of_prior(const char* prior, std::size_t stage, std::int64_t layer) const {
    return std::string("priors.") + prior + ".stages." + std::to_string(stage) + ".layers." + std::to_string(layer) +
           ".";
  }

  Tensor scores(const Tensor& q, const Tensor& k, std::size_t stage, std::int64_t layer) const {
    if (!plain_.second) return at::matmul(q, k.mT()) / std::sqrt(static_cast<double>(q.size(-1)));
    const auto unit = [](const Tensor& t) { return t / t.square().sum(-1, true).clamp_min(1e-24).sqrt(); };
    const Tensor factor = p_.at(of_prior("log-cpb", stage, layer) + "logit_scale").clamp_max(std::log(100.0)).exp();
    return at::matmul(unit(q), unit(k).mT()) * factor.view({-1, 1, 1});
  }

  // [heads, T, T], pair by pair.
  Tensor bias(const SwinWindows& w, std::size_t stage, std::int64_t layer) const {
    const std::int64_t places = w.rows * w.columns;
    std::vector<std::int64_t> rows;
    std::vector<double> offsets;
    for (std::int64_t i = 0; i < places; ++i) {
      for (std::int64_t j = 0; j < places; ++j) {
        const std::int64_t down = i / w.columns - j / w.columns, right = i % w.columns - j % w.columns;
        rows.push_back((down + w.rows - 1) * (2 * w.columns - 1) + right + w.columns - 1);
        offsets.push_back(spaced(down, plain_.pretraining > 0 ? plain_.pretraining : w.rows));
        offsets.push_back(spaced(right, plain_.pretraining > 0 ? plain_.pretraining : w.columns));
      }
    }
    Tensor pairs;  // [T T, heads]
    if (plain_.second) {
      const std::string mlp = of_prior("log-cpb", stage, layer) + "mlp.";
      const Tensor u = at::tensor(offsets, at::kDouble).view({-1, 2});
      const Tensor hidden = at::relu(at::matmul(u, p_.at(mlp + "in_weight").t()) + p_.at(mlp + "in_bias"));
      pairs = 16 * at::sigmoid(at::matmul(hidden, p_.at(mlp + "out_weight").t()));
    } else {
      pairs = p_.at(of_prior("relative-bias", stage, layer) + "table").index_select(0, at::tensor(rows, at::kLong));
    }
    return pairs.view({places, places, -1}).permute({2, 0, 1});
  }
  // Swin V2, equation 4, of an offset between -1 and 1 times 8.
  static double spaced(std::int64_t offset, std::int64_t side) {
    const double v = 8.0 * static_cast<double>(offset) / static_cast<double>(std::max<std::int64_t>(side - 1, 1));
    return std::copysign(std::log2(1 + std::abs(v)) / 3, v);
  }

  SwinPlain plain_;
  const SwinParameters& p_;
};

}  // namespace locus::engine::test
