// Losses on the device, without waiting for it.
#include "engine/tasks/losses.h"

#include "engine/fused/cross_entropy.h"

namespace locus::engine {
namespace {

bool holds_labels(const Tensor& labels_or_targets) { return labels_or_targets.scalar_type() == at::kLong; }

// In float32 at least.
Tensor wide(const Tensor& t) { return t.scalar_type() == at::kDouble ? t : t.to(at::kFloat); }

}  // namespace

Tensor soft_cross_entropy(const Tensor& logits, const Tensor& labels_or_targets, double smoothing) {
  const Tensor x = wide(logits);
  const Tensor target = holds_labels(labels_or_targets) ? labels_or_targets : labels_or_targets.to(x.scalar_type());
  if (const auto fused = fused::cross_entropy(x, target, smoothing)) return *fused;
  return at::cross_entropy_loss(x, target, {}, at::Reduction::Mean, /*ignore_index=*/-100, smoothing);
}

Tensor binarized_cross_entropy(const Tensor& logits, const Tensor& labels_or_targets) {
  const Tensor x = wide(logits);
  const Tensor target = holds_labels(labels_or_targets)
                            ? at::zeros_like(x).scatter(1, labels_or_targets.unsqueeze(1), 1.0)
                            : labels_or_targets.gt(0).to(x.scalar_type());
  return at::binary_cross_entropy_with_logits(x, target);
}

Tensor ranks(const Tensor& logits, const Tensor& labels) {
  const Tensor index = labels.unsqueeze(1), own = logits.gather(1, index);
  const Tensor classes = at::arange(logits.size(1), labels.options());
  const Tensor before = logits.gt(own).logical_or(logits.eq(own).logical_and(classes.lt(index)));
  return before.sum(1).masked_fill(own.squeeze(1).isnan(), logits.size(1));
}

}  // namespace locus::engine
