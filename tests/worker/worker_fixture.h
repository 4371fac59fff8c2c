// A daemon's surroundings: a folder, a fake server, gates at which its trainers wait.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/client/temporary_folder.h"
#include "tests/worker/daemon.h"
#include "tests/worker/fake_server.h"

namespace locus {

class WorkerTest : public testing::Test {
 protected:
  // A FIFO at which a trainer waits.
  std::string gate(const std::string& name) {
    const std::string path = (folder_ / name).string();
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    return path;
  }
  // Blocks until a trainer waits there, and lets it go on.
  static void open_gate(const std::string& path) { ::close(::open(path.c_str(), O_WRONLY)); }

  FakeStage stage(std::int64_t id) {
    std::lock_guard lock(store_.mutex);
    return store_.stages.at(id);
  }
  // Steps of an attempt's points, in sequence.
  std::vector<std::int64_t> steps(std::int64_t id, std::int64_t attempt) {
    std::vector<std::int64_t> out;
    const FakeStage copy = stage(id);
    for (const auto& point : copy.attempts.at(attempt).points) out.push_back(point.step);
    return out;
  }
  static std::vector<std::int64_t> range(std::int64_t first, std::int64_t last) {
    std::vector<std::int64_t> out;
    for (std::int64_t i = first; i <= last; ++i) out.push_back(i);
    return out;
  }
  std::filesystem::path work() const { return folder_ / "work"; }
  std::size_t attempts_on_disk() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(work() / "attempts")) ++count;
    return count;
  }

  TemporaryFolder folder_;
  FakeStore store_;
  FakeServer server_{store_};
};

}  // namespace locus
