// Units of convolution, pooling, dropout.
#include "engine/decoders/units.h"

#include <cmath>

namespace locus::engine {
namespace {

constexpr std::string_view kDecoderDropout = "dropout";  // purpose of draws

std::shared_ptr<Convolution> bare(std::int64_t in, std::int64_t out, std::int64_t side) {
  return std::make_shared<Convolution>(in, out, side, 1, side / 2, /*with_bias=*/false);
}

class GroupUnit final : public ConvUnit {
 public:
  GroupUnit(std::int64_t in, std::int64_t out, std::int64_t side)
      : convolution_(register_module("0", bare(in, out, side))),
        norm_(register_module("1", std::make_shared<GroupNorm>(out))) {}
  Tensor forward(const Tensor& x, bool) override { return norm_->forward(convolution_->forward(x)).relu(); }
  std::int64_t flops(std::int64_t places) const override { return convolution_->flops(places); }
  void start(const Initializer& own) override {
    convolution_->start(own.within("0"));
    norm_->start(own.within("1"));
  }

 private:
  std::shared_ptr<Convolution> convolution_;
  std::shared_ptr<GroupNorm> norm_;
};

class BatchUnit final : public ConvUnit {
 public:
  BatchUnit(std::int64_t in, std::int64_t out, std::int64_t side)
      : convolution_(register_module("conv", bare(in, out, side))),
        norm_(register_module("bn", std::make_shared<BatchNorm>(out))) {}
  Tensor forward(const Tensor& x, bool training) override {
    return norm_->forward(convolution_->forward(x), training).relu();
  }
  std::int64_t flops(std::int64_t places) const override { return convolution_->flops(places); }
  void start(const Initializer& own) override {
    const Tensor& weight = convolution_->weight;
    const auto fan_out = static_cast<double>(weight.size(0) * weight.size(2) * weight.size(3));
    own.normal(weight.detach(), "conv.weight", 0, std::sqrt(2 / fan_out));
    norm_->start(own.within("bn"));
  }

 private:
  std::shared_ptr<Convolution> convolution_;
  std::shared_ptr<BatchNorm> norm_;
};

}  // namespace

std::shared_ptr<ConvUnit> group_unit(std::int64_t in, std::int64_t out, std::int64_t side) {
  return std::make_shared<GroupUnit>(in, out, side);
}

std::shared_ptr<ConvUnit> batch_unit(std::int64_t in, std::int64_t out, std::int64_t side) {
  return std::make_shared<BatchUnit>(in, out, side);
}

Tensor PyramidPooling::forward(const Tensor& x, bool training) const {
  std::vector<Tensor> parts = {x};
  for (std::size_t i = 0; i < units.size(); ++i) {
    const Tensor cells = units[i]->forward(pooled_cells(x, kCells[i]).to(x.scalar_type()), training);
    parts.push_back(interpolated(cells, extent_of(x), Alignment::kHalfPixel).to(x.scalar_type()));
  }
  return joint->forward(at::cat(parts, 1), training);
}

std::int64_t PyramidPooling::flops(std::int64_t places) const {
  std::int64_t sum = joint->flops(places);
  for (std::size_t i = 0; i < units.size(); ++i) sum += units[i]->flops(kCells[i] * kCells[i]);
  return sum;
}

Tensor Pyramid::forward(const std::vector<Tensor>& maps, bool training) const {
  const auto enlarged = [](const Tensor& map, const Tensor& like) {
    return interpolated(map, extent_of(like), Alignment::kHalfPixel).to(like.scalar_type());
  };
  std::vector<Tensor> levels = maps;
  for (std::size_t i = 0; i < laterals.size(); ++i) levels[i] = laterals[i]->forward(maps.at(i), training);
  levels.back() = pooling.forward(levels.back(), training);
  for (std::size_t i = levels.size() - 1; i > 0; --i)
    levels[i - 1] = levels[i - 1] + enlarged(levels[i], levels[i - 1]);
  for (std::size_t i = 0; i < outs.size(); ++i) levels[i] = outs[i]->forward(levels[i], training);
  for (std::size_t i = 1; i < levels.size(); ++i) levels[i] = enlarged(levels[i], levels[0]);
  return joint->forward(at::cat(levels, 1), training);
}

std::int64_t Pyramid::flops(const std::vector<MapExtent>& grids) const {
  std::int64_t sum = pooling.flops(places_of(grids.back())) + joint->flops(places_of(grids[0]));
  for (std::size_t i = 0; i < laterals.size(); ++i)
    sum += laterals[i]->flops(places_of(grids[i])) + outs[i]->flops(places_of(grids[i]));
  return sum;
}

Tensor dropped_channels(const Tensor& x, double rate, std::string_view name, const ForwardContext& context) {
  if (!context.training || rate == 0) return x;
  const std::int64_t first = context.first_sample;
  const Tensor draw = context.random.uniform(kDecoderDropout, name, context.step.draw(), {first + x.size(0), x.size(1)})
                          .slice(0, first);
  const Tensor factor = draw.ge(rate).to(x.scalar_type()).div(1 - rate).unsqueeze(-1).unsqueeze(-1);
  return x * factor.to(x.device(), /*non_blocking=*/true);
}

void start_parts(const Module& whole, const Initializer& own) {
  std::string done;  // a unit starts what is inside it
  for (const auto& part : whole.named_modules()) {
    if (!done.empty() && part.key().starts_with(done)) continue;
    auto* const starting = dynamic_cast<SelfStarting*>(part.value().get());
    if (starting == nullptr) continue;
    starting->start(own.within(part.key()));
    done = part.key() + ".";
  }
}

}  // namespace locus::engine
