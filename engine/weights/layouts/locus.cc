// Models of Locus: exported ones, and the model of a training checkpoint.
#include "engine/weights/layouts.h"

namespace locus::engine::layouts {

WeightsLayout locus() {
  return {.item = Item("layout", "locus", 1, "a model that was trained here"),
          .marks = {{"embed.weight", "blocks.0.attention.qkv.weight"},
                    {"embed.weight", "stages.0.blocks.0.attention.qkv.weight"},
                    {"stem.0.conv.weight", "stages.0.blocks.0.attention.qkv.weight"}},
          .strip = {"backbone."},
          .rules = {{"priors.learned-absolute.table", "position"},
                    {"priors.**", "priors.**"},
                    {"embed.{p}", "embed.{p}"},
                    {"class_token", "class_token", Step::kRows},
                    {"registers", "registers", Step::kRows},
                    {"blocks.**", "blocks.**"},
                    {"mask_token", "mask_token", Step::kRows},
                    {"embed_norm.{p}", "embed_norm.{p}"},
                    {"stem.**", "stem.**"},
                    {"stages.**", "stages.**"},
                    {"pool.**", "pool.**"},
                    {"norm.{p}", "norm.{p}"},
                    {"norm_pre.{p}", "norm_pre.{p}"},
                    {"cls_norm.{p}", "cls_norm.{p}"},
                    {"fc_norm.{p}", "fc_norm.{p}"},
                    {"head.{p}", "head.{p}"},
                    {"head_distilled.{p}", "head_distilled.{p}"},
                    {"decoder.**", "decoder.**"},
                    {"maps.**", "maps.**"},
                    {"time.**", "time.**"},
                    {"label.**", "label.**"},
                    {"final.**", "final.**"}},
          .resize = "deit",
          .resize_with_registers = "deit",
          .square = false,
          .writes = false};
}

}  // namespace locus::engine::layouts
