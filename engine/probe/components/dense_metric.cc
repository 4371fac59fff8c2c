// Scores of maps.
#include "engine/data/sample.h"
#include "engine/probe/components/components.h"
#include "engine/tasks/dense_scores.h"

namespace locus::engine::components {
namespace {

// By metric, or by "metric.label" of a part of it.
NamedTensors as_tensors(const std::vector<Score>& scores) {
  NamedTensors out;
  for (const Score& score : scores) {
    std::string name = score.metric;
    for (const auto& label : score.labels.items()) name += "." + label.value().get<std::string>();
    out[name] = at::scalar_tensor(score.value, at::kDouble);
  }
  return out;
}

Component confusion() {
  Item item("metric", "segmentation", 1, "IoU and accuracies from the exact counts of what was taken for what");
  item.option(Option::integer("classes", 150, "how many there are").minimum(1).maximum(255));
  return {.item = std::move(item),
          .inputs = {{"prediction", "int64 [...]: classes; the number of classes stands for none"},
                     {kMask, "uint8 of the same shape: classes, 255 where none counts"}},
          .draws = {},
          .outputs = {{"counts", "int64 [classes, classes + 1]: truth, then what was said"},
                      {"*", "float64 []: miou, pixel-accuracy, mean-accuracy, iou.0, ...; those that are defined"}},
          .run = [](const ComponentSpecification& specification, const NamedTensors& given) -> NamedTensors {
            const std::int64_t classes = specification.options.integer("classes");
            const Tensor &said = given.at("prediction"), &mask = given.at(kMask);
            const Tensor beyond = mask.ge(classes).logical_and(mask.ne(kIgnored));
            if (said.lt(0).logical_or(said.gt(classes)).any().item<bool>() || beyond.any().item<bool>())
              throw std::invalid_argument("a class is outside 0 to " + std::to_string(classes - 1));
            ConfusionMatrix matrix(classes);
            matrix.add(mask, said.to(at::kLong));
            NamedTensors out = as_tensors(segmentation_scores(matrix.counts(), {}));
            out["counts"] = matrix.counts();
            return out;
          }};
}

Component depth_metrics() {
  Item item("metric", "depth", 1, "Errors of depths after fitting scale and shift, image by image");
  item.option(Option::number("max_depth", 0.0, "depths beyond it do not count; 0: all do").minimum(0.0).unit("m"));
  return {.item = std::move(item),
          .inputs = {{"prediction", "float [B, H, W]"}, {kDepth, "float [B, H, W]: 0 where it is not known"}},
          .draws = {},
          .outputs = {{"rows", "float64 [B, 18]: six numbers of each image by least squares, median and as it is"},
                      {"*", "float64 []: abs-rel, a1, a2, a3, rmse, l1; abs-rel.median, ..., abs-rel.none, ..."}},
          .run = [](const ComponentSpecification& specification, const NamedTensors& given) -> NamedTensors {
            const Tensor &said = given.at("prediction"), &depth = given.at(kDepth);
            if (said.dim() != 3 || said.sizes() != depth.sizes())
              throw std::invalid_argument("prediction and depth have the shapes " + c10::str(said.sizes()) + " and " +
                                          c10::str(depth.sizes()) + ", not [B, H, W] both");
            DepthScores scores(specification.options.number("max_depth"));
            for (std::int64_t i = 0; i < said.size(0); ++i) scores.add(said[i], depth[i]);
            NamedTensors out = as_tensors(scores.scores());
            out["rows"] = scores.rows();
            return out;
          }};
}

}  // namespace

std::vector<Component> dense_metric() { return {confusion(), depth_metrics()}; }

}  // namespace locus::engine::components
