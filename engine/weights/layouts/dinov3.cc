// DINOv3, its own names and timm's (EVA with rotary positions): four registers, LayerScale, no position table. The bias of
// the keys is masked to 0. timm's files have no bias of queries, keys and values at all (model: {qkv_bias: false}).
//
// Source: Siméoni et al. 2025, arXiv:2508.10104; facebookresearch/dinov3; timm 1.0.20, eva.py.
#include "engine/weights/layouts.h"

namespace locus::engine::layouts {

WeightsLayout dinov3() {
  return {.item = Item("layout", "dinov3", 1, "DINOv3, its own names or timm's"),
          .marks = {{"storage_tokens"}, {"reg_token", "blocks.0.gamma_1"}},
          .strip = wrappers(),
          .rules = with({{"storage_tokens", "registers", Step::kRows},
                         {"blocks.{i}.attn.qkv.bias_mask", "blocks.{i}.attention.qkv.bias", Step::kBinaryMask},
                         {"mask_token", "mask_token"},
                         {"cls_norm.{p}", "cls_norm.{p}"},
                         {"rope_embed.periods", "follows from the settings of rotary positions", Step::kUnused},
                         {"local_cls_norm.{p}", "of training alone", Step::kUnused}},
                        with(gate_rules("apart"), vit_rules())),
          .resize = "timm",
          .resize_with_registers = "timm"};
}

}  // namespace locus::engine::layouts
