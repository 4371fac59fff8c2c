// Sources and transforms of tests: made-up samples, read in orders that the test decides.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>

#include "engine/base/draws.h"
#include "engine/base/failure.h"
#include "engine/data/source.h"
#include "engine/data/transform.h"

namespace locus::engine {

// `count` images [channels, rows, columns] of drawn bytes, and their row as label.
inline Batch drawn_samples(std::int64_t count, std::int64_t channels, std::int64_t rows, std::int64_t columns) {
  return {
      {kImage, RandomStreams(5).uniform("test", "pixels", 0, {count, channels, rows, columns}, 0, 256).to(at::kByte)},
      {kLabel, at::arange(count, at::kLong)}};
}

// Another source's samples, read one by one.
class Streamed : public Source {
 public:
  explicit Streamed(std::shared_ptr<const Source> source) : source_(std::move(source)) {}
  std::int64_t size() const override { return source_->size(); }
  Sample read(std::int64_t index) const override { return source_->read(index); }
  std::int64_t bytes(std::int64_t index) const override { return source_->bytes(index); }

 private:
  std::shared_ptr<const Source> source_;
};

// Reads end in an order of its own: only when all `threads` are reading does one of them, drawn, go on. So samples
// overtake each other as far as that number of threads allows, the same way in every run. Open it before the end:
// threads that wait for each other never would.
class Scrambled : public Streamed {
 public:
  Scrambled(std::shared_ptr<const Source> source, int threads) : Streamed(std::move(source)), threads_(threads) {}

  Sample read(std::int64_t index) const override {
    std::unique_lock lock(mutex_);
    waiting_.push_back(index);
    release();
    changed_.wait(lock, [&] { return open_ || released_.erase(index) > 0; });
    ended_.push_back(index);
    lock.unlock();
    return Streamed::read(index);
  }
  void open() const {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  std::vector<std::int64_t> ended() const {
    const std::lock_guard lock(mutex_);
    return ended_;
  }

 private:
  void release() const {
    if (static_cast<int>(waiting_.size()) < threads_) return;
    const auto which = static_cast<std::ptrdiff_t>(draw_unit(RandomStreams(1), "test", "release", {releases_++, 0, 0}) *
                                                   static_cast<double>(waiting_.size()));
    released_.insert(waiting_[static_cast<std::size_t>(which)]);
    waiting_.erase(waiting_.begin() + which);
    changed_.notify_all();
  }

  const int threads_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable std::vector<std::int64_t> waiting_, ended_;
  mutable std::multiset<std::int64_t> released_;
  mutable std::uint64_t releases_ = 0;
  mutable bool open_ = false;
};

// Fails at some rows, as a reader of a damaged file does.
class Damaged : public Streamed {
 public:
  Damaged(std::shared_ptr<const Source> source, std::set<std::int64_t> rows)
      : Streamed(std::move(source)), rows_(std::move(rows)) {}
  Sample read(std::int64_t index) const override {
    if (rows_.contains(index)) throw DataError("/data/" + std::to_string(index) + ".png ends in the middle");
    return Streamed::read(index);
  }

 private:
  std::set<std::int64_t> rows_;
};

// Adds a drawn number to every pixel.
class Jittered : public Transform {
 public:
  Sample apply(Sample sample, const SampleDraws& draws) const override {
    sample[kImage] = sample.at(kImage).to(at::kFloat) + 10 * draws.unit("shift") + draws.normal("noise");
    return sample;
  }
  std::int64_t bytes(std::int64_t bytes) const override { return 5 * bytes; }
};

}  // namespace locus::engine
