// Monocular depth: the distance of each pixel along the optical axis, up to what the loss aligns; softplus of the decoder's map.
#include "engine/tasks/conditions.h"
#include "engine/tasks/dense.h"
#include "engine/tasks/dense_losses.h"
#include "engine/tasks/dense_scores.h"
#include "engine/tasks/parts.h"

namespace locus::engine::tasks {
namespace {

struct AlignName {
  const char* name;
  DepthAlignment alignment;
};
constexpr AlignName kAligns[] = {{"mean-deviation", DepthAlignment::kMeanDeviation},
                                 {"scale-shift", DepthAlignment::kScaleShift},
                                 {"none", DepthAlignment::kNone}};

DepthAlignment alignment_named(const std::string& name) {
  for (const AlignName& one : kAligns) {
    if (name == one.name) return one.alignment;
  }
  throw std::invalid_argument("no alignment '" + name + "'");
}

class DepthSums final : public Accumulator {
 public:
  explicit DepthSums(double most) : scores_(most) {}

  std::vector<Score> scores() const override {
    std::vector<Score> out = scores_.scores();
    if (out.empty()) return out;
    const Tensor losses = at::stack(losses_).to(at::kCPU);
    const Tensor seen = losses.select(1, 1).gt(0);
    const Score loss{"loss", losses.select(1, 0).masked_select(seen).mean().item<double>()};
    out.insert(std::find_if(out.begin(), out.end(), [](const Score& one) { return !one.labels.empty(); }), loss);
    return out;
  }

  // Of one image [H, W].
  void add(const Tensor& prediction, const Tensor& depth, const Tensor& loss) {
    scores_.add(prediction, depth);
    losses_.push_back(at::stack({loss.to(at::kDouble), depth.gt(0).any().to(at::kDouble)}));
  }

 private:
  DepthScores scores_;
  std::vector<Tensor> losses_;  // and whether the image has a known pixel
};

class Depth final : public DenseTask, public DividesBatches {
 public:
  Depth(const TaskContext& context, const Options& options)
      : DenseTask(context, kDepth, 1),
        alignment_(alignment_named(options.text("align"))),
        gradient_weight_(options.number("gradient_weight")),
        most_(options.number("max_depth")) {}

  Batch example_batch(std::int64_t size, const Extent& extent, const RandomStreams& random) const override {
    return {{kImage, example_images(size, extent, random)},
            {kDepth, random.uniform("measure", "depth", 0, {size, extent[0], extent[1]}, 0.5, 10)}};
  }

  StepLosses train_step(const Batch& batch, const ForwardContext& context) override {
    const Seen seen = see(batch.at(kImage), context);
    const Tensor& depth = batch.at(kDepth);
    const Tensor loss = depth_loss(at_extent(seen.decoded.map, depth), depth, alignment_, gradient_weight_);
    StepLosses out;
    out.add(loss, {{"loss", loss}});
    add_prior_losses(seen, context, out);
    return out;
  }

  std::string undivided() const override {
    return "the loss is a mean over the pixels of a batch whose depth is known, which its parts do not have alike";
  }

  std::unique_ptr<Accumulator> accumulator() const override { return std::make_unique<DepthSums>(most_); }

  void evaluate(const Batch& batch, const ForwardContext& context, Accumulator& accumulator) override {
    auto& sums = dynamic_cast<DepthSums&>(accumulator);
    const Tensor& depth = batch.at(kDepth);
    const Tensor prediction = answer(batch, context);
    for (std::int64_t i = 0; i < depth.size(0); ++i) {
      const Tensor one = depth.slice(0, i, i + 1);
      sums.add(prediction[i], depth[i], depth_loss(prediction.slice(0, i, i + 1), one, alignment_, gradient_weight_));
    }
  }

  // Several views: the mean of their depths.
  Tensor answer(const Batch& batch, const ForwardContext& context) override {
    Tensor sum;
    const std::vector<Tensor> maps = looks(batch.at(kImage), context);
    for (const Tensor& map : maps) {
      const Tensor depth = at_extent(map, batch.at(kDepth));
      sum = sum.defined() ? sum + depth : depth;
    }
    return maps.size() == 1 ? sum : sum / static_cast<double>(maps.size());
  }

 protected:
  // Numerically the identity above 20.
  Tensor said(const Tensor& map) const override { return at::softplus(map); }

 private:
  // [B, H, W], where the target lies.
  Tensor at_extent(const Tensor& map, const Tensor& depth) const {
    return said(interpolated(map, {depth.size(1), depth.size(2)}, Alignment::kHalfPixel)).squeeze(1);
  }

  DepthAlignment alignment_;
  double gradient_weight_, most_;
};

Json of_images(const char* name, const char* unit, const char* direction, const std::string& help) {
  return {{"name", name},
          {"unit", unit},
          {"direction", direction},
          {"help", help + "; mean over the images, each fitted by scale and shift"}};
}

}  // namespace

TaskItem depth() {
  Item item("task", "depth", 1,
            "The depth of each pixel, up to scale and shift: L1 and its gradients over aligned maps");
  item.option(
      Option::text("align", "mean-deviation",
                   "how the loss brings maps together, image by image: mean and deviation of both (the code of "
                   "Active Spatial Guidance), scale and shift of the prediction by least squares, or not at all")
          .choices({kAligns[0].name, kAligns[1].name, kAligns[2].name}));
  item.option(Option::number("gradient_weight", 0.5, "of the differences of neighbors at four scales, beside the L1")
                  .minimum(0.0)
                  .maximum(100.0)
                  .neutral(0.5));
  item.option(Option::number("max_depth", 0.0, "depths beyond it are not scored; 0: all are")
                  .minimum(0.0)
                  .maximum(1e6)
                  .unit("m")
                  .neutral(0.0));
  refuse_conditions(item);
  item.facts(
      {{"metrics",
        Json::array({of_images("abs-rel", "%", "min", "mean of |p - t| / t"),
                     of_images("a1", "%", "max", "pixels whose depth is right within a factor of 1.25"),
                     of_images("a2", "%", "max", "the same within 1.25^2"),
                     of_images("a3", "%", "max", "the same within 1.25^3"),
                     of_images("rmse", "m", "min", "root of the mean squared error"),
                     of_images("l1", "m", "min", "mean absolute error"),
                     {{"name", "loss"}, {"unit", ""}, {"direction", "min"}, {"help", "mean loss of an image"}}})},
       {"default_metric", "abs-rel"},
       {"target", kDepth},
       {"outputs", 1}});
  return {std::move(item), [](const TaskContext& context, const Options& options) -> std::shared_ptr<Task> {
            return std::make_shared<Depth>(context, options);
          }};
}

}  // namespace locus::engine::tasks
