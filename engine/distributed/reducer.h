// Gradients of several processes added up while the backward pass goes on.
#pragma once

#include <optional>

#include "engine/distributed/gang.h"

namespace locus::engine {

// How large buckets of gradients are at most: the first, and each of the others. One parameter may be larger.
struct BucketBytes {
  std::int64_t first = 0, others = 0;
};

// By what all gradients take together: an eighth a bucket, so that most of a model of any size is added up while gradients are
// still to come, within bounds between which neither the calls nor the last sum, which nothing hides, take long. The first is
// smaller: the sooner it is full, the sooner there is something to add up.
BucketBytes bucket_bytes(std::int64_t total);

// Buckets of parameters in reverse order, roughly that in which a backward pass is done with them: each is on its way as
// soon as its last gradient is there, and in the order of the buckets on every process. Belongs to one training run; the
// gang must outlive it. Not thread-safe.
class GradientReducer {
 public:
  // Watches those of `parameters` that require gradients; the same ones on every process. Without `bytes`:
  // bucket_bytes() of them all.
  GradientReducer(Gang& gang, const std::vector<Tensor>& parameters, std::optional<BucketBytes> bytes = {});
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  Gang& gang() const { return gang_; }
  std::size_t buckets() const { return buckets_.size(); }
  double waited_seconds() const { return waited_seconds_; }  // by finish() for sums, all of them so far

  // Says that the next backward pass is the last one of the step. What it adds to is then what the others get.
  void begin();
  // Waits for all sums and leaves them as gradients, equal to the bit on all processes. A parameter that got a gradient on
  // none has none; where another process alone has one, it counts as 0 here. Throws PeerLostError.
  void finish();

 private:
  struct Bucket {
    std::vector<Tensor> parameters;
    std::vector<std::int64_t> offsets;  // in `flat`
    Tensor flat;                        // their gradients, then for each how many processes have one
    std::vector<bool> filled;
    std::size_t missing = 0;
    std::unique_ptr<Gang::Pending> pending;  // null: not on its way
  };
  class Hook;

  void add_bucket(std::vector<Tensor> parameters);
  void take(std::size_t bucket, std::size_t place);  // a gradient is there
  void launch_ready();
  static void fill(Bucket& bucket, std::size_t place);
  static void give_back(const Bucket& bucket);

  Gang& gang_;
  std::vector<Bucket> buckets_;
  std::size_t launched_ = 0;  // buckets on their way: the first so many
  bool begun_ = false;
  double waited_seconds_ = 0;
};

}  // namespace locus::engine
