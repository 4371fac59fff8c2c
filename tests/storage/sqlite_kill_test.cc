// Acknowledged means durable: a process that appends is killed at any moment, again and again.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/sqlite/store.h"
#include "tests/storage/world.h"

namespace locus::testing {
namespace {

// Starts the appender, reads `enough` acknowledgements, kills it, and returns the last acknowledgement that
// came out.
std::int64_t run_and_kill(const std::filesystem::path& folder, int enough) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    execl(LOCUS_APPENDER, LOCUS_APPENDER, folder.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[1]);
  std::int64_t acked = 0, value = 0;
  for (int i = 0; read(ends[0], &value, sizeof value) == sizeof value; ++i) {
    acked = value;
    if (i == enough) kill(child, SIGKILL);  // what it wrote before it died still comes out of the pipe
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the appender ended by itself: " << status;
  return acked;
}

TEST(SqliteKill, KeepsEveryAcknowledgedPointWhenKilledAtAnyMoment) {
  TempFolder folder;
  FixedClock clock;
  {
    auto store = open_sqlite_store(folder.path(), clock);
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE(apply(**store, world()).ok());
    ASSERT_TRUE(apply(**store, {grant(1, 1)}).ok());
  }
  std::int64_t before = 0;
  for (int round = 0; round < 8; ++round) {
    const std::int64_t acked = run_and_kill(folder.path(), 3 + 17 * round);
    ASSERT_GT(acked, before);
    auto store = open_sqlite_store(folder.path(), clock);
    ASSERT_TRUE(store.ok()) << store.status();
    const std::int64_t stored = (*store)->attempts(1).value()[0].acked_seq;
    ASSERT_GE(stored, acked);
    const auto points = (*store)->points(1, {"loss", "train", "{}"}, 0).value().points;
    ASSERT_EQ(static_cast<std::int64_t>(points.size()), stored);
    for (std::int64_t i = 0; i < stored; ++i) ASSERT_EQ(points[i].value, static_cast<double>(i + 1));
    before = stored;
  }
}

}  // namespace
}  // namespace locus::testing
