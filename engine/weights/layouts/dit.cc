// Diffusion Transformers under the names of their code, time and label embeddings and final layer included: what samples
// are drawn from is below "ema." in a training checkpoint.
//
// Source: Peebles and Xie 2023, arXiv:2212.09748; facebookresearch/DiT, models.py.
#include <cmath>

#include "engine/base/failure.h"
#include "engine/weights/layouts.h"

namespace locus::engine::layouts {
namespace {

constexpr double kNear = 1e-4;  // averaging of weights moves the table's last bits, too

// [N, D] of a square grid: the column in the first half of the channels, the row in the second, sines before cosines.
Tensor table_of(std::int64_t side, std::int64_t width) {
  const Tensor exponents = at::arange(width / 4, at::kDouble).mul(-4.0 / static_cast<double>(width));
  const Tensor places = at::arange(side, at::kDouble).unsqueeze(1) * at::pow(10000.0, exponents);
  const Tensor waves = at::cat({places.sin(), places.cos()}, 1);  // [side, D / 2]
  const auto over = [&](const Tensor& one) { return one.expand({side, side, width / 2}); };
  return at::cat({over(waves.unsqueeze(0)), over(waves.unsqueeze(1))}, -1).flatten(0, 1);
}

// The table is no parameter of ours: it must be the one that prior sincos-2d computes (a test compares the two).
void verify(const std::string& name, const Tensor& tensor) {
  if (!name.ends_with("pos_embed")) return;
  const std::int64_t width = tensor.dim() > 1 ? tensor.size(-1) : 0, rows = width > 0 ? tensor.numel() / width : 0;
  const auto side = static_cast<std::int64_t>(std::llround(std::sqrt(static_cast<double>(rows))));
  if (rows == 0 || side * side != rows || width % 4 != 0)
    throw DataError("its table '" + name + "' of shape " + c10::str(tensor.sizes()) + " is of no square grid");
  const Tensor given = tensor.to(at::kDouble).reshape({rows, width});
  if ((given - table_of(side, width)).abs().max().item<double>() < kNear) return;
  throw DataError("its table '" + name + "' is not that of prior sincos-2d, which stands for it here");
}

}  // namespace

WeightsLayout dit() {
  return {.item = Item("layout", "dit", 1, "Diffusion Transformers"),
          .marks = {{"x_embedder.proj.weight", "t_embedder.mlp.0.weight"}},
          .strip = wrappers(),
          .rules = {{"x_embedder.proj.{p}", "embed.{p}"},
                    {"pos_embed", "the frozen table of prior sincos-2d", Step::kUnused},
                    {"t_embedder.mlp.0.{p}", "time.in.{p}"},
                    {"t_embedder.mlp.2.{p}", "time.out.{p}"},
                    {"y_embedder.embedding_table.weight", "label.table"},
                    {"blocks.{i}.attn.qkv.{p}", "blocks.{i}.attention.qkv.{p}"},
                    {"blocks.{i}.attn.proj.{p}", "blocks.{i}.attention.out.{p}"},
                    {"blocks.{i}.mlp.fc1.{p}", "blocks.{i}.mlp.in.{p}"},
                    {"blocks.{i}.mlp.fc2.{p}", "blocks.{i}.mlp.out.{p}"},
                    {"blocks.{i}.adaLN_modulation.1.{p}", "blocks.{i}.modulation.{p}"},
                    {"final_layer.adaLN_modulation.1.{p}", "final.modulation.{p}"},
                    {"final_layer.linear.{p}", "final.map.{p}"}},
          .resize = "deit",
          .resize_with_registers = "deit",
          .writes = false,  // denoiser_export.h does
          .verify = verify};
}

}  // namespace locus::engine::layouts
