// Losses of classification, with their gradients.
#include "engine/tasks/losses.h"

#include "engine/probe/components/components.h"

namespace locus::engine::components {
namespace {

Component loss_of(Item item, Tensor (*loss)(const Tensor& logits, const Tensor& target, const Options& options)) {
  return {.item = std::move(item),
          .inputs = {{"logits", "float [B, classes]"},
                     {"target", "int64 [B]: labels; or float [B, classes]: a distribution each"}},
          .draws = {},
          .outputs = {{"loss", "float []: mean over the batch"}, {"gradient", "float [B, classes]: of the logits"}},
          .run = [loss](const ComponentSpecification& specification, const NamedTensors& given) -> NamedTensors {
            const Tensor logits = given.at("logits").clone().set_requires_grad(true);
            const Tensor value = loss(logits, given.at("target"), specification.options);
            value.backward();
            return {{"loss", value.detach()}, {"gradient", logits.grad()}};
          }};
}

Component softmax() {
  Item item("loss", "cross-entropy", 1, "Cross-entropy with labels or soft targets, with label smoothing");
  item.option(Option::number("smoothing", 0.0, "share of the target spread evenly over all classes"));
  return loss_of(std::move(item), [](const Tensor& logits, const Tensor& target, const Options& options) {
    return soft_cross_entropy(logits, target, options.number("smoothing"));
  });
}

Component binary() {
  Item item("loss", "binary-cross-entropy", 1, "DeiT-III's: every class by itself, targets above 0 made 1");
  return loss_of(std::move(item), [](const Tensor& logits, const Tensor& target, const Options&) {
    return binarized_cross_entropy(logits, target);
  });
}

}  // namespace

std::vector<Component> loss() { return {softmax(), binary()}; }

}  // namespace locus::engine::components
