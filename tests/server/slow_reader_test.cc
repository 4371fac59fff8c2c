// A reader of events that takes them more slowly than they come.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <future>
#include <mutex>

#include "server/runtime/event_feed.h"
#include "storage/memory/store.h"

namespace locus::server {
namespace {

// Keeps what it is sent, and says that it left only when the test has it say so.
class SlowReader final : public Watcher {
 public:
  std::vector<v1::WatchEventsResponse> kept() const {
    const std::lock_guard lock(mutex_);
    return kept_;
  }
  v1::WatchEventsResponse wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return kept_.size() >= count; });
    return kept_.at(count - 1);
  }

 protected:
  void send(v1::WatchEventsResponse response) override {
    const std::lock_guard lock(mutex_);
    kept_.push_back(std::move(response));
    changed_.notify_all();
  }
  void failed(absl::Status) override {}

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<v1::WatchEventsResponse> kept_;
};

class SlowReaderTest : public ::testing::Test {
 protected:
  ~SlowReaderTest() override {
    reader_->close();
    pool_.join();
  }
  // Stores that many events, tells the feed of each, and has it do all that it would do now.
  void append(int count) {
    for (int i = 0; i < count; ++i) {
      const Mutation event = AppendEvent{"experiments/many", "changed", "{}"};
      ASSERT_TRUE(store_->apply({&event, 1}, 1).ok());
      feed_.changed();
    }
    settle();
  }
  void settle() {
    io_.restart();
    io_.poll();
    std::promise<void> done;  // the pool has one thread: what was posted before has run
    pool_.post([&] { done.set_value(); });
    done.get_future().wait();
  }

  std::unique_ptr<Store> store_ = make_memory_store();
  boost::asio::io_context io_;
  WorkPool pool_{1, 100'000};
  EventFeed feed_{*store_, pool_, io_};
  std::shared_ptr<SlowReader> reader_ = std::make_shared<SlowReader>();
};

TEST_F(SlowReaderTest, HasOneMessageUnderWayHoweverMuchComesMeanwhile) {
  append(1);
  reader_->start(feed_, 0, "");
  EXPECT_EQ(reader_->wait_for(1).events_size(), 1);
  append(300);
  EXPECT_EQ(reader_->kept().size(), 1u) << "it has not taken the first";
  reader_->sent();
  EXPECT_EQ(reader_->wait_for(2).events_size(), 256) << "a message has a most";
  append(10);
  EXPECT_EQ(reader_->kept().size(), 2u);
  reader_->sent();
  EXPECT_EQ(reader_->wait_for(3).events_size(), 54) << "nothing is left out, nothing told twice";
}

TEST_F(SlowReaderTest, IsMovedAheadAndToldSoWhenItFallsFarBehind) {
  append(1);
  reader_->start(feed_, 0, "");
  reader_->wait_for(1);
  const std::vector<Mutation> many(20'001, AppendEvent{"experiments/many", "changed", "{}"});
  ASSERT_TRUE(store_->apply(many, 1).ok());
  append(1);
  reader_->sent();
  const v1::WatchEventsResponse moved = reader_->wait_for(2);
  EXPECT_TRUE(moved.truncated());
  EXPECT_EQ(moved.events_size(), 0);
  EXPECT_EQ(moved.cursor(), store_->last_event().value());
  reader_->sent();
  append(1);
  EXPECT_EQ(reader_->wait_for(3).events_size(), 1) << "and goes on from there";
}

}  // namespace
}  // namespace locus::server
