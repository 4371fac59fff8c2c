// The family of Vision Transformers written out once more, image to features, with plain operations on tensors. What a
// network has besides its blocks follows from which parameters there are.
//
// From Dosovitskiy et al. 2021, Touvron et al. 2021 and 2022 (DeiT, DeiT III), Oquab et al. 2023 and Siméoni et al. 2025
// (DINOv2, DINOv3), and the published code of timm.
#pragma once

#include <cmath>
#include <map>
#include <string>

#include "engine/base/torch.h"

namespace locus::engine::test {

struct PlainVit {
  std::map<std::string, Tensor> p;  // parameters by our names
  std::int64_t heads = 1, patch = 1;
  double eps = 1e-6;
  std::string pool = "mean";           // mean, cls, registers
  std::map<std::string, Tensor> kept;  // factors [B, 1, 1] of branches, "blocks.0.mlp"; 1 where there are none
  Tensor hidden;                       // bool [B, N], or undefined
  bool masked_keys = false;            // the middle third of the bias of queries, keys and values counts as 0

  bool has(const std::string& name) const { return p.contains(name); }

  Tensor norm(const Tensor& x, const std::string& name) const {
    const Tensor centered = x - x.mean(-1, true);
    return centered / (centered.square().mean(-1, true) + eps).sqrt() * p.at(name + ".weight") + p.at(name + ".bias");
  }

  Tensor linear(const Tensor& x, const std::string& name) const {
    const Tensor y = at::matmul(x, p.at(name + ".weight").t());
    return has(name + ".bias") ? y + p.at(name + ".bias") : y;
  }

  // [B, T, 3 D]
  Tensor queries_keys_values(const Tensor& x, const std::string& at) const {
    const std::int64_t width = x.size(-1);
    const Tensor y = at::matmul(x, p.at(at + ".qkv.weight").t());
    const Tensor none = at::zeros({width}, x.options());
    if (has(at + ".q_bias")) return y + at::cat({p.at(at + ".q_bias"), none, p.at(at + ".v_bias")});
    if (!has(at + ".qkv.bias")) return y;
    const Tensor& bias = p.at(at + ".qkv.bias");
    return y + (masked_keys ? at::cat({bias.slice(0, 0, width), none, bias.slice(0, 2 * width)}) : bias);
  }

  Tensor attention(const Tensor& x, const std::string& at) const {
    const std::int64_t batch = x.size(0), tokens = x.size(1), width = x.size(2), each = width / heads;
    const Tensor qkv = queries_keys_values(x, at).view({batch, tokens, 3, heads, each}).permute({2, 0, 3, 1, 4});
    const Tensor weights = at::softmax(at::matmul(qkv[0], qkv[1].mT()) / std::sqrt(static_cast<double>(each)), -1);
    return linear(at::matmul(weights, qkv[2]).transpose(1, 2).reshape({batch, tokens, width}), at + ".out");
  }

  Tensor mlp(const Tensor& x, const std::string& at) const {
    const Tensor inside = linear(x, at + ".in");
    if (!has(at + ".gate.weight")) return linear(0.5 * inside * (1 + at::erf(inside / std::sqrt(2.0))), at + ".out");
    const Tensor gate = linear(x, at + ".gate");
    return linear(gate * at::sigmoid(gate) * inside, at + ".out");
  }

  // What of a branch is added.
  Tensor added(Tensor branch, const std::string& name, const std::string& scale) const {
    if (has(scale)) branch = branch * p.at(scale);
    return kept.contains(name) ? branch * kept.at(name) : branch;
  }

  // [P, D], class token first; undefined where there are none.
  Tensor prefix() const {
    if (has("class_token") && has("registers")) return at::cat({p.at("class_token"), p.at("registers")});
    return has("class_token") ? p.at("class_token") : has("registers") ? p.at("registers") : Tensor();
  }

  // [B, P + N, D]: patches with their positions behind the prefix tokens with theirs.
  Tensor stem(const Tensor& images) const {
    const Tensor& kernel = p.at("embed.weight");
    Tensor x =
        at::conv2d(images, kernel.view({kernel.size(0), images.size(1), patch, patch}), p.at("embed.bias"), patch)
            .flatten(2)
            .transpose(1, 2);
    if (hidden.defined()) x = at::where(hidden.unsqueeze(-1), p.at("mask_token"), x);
    Tensor tokens = prefix();
    if (has("priors.learned-absolute.table")) {
      const Tensor& table = p.at("priors.learned-absolute.table");
      const std::int64_t first = table.size(0) - x.size(1);
      x = x + table.slice(0, first);
      if (first > 0) tokens = at::cat({tokens.slice(0, 0, first) + table.slice(0, 0, first), tokens.slice(0, first)});
    }
    if (tokens.defined()) x = at::cat({tokens.expand({x.size(0), -1, -1}), x}, 1);
    return has("norm_pre.weight") ? norm(x, "norm_pre") : x;
  }

  struct Out {
    Tensor stream, tokens,
        pooled;  // after the last block [B, T, D], after the final norm [B, T, D], what a head reads [B, D]
  };

  Out operator()(const Tensor& images) const {
    Tensor x = stem(images);
    for (std::int64_t l = 0; has("blocks." + std::to_string(l) + ".norm1.weight"); ++l) {
      const std::string at = "blocks." + std::to_string(l);
      x = x + added(attention(norm(x, at + ".norm1"), at + ".attention"), at + ".attention", at + ".scale1");
      x = x + added(mlp(norm(x, at + ".norm2"), at + ".mlp"), at + ".mlp", at + ".scale2");
    }
    const Tensor first = prefix();
    const std::int64_t count = first.defined() ? first.size(0) : 0, classes = has("class_token") ? 1 : 0;
    Tensor tokens = has("norm.weight") ? norm(x, "norm") : x;
    if (has("cls_norm.weight")) tokens = at::cat({norm(x.slice(1, 0, count), "cls_norm"), tokens.slice(1, count)}, 1);
    Tensor pooled = pool == "cls"         ? tokens.select(1, 0)
                    : pool == "registers" ? tokens.slice(1, classes, count).mean(1)
                                          : tokens.slice(1, count).mean(1);
    if (has("fc_norm.weight")) pooled = norm(pooled, "fc_norm");
    return {x, tokens, pooled};
  }
};

}  // namespace locus::engine::test
