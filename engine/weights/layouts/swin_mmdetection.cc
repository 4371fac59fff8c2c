// Swin Transformers of OpenMMLab: mmdetection, mmpretrain, mmsegmentation. Merging reads a cell by channel, row and column,
// so that its maps and norms have another order. Every output of a stage has a norm, the last of which stands where the
// network has its own.
//
// Source: mmdetection 3.3, models/backbones/swin.py; mmcv, PatchMerging.
#include "engine/weights/layouts.h"

namespace locus::engine::layouts {
namespace {

constexpr const char* kDecoder = "part of a detector, which is no backbone";

}  // namespace

WeightsLayout swin_mmdetection() {
  std::vector<LayoutRule> rules = {
      {"absolute_pos_embed", "position", Step::kRows},
      {"stages.{s}.downsample.norm.{p}", "stages.{s+1}.entry.norm.{p}", Step::kUnfolded},
      {"stages.{s}.downsample.reduction.weight", "stages.{s+1}.entry.map.weight", Step::kUnfolded},
      {"norm3.{p}", "norm.{p}"},
      {"head.fc.{p}", "head.{p}"}};
  for (const char* norm : {"norm0.{p}", "norm1.{p}", "norm2.{p}"})
    rules.push_back({norm, "the norm of a stage's output, which a decoder has", Step::kUnused});
  for (const char* head : {"neck.**", "rpn_head.**", "roi_head.**", "bbox_head.**", "mask_head.**", "decode_head.**"})
    rules.push_back({head, kDecoder, Step::kUnused});
  return {.item = Item("layout", "swin-mmdetection", 1, "Swin Transformers of mmdetection and mmpretrain"),
          .marks = {{"stages.0.blocks.0.attn.w_msa.qkv.weight"}},
          .strip = wrappers(),
          .rules = with(std::move(rules), swin_rules({.block = "stages.{s}.blocks.{i}.",
                                                      .attention = "attn.w_msa.",
                                                      .embed = "projection",
                                                      .in = "ffn.layers.0.0",
                                                      .out = "ffn.layers.1"})),
          .resize = "deit",
          .resize_with_registers = "deit"};
}

}  // namespace locus::engine::layouts
