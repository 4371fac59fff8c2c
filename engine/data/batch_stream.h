// Batches prepared ahead by threads, in a given order.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "engine/data/source.h"
#include "engine/data/transform.h"

namespace locus::engine {

// How samples are prepared, never what comes out: no batch depends on it.
struct Decoding {
  int threads = 2;                   // that read, transform and collate
  std::int64_t bytes = 256ll << 20;  // of samples and batches that wait to be taken, at most
};

// What becomes of a sample and of several.
struct Preparation {
  Normalization normalization = {};  // of all images of a batch, on the device that uses it
  Transforms transforms = {};        // in this order
  Collate collate = {};              // empty: stack_samples
};

struct PlannedBatch {
  std::int64_t epoch = 0;
  std::vector<std::int64_t> rows;                          // of the source
  std::vector<std::int64_t> visits = {};                   // of each, for its draws (StreamDraws); empty: the rows
  std::shared_ptr<const Transforms> transforms = nullptr;  // of this batch; null: the stream's
};
// The next batch; nothing after the last one. Called by one thread at a time, and not again after nothing.
using BatchPlan = std::function<std::optional<PlannedBatch>()>;

// Reads, transforms and collates the planned batches in threads of its own, as many ahead as the budget of bytes holds,
// and hands them over in the plan's order. Batches are the same bits for every number of threads and budget. What is
// counted: a sample at what Source::bytes and Transform::bytes promise from before it is read, at its true size when it
// is done, a batch at its size until next() returns it. Destruction ends it after the reads under way. Not thread-safe.
class BatchStream {
 public:
  BatchStream(std::shared_ptr<const Source> source, Transforms transforms, Collate collate, const RandomStreams& random,
              BatchPlan plan, const Decoding& decoding);
  ~BatchStream();
  BatchStream(const BatchStream&) = delete;
  BatchStream& operator=(const BatchStream&) = delete;

  // The next batch, on the CPU and not normalized; nothing after the last. Waits for it. Throws what reading,
  // transforming or collating threw, the sample named, when it is that batch's turn, the first sample's if several did;
  // and std::invalid_argument when the samples of one batch are more than the budget. After that every call throws the
  // same.
  std::optional<Batch> next();
  double waited_seconds() const { return waited_; }  // in next()

 private:
  struct Work;
  struct Task;

  void run();
  void end();
  bool take(Task& task);
  void plan_one();
  void prepare(const Task& task);
  void refuse_budget(Work& work) const;
  const Transforms& transforms_of(const PlannedBatch& planned) const;
  Sample prepared(const PlannedBatch& planned, std::size_t slot) const;
  std::int64_t bound(const PlannedBatch& planned, std::size_t slot) const;

  const std::shared_ptr<const Source> source_;
  const Transforms transforms_;
  const Collate collate_;
  const RandomStreams random_;
  const BatchPlan plan_;
  const std::int64_t budget_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Work>> queue_;  // planned and not handed over, in order; guarded by mutex_ like the rest
  std::int64_t held_ = 0;                    // bytes counted against the budget
  int running_ = 0;                          // samples and batches in the hands of threads
  bool planned_all_ = false, failed_ = false, stop_ = false;
  double waited_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace locus::engine
