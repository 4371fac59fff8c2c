// Buckets of gradients.
#include "engine/distributed/reducer.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <chrono>

namespace locus::engine {
namespace {

constexpr std::int64_t kLeastBucket = 64 << 10, kMostFirstBucket = 1 << 20, kMostBucket = 25 << 20;

std::int64_t bytes_of(const std::vector<Tensor>& parameters) {
  std::int64_t bytes = 0;
  for (const Tensor& parameter : parameters) {
    if (parameter.requires_grad()) bytes += static_cast<std::int64_t>(parameter.nbytes());
  }
  return bytes;
}

}  // namespace

// Called by autograd, in the thread that runs the backward pass, when a gradient has been added to.
class GradientReducer::Hook final : public torch::autograd::PostAccumulateGradHook {
 public:
  Hook(GradientReducer& reducer, std::size_t bucket, std::size_t place)
      : reducer_(reducer), bucket_(bucket), place_(place) {}
  void operator()(const Tensor&) override { reducer_.take(bucket_, place_); }

 private:
  GradientReducer& reducer_;
  std::size_t bucket_, place_;
};

BucketBytes bucket_bytes(std::int64_t total) {
  return {std::clamp(total / 16, kLeastBucket, kMostFirstBucket), std::clamp(total / 8, kLeastBucket, kMostBucket)};
}

GradientReducer::GradientReducer(Gang& gang, const std::vector<Tensor>& parameters, std::optional<BucketBytes> bytes)
    : gang_(gang) {
  const BucketBytes most = bytes ? *bytes : bucket_bytes(bytes_of(parameters));
  std::vector<Tensor> open;
  std::int64_t held = 0;
  for (auto at = parameters.rbegin(); at != parameters.rend(); ++at) {
    const Tensor& parameter = *at;
    if (!parameter.requires_grad()) continue;
    const auto size = static_cast<std::int64_t>(parameter.nbytes());
    const bool other_type = !open.empty() && open.front().scalar_type() != parameter.scalar_type();
    if (!open.empty() && (other_type || held + size > (buckets_.empty() ? most.first : most.others))) {
      add_bucket(std::move(open));
      open.clear();
      held = 0;
    }
    open.push_back(parameter);
    held += size;
  }
  if (!open.empty()) add_bucket(std::move(open));
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    for (std::size_t j = 0; j < buckets_[i].parameters.size(); ++j)
      torch::autograd::impl::set_post_acc_grad_hooks(buckets_[i].parameters[j], std::make_unique<Hook>(*this, i, j));
  }
}

GradientReducer::~GradientReducer() {
  for (const Bucket& bucket : buckets_) {
    for (const Tensor& parameter : bucket.parameters)
      torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
  }
}

void GradientReducer::add_bucket(std::vector<Tensor> parameters) {
  Bucket bucket;
  std::int64_t numbers = 0;
  for (const Tensor& parameter : parameters) {
    bucket.offsets.push_back(numbers);
    numbers += parameter.numel();
  }
  numbers += static_cast<std::int64_t>(parameters.size());
  bucket.flat = at::empty({numbers}, parameters.front().options().requires_grad(false));
  bucket.parameters = std::move(parameters);
  buckets_.push_back(std::move(bucket));
}

void GradientReducer::begin() {
  for (Bucket& bucket : buckets_) {
    bucket.filled.assign(bucket.parameters.size(), false);
    bucket.missing = bucket.parameters.size();
    bucket.pending.reset();
  }
  launched_ = 0;
  begun_ = true;
}

void GradientReducer::take(std::size_t bucket, std::size_t place) {
  if (!begun_) return;  // of a part of the batch that is not the last one
  fill(buckets_[bucket], place);
  launch_ready();
}

// Copies a gradient, or zeros where there is none, to its place.
void GradientReducer::fill(Bucket& bucket, std::size_t place) {
  const at::NoGradGuard no_gradient;
  const Tensor& parameter = bucket.parameters[place];
  const Tensor here = bucket.flat.narrow(0, bucket.offsets[place], parameter.numel());
  const auto first_count = bucket.flat.numel() - static_cast<std::int64_t>(bucket.parameters.size());
  const Tensor count = bucket.flat.select(0, first_count + static_cast<std::int64_t>(place));
  const Tensor& gradient = parameter.grad();
  if (gradient.defined()) {
    here.copy_(gradient.reshape({-1}));
    count.fill_(1);
  } else {
    here.zero_();
    count.zero_();
  }
  if (!bucket.filled[place]) --bucket.missing;
  bucket.filled[place] = true;
}

// In order, although a later one may be complete first: exchanges are matched by when they were asked for.
void GradientReducer::launch_ready() {
  while (launched_ < buckets_.size() && buckets_[launched_].missing == 0) {
    Bucket& bucket = buckets_[launched_++];
    bucket.pending = gang_.begin_sum(bucket.flat);
  }
}

void GradientReducer::finish() {
  begun_ = false;
  for (Bucket& bucket : buckets_) {
    for (std::size_t place = 0; place < bucket.parameters.size(); ++place) {
      if (!bucket.filled[place]) fill(bucket, place);
    }
  }
  launch_ready();
  for (Bucket& bucket : buckets_) {
    const auto start = std::chrono::steady_clock::now();
    bucket.pending->wait();
    waited_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    bucket.pending.reset();
    give_back(bucket);
  }
}

void GradientReducer::give_back(const Bucket& bucket) {
  const at::NoGradGuard no_gradient;
  const auto all = static_cast<std::int64_t>(bucket.parameters.size());
  const Tensor counts = bucket.flat.narrow(0, bucket.flat.numel() - all, all).to(at::kCPU, at::kDouble);
  for (std::size_t place = 0; place < bucket.parameters.size(); ++place) {
    const Tensor& parameter = bucket.parameters[place];
    if (counts.const_data_ptr<double>()[place] == 0) continue;
    const Tensor sum = bucket.flat.narrow(0, bucket.offsets[place], parameter.numel()).view_as(parameter);
    Tensor& gradient = parameter.mutable_grad();
    if (gradient.defined()) {
      gradient.copy_(sum);
    } else {
      gradient = sum.clone();
    }
  }
}

}  // namespace locus::engine
