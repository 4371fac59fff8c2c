// Several ranks of one group as threads of a test.
#pragma once

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/base/rendezvous.h"
#include "engine/distributed/gang.h"
#include "engine/distributed/rendezvous.h"

namespace locus::engine {

// The board of attempt 1/1, and the ways of its ranks to it. Thread-safe.
class MeetingPlace {
 public:
  // PyTorch's recorder of what groups do is one for a process, and ranks that begin to add up at once damage it.
  MeetingPlace() { ::setenv("TORCH_FR_BUFFER_SIZE", "0", 1); }
  MeetingPlace(const MeetingPlace&) = delete;
  MeetingPlace& operator=(const MeetingPlace&) = delete;

  // `attempt`: that the rank believes to be of.
  GangPlace place(int rank, int world, double timeout_seconds = 120, const std::string& attempt = "1/1") {
    return {rank, world, &way(attempt), timeout_seconds};
  }
  Rendezvous& way(const std::string& attempt = "1/1") {
    const std::lock_guard lock(mutex_);
    ways_.push_back(std::make_unique<Way>(*this, static_cast<int>(ways_.size()), attempt));
    return *ways_.back();
  }

 private:
  class Way final : public Rendezvous {
   public:
    Way(MeetingPlace& place, int number, std::string attempt)
        : place_(place), number_(number), attempt_(std::move(attempt)) {}
    Json ask(Json question, std::chrono::milliseconds time) override {
      question["attempt"] = attempt_;
      question["ask"] = 1;
      std::unique_lock lock(place_.mutex_);
      for (auto& [to, frame] : place_.board_.take(number_, question)) place_.answers_[to] = std::move(frame);
      place_.changed_.notify_all();
      if (!place_.changed_.wait_for(lock, time, [&] { return place_.answers_.contains(number_); }))
        throw std::runtime_error("no word from the others in time");
      const Json answer = place_.answers_.extract(number_).mapped();
      if (answer.contains("refused")) throw std::runtime_error("refused: " + answer.at("refused").get<std::string>());
      return answer;
    }

   private:
    MeetingPlace& place_;
    const int number_;
    const std::string attempt_;
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  RendezvousBoard board_{"1/1"};
  std::map<int, Json> answers_;
  std::vector<std::unique_ptr<Way>> ways_;
};

// Runs `work` for all ranks at once, each with its gang and one thread, as slots of a worker have. What one throws fails the
// test.
inline void as_ranks(int world, const std::function<void(Gang&)>& work) {
  MeetingPlace meeting;
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < world; ++rank) {
    ranks.emplace_back([&, rank] {
      at::set_num_threads(1);  // of this rank: waiting threads of many would take the time of those that compute
      try {
        work(*join_gang(meeting.place(rank, world), at::kCPU));
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

}  // namespace locus::engine
