// The file's grid and patch are worked out from shapes alone.
#include "engine/weights/fit.h"

#include <ATen/ops/_upsample_bicubic2d_aa.h>
#include <ATen/ops/linalg_pinv.h>

#include <cmath>

#include "engine/base/failure.h"
#include "engine/layers/offset_table.h"
#include "engine/layers/position_table.h"

namespace locus::engine {
namespace {

// The side of a square of that many; 0: there is none.
std::int64_t side_of(std::int64_t count) {
  const auto side =
      static_cast<std::int64_t>(std::llround(std::sqrt(static_cast<double>(std::max<std::int64_t>(count, 0)))));
  return side * side == count ? side : 0;
}

std::string grid_text(const std::vector<std::int64_t>& grid) {
  return std::to_string(grid.at(0)) + " x " + std::to_string(grid.at(1));
}

// A table taken apart: rows of prefix tokens, then those of a grid.
struct Table {
  std::int64_t prefix = 0;
  std::vector<std::int64_t> grid;
};

// Of `rows` rows those of at most `most` prefix tokens come first.
Table table_of(std::int64_t rows, std::int64_t most, bool square, const std::vector<std::int64_t>& given,
               const std::vector<std::int64_t>& wanted) {
  const std::int64_t patches = wanted[0] * wanted[1];
  const bool same = rows >= patches && rows - patches <= most;
  if (!given.empty()) {
    if (given.size() != 2 || given[0] < 1 || given[1] < 1 || rows < given[0] * given[1] ||
        rows - given[0] * given[1] > most) {
      throw DataError("its position table has " + std::to_string(rows) + " rows, which is no grid " + c10::str(given) +
                      " of rows and columns with at most " + std::to_string(most) +
                      " prefix tokens: correct init.grid");
    }
    return {rows - given[0] * given[1], given};
  }
  if (same && (!square || wanted[0] == wanted[1])) return {rows - patches, wanted};
  for (std::int64_t prefix = 0; prefix <= std::min(most, rows - 1); ++prefix) {
    if (const std::int64_t side = side_of(rows - prefix); side > 0) return {prefix, {side, side}};
  }
  if (same) return {rows - patches, wanted};
  throw DataError("its position table has " + std::to_string(rows) + " rows, which is no square grid with at most " +
                  std::to_string(most) +
                  " prefix tokens: say what grid it is of, init: {weights: {grid: [ROWS, COLUMNS]}}");
}

// Rows of the prefix tokens that the target's table has not become part of the tokens.
void fold(CanonicalWeights& weights, const Tensor& rows, std::int64_t from, std::vector<std::string>& notes) {
  std::int64_t first = 0;
  for (const char* name : {"class_token", "registers"}) {
    const auto found = weights.tensors.find(name);
    if (found == weights.tensors.end()) continue;
    const std::int64_t count = found->second.size(0);
    const std::int64_t begin = std::max(from, first), end = std::min(rows.size(0), first + count);
    if (begin < end && found->second.size(1) == rows.size(1)) {  // else told by whoever compares shapes
      Tensor tokens = found->second.to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
      tokens.slice(0, begin - first, end - first).add_(rows.slice(0, begin, end));
      found->second = tokens;
      notes.push_back("position rows " + std::to_string(begin) + " to " + std::to_string(end - 1) + " are part of " +
                      name + " now");
    }
    first += count;
  }
}

// A table of `old` x `old` offsets as one of `wanted` x `wanted`.
Tensor resized_offsets(const Tensor& table, std::int64_t old, std::int64_t wanted, const std::string& manner) {
  const Tensor rows = table.to(at::promote_types(table.scalar_type(), at::kFloat));
  if (manner != "timm") return resized_positions(rows, {old, old}, {wanted, wanted}, "deit");
  const Tensor weights = geometric_weights(old, wanted);
  const Tensor image = rows.to(at::kDouble).view({old, old, -1}).permute({2, 0, 1});
  return at::matmul(at::matmul(weights, image), weights.t()).flatten(1).t().to(rows.scalar_type());
}

// Of the window with that many offsets along an axis: "7 x 7".
std::string window_text(std::int64_t offsets) { return grid_text({(offsets + 1) / 2, (offsets + 1) / 2}); }

}  // namespace

Tensor resampled_kernel(const Tensor& kernel, std::int64_t patch) {
  const std::int64_t old = kernel.size(-1);
  const Tensor units = at::eye(old * old, at::kDouble).view({old * old, 1, old, old});
  // Row i: what becomes of the image that is 1 at its pixel i and 0 elsewhere.
  const Tensor resize =
      at::_upsample_bicubic2d_aa(units, {patch, patch}, /*align_corners=*/false).reshape({old * old, patch * patch});
  const Tensor inverse = at::linalg_pinv(resize.t());  // [old^2, patch^2]
  return at::matmul(kernel.to(at::kDouble).flatten(2), inverse)
      .view({kernel.size(0), kernel.size(1), patch, patch})
      .to(kernel.scalar_type());
}

std::int64_t FitTarget::patch() const {
  if (!embed.defined() || embed.dim() != 2 || channels < 1 || embed.size(1) % channels != 0) return 0;
  return side_of(embed.size(1) / channels);
}

std::vector<std::int64_t> FitTarget::grid() const {
  const std::int64_t side = patch();
  if (side == 0 || extent.size() != 2) return {};
  return {extent[0] / side, extent[1] / side};
}

void fit_patches(CanonicalWeights& weights, const FitTarget& target, const Fit& fit, std::vector<std::string>& notes) {
  const auto found = weights.tensors.find("embed.weight");
  const std::int64_t patch = target.patch();
  if (found == weights.tensors.end() || patch == 0) return;
  Tensor kernel = found->second;
  if (kernel.dim() == 2) {  // ours: columns are channels, rows, columns of a patch
    for (const std::int64_t channels : {target.channels, std::int64_t{3}, std::int64_t{1}}) {
      const std::int64_t side = kernel.size(1) % channels == 0 ? side_of(kernel.size(1) / channels) : 0;
      if (side == 0) continue;
      kernel = kernel.view({kernel.size(0), channels, side, side});
      break;
    }
  }
  if (kernel.dim() != 4 || kernel.size(2) != kernel.size(3)) {
    throw DataError("its patch embedding has the shape " + c10::str(kernel.sizes()) +
                    ", not that of a square convolution");
  }
  const std::int64_t channels = kernel.size(1), old = kernel.size(2);
  if (channels != target.channels || old != patch) {
    const std::string what = "its patches are of " + std::to_string(channels) + " channels and " + std::to_string(old) +
                             " pixels, the model's of " + std::to_string(target.channels) + " and " +
                             std::to_string(patch);
    if (fit.patch != "resample") {
      throw DataError(what + ": say model: {patch: " + std::to_string(old) +
                      "}, or init: {weights: {patch: resample}} to have the embedding made to fit");
    }
    if (channels != target.channels && target.channels != 1)
      throw DataError(what + ", and channels are only ever summed to one");
    if (channels != target.channels) kernel = kernel.sum(1, /*keepdim=*/true, at::kDouble).to(kernel.scalar_type());
    if (old != patch) kernel = resampled_kernel(kernel, patch);
    notes.push_back("patch embedding resampled: " + what);
  }
  found->second = kernel.flatten(1);
}

void fit_positions(CanonicalWeights& weights, const FitTarget& target, const Fit& fit,
                   std::vector<std::string>& notes) {
  const auto found = weights.tensors.find("position");
  if (found == weights.tensors.end()) return;
  if (fit.position == "drop") {
    weights.ignored.emplace_back("position", "init.position is drop");
    weights.tensors.erase(found);
    return;
  }
  const std::vector<std::int64_t> grid = target.grid();
  if (!target.table.defined() || grid.empty()) return;  // told by whoever compares names
  const Tensor rows = found->second;
  if (rows.dim() != 2 || rows.size(1) != target.table.size(1)) return;  // told by whoever compares shapes
  const Table table = table_of(rows.size(0), weights.prefix_tokens(), weights.layout->square, fit.grid, grid);
  const Tensor prefix = rows.slice(0, 0, table.prefix);
  Tensor patches = rows.slice(0, table.prefix);
  if (table.grid != grid) {
    if (fit.position != "resize") {
      throw DataError("its position table is of " + grid_text(table.grid) + " patches, the model has " +
                      grid_text(grid) + ": say init: {weights: {position: resize}}, or {position: drop} to leave it");
    }
    const std::string manner = fit.resize == "layout" ? weights.resize() : fit.resize;
    patches =
        resized_positions(patches.to(at::promote_types(patches.scalar_type(), at::kFloat)), table.grid, grid, manner);
    notes.push_back("position table resized from " + grid_text(table.grid) + " to " + grid_text(grid) + " as in " +
                    manner);
  }
  const std::int64_t kept = target.table.size(0) - grid[0] * grid[1];
  fold(weights, prefix, kept, notes);
  const std::int64_t lacking = std::max<std::int64_t>(kept - table.prefix, 0);
  found->second = at::cat({prefix.slice(0, 0, std::min(kept, table.prefix)).to(patches.scalar_type()),
                           at::zeros({lacking, patches.size(1)}, patches.options()), patches});
}

void fit_windows(CanonicalWeights& weights, const std::map<std::string, Tensor>& model, const Fit& fit,
                 std::vector<std::string>& notes) {
  if (!weights.layout->square) return;
  std::vector<std::string> dropped, done;
  for (auto& [name, table] : weights.tensors) {
    const auto own = model.find(name);
    if (!name.starts_with("priors.relative-bias.") || own == model.end() || table.dim() != 2) continue;
    if (table.size(1) != own->second.size(1) || table.size(0) == own->second.size(0)) continue;
    const std::int64_t old = side_of(table.size(0)), wanted = side_of(own->second.size(0));
    if (old % 2 == 0 || wanted % 2 == 0) continue;  // told by whoever compares shapes
    if (fit.position == "drop") {
      dropped.push_back(name);
      continue;
    }
    if (fit.position != "resize") {
      throw DataError("'" + name + "' is of windows of " + window_text(old) + " patches, the model's are of " +
                      window_text(wanted) + ": say model: {window: " + std::to_string((old + 1) / 2) +
                      "}, or init: {weights: {position: resize}}, or {position: drop} to leave such tables");
    }
    table = resized_offsets(table, old, wanted, fit.resize == "layout" ? weights.resize() : fit.resize);
    done.push_back(name);
  }
  for (const std::string& name : dropped) {
    weights.ignored.emplace_back(name, "init.position is drop");
    weights.tensors.erase(name);
  }
  if (!done.empty()) notes.push_back("resized to the windows of the model: " + listed(done));
}

}  // namespace locus::engine
