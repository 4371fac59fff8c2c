// Semantic segmentation: a class for each pixel; cross-entropy of the decoder's logits, enlarged to the mask.
#include <algorithm>

#include "engine/tasks/conditions.h"
#include "engine/tasks/dense.h"
#include "engine/tasks/dense_losses.h"
#include "engine/tasks/dense_scores.h"
#include "engine/tasks/parts.h"

namespace locus::engine::tasks {
namespace {

constexpr std::int64_t kScoreNumbers = 1 << 24;  // of a band of rows that is scored at once
constexpr const char* kMmsegAverage = "all";

std::vector<std::string> class_names(const Json& facts) {
  const Json names = facts.value("class_names", Json::array());
  return names.is_array() ? names.get<std::vector<std::string>>() : std::vector<std::string>{};
}

class SegmentationScores final : public Accumulator, public SummedScores {
 public:
  SegmentationScores(std::int64_t classes, std::vector<std::string> names)
      : classes_(classes), matrix_(classes), names_(std::move(names)) {}

  std::vector<Score> scores() const override {
    std::vector<Score> out = segmentation_scores(matrix_.counts(), names_);
    const std::int64_t labeled = labeled_.defined() ? labeled_.item<std::int64_t>() : 0;
    if (labeled == 0) return out;
    const Score loss{"loss", loss_.item<double>() / static_cast<double>(labeled)};
    // Before the classes, which are many.
    out.insert(std::find_if(out.begin(), out.end(), [](const Score& one) { return !one.labels.empty(); }), loss);
    return out;
  }

  // `logs` [B, C, rows, columns]: logarithms of probabilities of the pixels of `mask` [B, rows, columns].
  void add(const Tensor& logs, const Tensor& mask) {
    const Tensor counts = mask.ne(kIgnored), number = logs.isnan().any(1);
    const Tensor best = logs.argmax(1);
    matrix_.add(mask, best.masked_fill(number, logs.size(1)));
    const Tensor label = mask.to(at::kLong).masked_fill(counts.logical_not(), 0).unsqueeze(1);
    const Tensor loss = -logs.gather(1, label).squeeze(1).masked_fill(counts.logical_not(), 0).sum(at::kDouble);
    loss_ = loss_.defined() ? loss_ + loss : loss;
    labeled_ = labeled_.defined() ? labeled_ + counts.sum() : counts.sum();
  }

  // The matrix, then labeled pixels and loss.
  Tensor totals() const override {
    const Tensor rest = at::zeros({2}, at::kDouble);
    if (labeled_.defined()) rest[0].copy_(labeled_);
    if (loss_.defined()) rest[1].copy_(loss_);
    return at::cat({matrix_.counts().flatten().to(at::kDouble), rest});
  }

  void load_totals(const Tensor& totals) override {
    const std::int64_t cells = totals.numel() - 2;
    matrix_.load(totals.slice(0, 0, cells).round().to(at::kLong).view({classes_, classes_ + 1}));
    labeled_ = totals[cells].round().to(at::kLong);
    loss_ = totals[cells + 1].clone();
  }

 private:
  std::int64_t classes_;
  ConfusionMatrix matrix_;
  std::vector<std::string> names_;
  Tensor loss_, labeled_;
};

class Segmentation final : public DenseTask, public DividesBatches {
 public:
  Segmentation(const TaskContext& context, const Options& options)
      : DenseTask(context, kMask, context.dataset_facts.at("classes").get<std::int64_t>()),
        classes_(context.dataset_facts.at("classes").get<std::int64_t>()),
        names_(class_names(context.dataset_facts)),
        average_(options.text("average") == kMmsegAverage ? PixelAverage::kAll : PixelAverage::kLabeled),
        auxiliary_weight_(options.number("auxiliary_weight")) {}

  Batch example_batch(std::int64_t size, const Extent& extent, const RandomStreams& random) const override {
    const Tensor mask = at::arange(size * extent[0] * extent[1]).remainder(classes_).to(at::kByte);
    return {{kImage, example_images(size, extent, random)}, {kMask, mask.view({size, extent[0], extent[1]})}};
  }

  StepLosses train_step(const Batch& batch, const ForwardContext& context) override {
    const Seen seen = see(batch.at(kImage), context);
    const Tensor& mask = batch.at(kMask);
    const Tensor loss = pixel_cross_entropy(seen.decoded.map, mask, average_);
    StepLosses out;
    out.add(loss, {{"loss", loss}});
    if (seen.decoded.auxiliary.defined()) {
      const Tensor beside = pixel_cross_entropy(seen.decoded.auxiliary, mask, average_);
      out.add(auxiliary_weight_ * beside, {{"auxiliary_loss", beside}});
    }
    add_prior_losses(seen, context, out);
    return out;
  }

  std::string undivided() const override {
    return average_ == PixelAverage::kAll ? ""
                                          : "the loss is a mean over the labeled pixels of a batch, which its parts do "
                                            "not have alike; set task.average to all";
  }

  std::unique_ptr<Accumulator> accumulator() const override {
    return std::make_unique<SegmentationScores>(classes_, names_);
  }

  // Several views: the mean of their probabilities, each view's map enlarged to the mask first.
  void evaluate(const Batch& batch, const ForwardContext& context, Accumulator& accumulator) override {
    auto& scores = dynamic_cast<SegmentationScores&>(accumulator);
    const Tensor& mask = batch.at(kMask);
    each_band(
        looks(batch.at(kImage), context), {mask.size(1), mask.size(2)},
        [&](const Tensor& logs, std::int64_t first, std::int64_t end) { scores.add(logs, mask.slice(1, first, end)); });
  }

  Tensor answer(const Batch& batch, const ForwardContext& context) override {
    const Tensor& mask = batch.at(kMask);
    std::vector<Tensor> bands;
    each_band(looks(batch.at(kImage), context), {mask.size(1), mask.size(2)},
              [&](const Tensor& logs, std::int64_t, std::int64_t) { bands.push_back(logs.argmax(1).to(at::kByte)); });
    return at::cat(bands, 1);
  }

 private:
  // Logarithms of the probabilities of the rows of a mask of that extent, a band after another.
  static void each_band(const std::vector<Tensor>& maps, const MapExtent& extent,
                        const std::function<void(const Tensor& logs, std::int64_t first, std::int64_t end)>& take) {
    const std::int64_t row = maps.at(0).size(0) * maps[0].size(1) * extent[1];
    const std::int64_t band = std::max<std::int64_t>(1, kScoreNumbers / row);
    for (std::int64_t first = 0; first < extent[0]; first += band) {
      const std::int64_t end = std::min(first + band, extent[0]);
      const auto enlarged = [&](const Tensor& map) {
        return interpolated_rows(map, extent, Alignment::kHalfPixel, first, end);
      };
      if (maps.size() == 1) {
        take(enlarged(maps[0]).log_softmax(1), first, end);
        continue;
      }
      Tensor sum;
      for (const Tensor& map : maps) {
        const Tensor share = enlarged(map).softmax(1);
        sum = sum.defined() ? sum + share : share;
      }
      take((sum / static_cast<double>(maps.size())).log(), first, end);
    }
  }

  std::int64_t classes_;
  std::vector<std::string> names_;
  PixelAverage average_;
  double auxiliary_weight_;
};

Json metric(const char* name, const char* unit, const char* direction, const char* help) {
  return {{"name", name}, {"unit", unit}, {"direction", direction}, {"help", help}};
}

}  // namespace

TaskItem segmentation() {
  Item item("task", "segmentation", 1, "A class for each pixel: cross-entropy on the map that the decoder makes");
  item.option(
      Option::text("average", "labeled",
                   "what the loss of a batch is divided by: its labeled pixels (Active Spatial Guidance), or all "
                   "of its pixels (mmsegmentation)")
          .choices({"labeled", kMmsegAverage}));
  item.option(Option::number("auxiliary_weight", 0.4, "of the loss of a decoder's second head, where it has one")
                  .minimum(0.0)
                  .maximum(10.0)
                  .neutral(0.4));
  refuse_conditions(item);
  item.facts(
      {{"metrics",
        Json::array({metric("miou", "%", "max",
                            "mean over the classes of intersection over union, of the pixels of the whole split"),
                     metric("pixel-accuracy", "%", "max", "labeled pixels whose class is right"),
                     metric("mean-accuracy", "%", "max", "mean over the classes of their pixels that are right"),
                     metric("loss", "nat", "min", "mean cross-entropy of labeled pixels"),
                     metric("iou", "%", "max",
                            "intersection over union of one class, labeled by its name; of evaluations alone")})},
       {"default_metric", "miou"},
       {"target", kMask}});
  return {std::move(item), [](const TaskContext& context, const Options& options) -> std::shared_ptr<Task> {
            return std::make_shared<Segmentation>(context, options);
          }};
}

}  // namespace locus::engine::tasks
