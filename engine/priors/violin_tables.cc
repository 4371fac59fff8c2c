// Ranks and distances of patches, as violin.cc defines them.
#include "engine/priors/violin_tables.h"

#include <ATen/ops/upsample_bilinear2d.h>
#include <ATen/ops/upsample_trilinear3d.h>

#include "engine/base/random.h"
#include "engine/priors/curves.h"
#include "engine/priors/offsets.h"

namespace locus::engine::priors {

std::int64_t ViolinSettings::repeats(const Layout& layout) const {
  return per_frame && layout.extent.size() == 3 ? layout.extent[0] : 1;
}

const std::shared_ptr<const CurveRanks>& ViolinTables::ranks(const Layout& layout, at::Device device,
                                                             at::ScalarType type) {
  forget_old_order();
  return ranks_.get(layout, device, type, [&] {
    return std::make_shared<const CurveRanks>(rows(layout).to(device), layout.prefix, settings.curves);
  });
}

const AxisDistances& ViolinTables::manhattan(const Layout& layout, const Tensor& like) {
  return distances_.get(layout, like.device(), like.scalar_type(), [&] {
    const Tensor apart = offsets(layout, like.options()).abs().t();
    return AxisDistances{settings.separate_axes ? apart.contiguous() : apart.sum(0, /*keepdim=*/true),
                         offset_rule(layout, like.device())};
  });
}

Tensor ViolinTables::along_learned_order(const Layout& layout, at::ScalarType type) const {
  Tensor z = place.to(type);
  if (layout.extent != reference.extent) {
    const Tensor map = z.unflatten(0, reference.extent).unsqueeze(0).unsqueeze(0);
    z = (map.dim() == 4 ? at::upsample_bilinear2d(map, layout.extent, /*align_corners=*/false)
                        : at::upsample_trilinear3d(map, layout.extent, /*align_corners=*/false))
            .flatten();
  }
  const Tensor ahead = (z.unsqueeze(1) - z.unsqueeze(0)) * static_cast<double>(layout.patches());
  const Tensor rank = at::sigmoid(ahead).sum(1);
  return (rank.unsqueeze(1) - rank.unsqueeze(0)).abs();
}

Tensor ViolinTables::rows(const Layout& layout) const {
  if (settings.distance == "z-curve") return at::arange(layout.patches(), at::kInt).unsqueeze(0);
  if (settings.distance == "random") return shuffled(layout.patches()).unsqueeze(0);
  const std::int64_t repeats = settings.repeats(layout);
  std::vector<std::int64_t> extent = layout.extent;
  if (repeats > 1) extent.erase(extent.begin());
  std::vector<Tensor> rows;
  for (const std::string& curve : settings.curves) rows.push_back(at::tensor(curve_ranks(curve, extent), at::kInt));
  return at::stack(rows).repeat({1, repeats});
}

Tensor ViolinTables::shuffled(std::int64_t patches) const {
  const Tensor numbers = order.to(at::kCPU, at::kDouble).contiguous();
  std::uint64_t seed = 0;
  for (std::int64_t i = 0; i < numbers.numel(); ++i)
    seed = seed * 256 + static_cast<std::uint64_t>(numbers.const_data_ptr<double>()[i]);
  return RandomStreams(seed).permutation("violin", "order", 0, patches).to(at::kInt);
}

// A checkpoint may have brought another one.
void ViolinTables::forget_old_order() {
  if (!order.defined()) return;
  const std::uint64_t now =
      static_cast<std::uint64_t>(order._version()) + 1000003 * reinterpret_cast<std::uintptr_t>(order.const_data_ptr());
  if (now != version_) ranks_ = {};
  version_ = now;
}

}  // namespace locus::engine::priors
