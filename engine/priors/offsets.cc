// Offsets of patches and their entries.
#include "engine/priors/offsets.h"

namespace locus::engine {

std::int64_t offset_count(const Layout& layout) {
  std::int64_t count = 1;
  for (const std::int64_t extent : layout.extent) count *= 2 * extent - 1;
  return count;
}

Tensor offsets(const Layout& layout, at::TensorOptions options) {
  Layout wide{{}, 0};
  std::vector<std::int64_t> first;
  for (const std::int64_t extent : layout.extent) {
    wide.extent.push_back(2 * extent - 1);
    first.push_back(extent - 1);
  }
  return grid_positions(wide, options) - at::tensor(first, at::kLong).to(options);
}

namespace {

// A number for each of `positions` [.., rank] on the grid that tells offsets apart by its differences, int32.
Tensor codes(const Tensor& positions, const Layout& grid) {
  Tensor code = at::zeros({positions.size(0)}, positions.options());
  for (std::size_t axis = 0; axis < grid.extent.size(); ++axis)
    code = code * (2 * grid.extent[axis] - 1) + positions.select(1, static_cast<std::int64_t>(axis));
  return code;
}

Tensor integer_positions(const Layout& layout, at::Device device) {
  return grid_positions(layout, at::TensorOptions(at::kInt).device(device));
}

}  // namespace

PairIndex::Rule offset_rule(const Layout& layout, at::Device device, const PrefixRows& prefix) {
  const std::int64_t count = offset_count(layout);
  return {.code = codes(integer_positions(layout, device), layout),
          .shift = count / 2,  // offset 0 is the middle one
          .map = {},
          .prefix = layout.prefix,
          .from_prefix = count + prefix.from_prefix,
          .to_prefix = count + prefix.to_prefix,
          .among_prefix = count + prefix.within};
}

PairIndex::Rule axis_rule(const Layout& layout, std::size_t axis, at::Device device) {
  const Tensor position = integer_positions(layout, device);
  const std::int64_t extent = layout.extent.at(axis), outside = 2 * extent - 1;
  return {.code = position.select(1, static_cast<std::int64_t>(axis)).contiguous(),
          .shift = extent - 1,
          .map = {},
          .prefix = layout.prefix,
          .from_prefix = outside,
          .to_prefix = outside,
          .among_prefix = outside};
}

Layout with_origin(const Layout& layout) {
  Layout wider{layout.extent, 0};
  for (std::int64_t& extent : wider.extent) ++extent;
  return wider;
}

PairIndex::Rule origin_rule(const Layout& layout, at::Device device) {
  const Layout wider = with_origin(layout);
  const Tensor at_token = behind_origin(integer_positions(layout, device) + 1, layout.prefix);
  return {.code = codes(at_token, wider), .shift = offset_count(wider) / 2};
}

RelativeTable offset_bias(const Tensor& values, const PairIndex& index) {
  const bool prefixed = index.rule()->prefix > 0;
  return {.table = (prefixed ? at::constant_pad_nd(values, {0, 1}) : values).unsqueeze(0), .index = index};
}

Tensor lookup_rows(const Tensor& side, const Tensor& table) {
  return at::matmul(side, table.size(0) == 1 ? table.squeeze(0) : table);
}

}  // namespace locus::engine
