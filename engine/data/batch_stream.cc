// Samples are begun strictly in the order of the plan. So what waits always begins with the next batch, and the budget
// can stop the threads for good only where that batch alone does not fit.
#include "engine/data/batch_stream.h"

#include <dlfcn.h>

#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>

#include "engine/base/failure.h"

namespace locus::engine {
namespace {

// What a sample takes beside its elements: the tensors themselves, their names.
constexpr std::int64_t kOverhead = 1024;

// Operations of this thread use this thread alone: a pool within each thread of a pool would only be in the way. Torch
// has a setting for all threads together; OpenMP's own is the thread's.
void compute_alone() {
  at::internal::lazy_init_num_threads();  // would undo the setting later
  using SetThreads = void (*)(int);
  if (const auto set = reinterpret_cast<SetThreads>(::dlsym(RTLD_DEFAULT, "omp_set_num_threads"))) set(1);
}

// Rethrows the present exception with the sample's number before its message, where its type allows.
[[noreturn]] void rethrow_naming(std::int64_t row) {
  const std::string who = "sample " + std::to_string(row) + ": ";
  try {
    throw;
  } catch (const DataError& error) {
    throw DataError(who + error.what());
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(who + error.what());
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(who + error.what());
  } catch (c10::Error& error) {
    error.add_context("while preparing sample " + std::to_string(row));
    throw;
  }
}

}  // namespace

// One planned batch on its way.
struct BatchStream::Work {
  PlannedBatch planned;
  std::vector<Sample> samples;
  std::size_t begun = 0, ended = 0;
  std::int64_t held = 0;  // of BatchStream::held_
  std::optional<Batch> batch;
  std::exception_ptr error;
  std::size_t error_at = 0;

  // Nobody works on it any more, and nobody will.
  bool ready() const { return batch || (error && begun == ended); }
  void fail(std::size_t slot, std::exception_ptr with) {
    if (error && error_at <= slot) return;
    error = std::move(with);
    error_at = slot;
  }
};

struct BatchStream::Task {
  std::shared_ptr<Work> work;
  std::size_t slot = 0;
  std::int64_t bound = 0;
};

BatchStream::BatchStream(std::shared_ptr<const Source> source, Transforms transforms, Collate collate,
                         const RandomStreams& random, BatchPlan plan, const Decoding& decoding)
    : source_(std::move(source)),
      transforms_(std::move(transforms)),
      collate_(collate ? std::move(collate) : Collate(stack_samples)),
      random_(random),
      plan_(std::move(plan)),
      budget_(decoding.bytes) {
  try {
    for (int i = 0; i < std::max(1, decoding.threads); ++i) threads_.emplace_back([this] { run(); });
  } catch (...) {
    end();
    throw;
  }
}

BatchStream::~BatchStream() { end(); }

void BatchStream::end() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::optional<Batch> BatchStream::next() {
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty() ? planned_all_ : queue_.front()->ready(); });
  waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (queue_.empty()) return std::nullopt;
  const std::shared_ptr<Work> work = queue_.front();
  if (work->error) std::rethrow_exception(work->error);
  held_ -= work->held;
  queue_.pop_front();
  lock.unlock();
  changed_.notify_all();
  return std::move(work->batch);
}

void BatchStream::run() {
  compute_alone();
  std::unique_lock lock(mutex_);
  Task task;
  while (!stop_) {
    if (!take(task)) {
      changed_.wait(lock);
      continue;
    }
    lock.unlock();
    prepare(task);
    task = {};
    changed_.notify_all();
    lock.lock();
  }
}

// Whether there is a sample to begin. Under the lock.
bool BatchStream::take(Task& task) {
  if (failed_) return false;
  if (queue_.empty() || queue_.back()->begun == queue_.back()->planned.rows.size()) plan_one();
  if (failed_ || planned_all_) return false;
  const std::shared_ptr<Work>& work = queue_.back();
  const std::int64_t bytes = bound(work->planned, work->begun);
  if (held_ + bytes > budget_) {
    // Nothing that runs or waits to be taken could make room.
    if (running_ == 0 && work == queue_.front()) {
      refuse_budget(*work);
      failed_ = true;
      changed_.notify_all();
    }
    return false;
  }
  held_ += bytes;
  work->held += bytes;
  ++running_;
  task = {work, work->begun++, bytes};
  return true;
}

void BatchStream::plan_one() {
  if (planned_all_) return;
  auto work = std::make_shared<Work>();
  try {
    std::optional<PlannedBatch> planned = plan_();
    if (!planned) {
      planned_all_ = true;
      changed_.notify_all();
      return;
    }
    if (planned->rows.empty()) throw std::invalid_argument("a batch of no samples was planned");
    if (!planned->visits.empty() && planned->visits.size() != planned->rows.size())
      throw std::invalid_argument("a batch was planned with other than one visit for each row");
    work->planned = std::move(*planned);
    work->samples.resize(work->planned.rows.size());
  } catch (...) {
    work->fail(0, std::current_exception());
    failed_ = true;
    changed_.notify_all();
  }
  queue_.push_back(std::move(work));
}

void BatchStream::refuse_budget(Work& work) const {
  work.fail(work.begun, std::make_exception_ptr(std::invalid_argument(
                            "a batch of " + std::to_string(work.planned.rows.size()) + " samples needs more than the " +
                            std::to_string(budget_) + " bytes that decoded samples may take: the first " +
                            std::to_string(work.begun) + " take " + std::to_string(work.held) +
                            "; allow more bytes, or choose smaller batches")));
}

// Reads one sample; whoever ends a batch's last sample collates it. Without the lock.
void BatchStream::prepare(const Task& task) {
  Work& work = *task.work;
  const std::int64_t row = work.planned.rows[task.slot];
  std::exception_ptr error;
  std::int64_t size = 0;
  try {
    Sample sample = prepared(work.planned, task.slot);
    size = bytes_of(sample) + kOverhead;
    if (size > task.bound) {
      throw std::logic_error("sample " + std::to_string(row) + " takes " + std::to_string(size - kOverhead) +
                             " bytes where its source and transforms promised at most " +
                             std::to_string(task.bound - kOverhead));
    }
    work.samples[task.slot] = std::move(sample);
  } catch (...) {
    error = std::current_exception();
    size = 0;
  }
  bool whole = false;
  {
    const std::lock_guard lock(mutex_);
    held_ -= task.bound - size;
    work.held -= task.bound - size;
    if (error) {
      work.fail(task.slot, error);
      failed_ = true;
    }
    whole = ++work.ended == work.samples.size() && !work.error;
    if (!whole) --running_;
  }
  if (!whole) return;
  std::optional<Batch> batch;
  try {
    batch = collate_(work.samples);
  } catch (...) {
    error = std::current_exception();
  }
  work.samples.clear();
  const std::lock_guard lock(mutex_);
  const std::int64_t after = batch ? bytes_of(*batch) : 0;
  held_ += after - work.held;
  work.held = after;
  work.batch = std::move(batch);
  if (error) {
    work.fail(0, error);
    failed_ = true;
  }
  --running_;
}

const Transforms& BatchStream::transforms_of(const PlannedBatch& planned) const {
  return planned.transforms ? *planned.transforms : transforms_;
}

Sample BatchStream::prepared(const PlannedBatch& planned, std::size_t slot) const {
  const std::int64_t row = planned.rows[slot];
  try {
    const StreamDraws draws(random_, planned.epoch, planned.visits.empty() ? row : planned.visits[slot]);
    const Transforms& transforms = transforms_of(planned);
    const auto undecoded = transforms.empty() ? nullptr : source_->open(row);
    Sample sample = undecoded ? transforms.front()->begin(*undecoded, draws) : source_->read(row);
    for (std::size_t i = undecoded ? 1 : 0; i < transforms.size(); ++i)
      sample = transforms[i]->apply(std::move(sample), draws);
    return sample;
  } catch (...) {
    rethrow_naming(row);
  }
}

std::int64_t BatchStream::bound(const PlannedBatch& planned, std::size_t slot) const {
  std::int64_t bytes = source_->bytes(planned.rows[slot]);
  for (const auto& transform : transforms_of(planned)) bytes = transform->bytes(bytes);
  return bytes + kOverhead;
}

}  // namespace locus::engine
