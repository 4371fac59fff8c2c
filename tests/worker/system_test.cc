// What a machine does: /proc read from a folder of the test's, and NVML from a library of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "tests/client/temporary_folder.h"
#include "worker/app/memory.h"
#include "worker/app/nvml.h"
#include "worker/app/proc.h"

namespace locus {
namespace {

class ProcTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    const auto path = folder_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  // As proc(5): pid (comm) state ppid pgrp, eight fields, utime stime, eight fields, rss.
  void process(pid_t pid, pid_t parent, pid_t group, double seconds, std::int64_t bytes,
               const std::string& name = "trainer") {
    const auto ticks = static_cast<std::int64_t>(seconds * static_cast<double>(::sysconf(_SC_CLK_TCK)));
    const std::string p = std::to_string(pid);
    write(p + "/stat", p + " (" + name + ") S " + std::to_string(parent) + " " + std::to_string(group) +
                           " 1 0 -1 0 1 2 3 4 " + std::to_string(ticks / 2) + " " + std::to_string(ticks - ticks / 2) +
                           " 0 0 20 0 1 0 100 999999 " + std::to_string(bytes / ::sysconf(_SC_PAGESIZE)) +
                           " 18446744073709551615\n");
  }

  const TemporaryFolder folder_;
  ProcReader reader_{folder_.path()};
};

TEST_F(ProcTest, MemoryIsTheMachinesOrTheLeastOfItsControlGroups) {
  const auto usable = [&] { return usable_memory(folder_.path(), folder_.path() / "groups"); };
  EXPECT_EQ(usable(), 0) << "nothing says";
  write("meminfo", "MemTotal:  8000 kB\nMemFree: 100 kB\n");
  EXPECT_EQ(usable(), 8000 * 1024);
  write("self/cgroup", "0::/jobs/mine\n");
  EXPECT_EQ(usable(), 8000 * 1024) << "no limit to be read";
  write("groups/jobs/mine/memory.max", "max\n");
  write("groups/jobs/memory.max", "4096000\n");
  EXPECT_EQ(usable(), 4096000) << "of the group above";
  write("groups/jobs/mine/memory.max", "2048000\n");
  EXPECT_EQ(usable(), 2048000);
  write("groups/memory.max", "1024000\n");
  EXPECT_EQ(usable(), 1024000) << "a container sees its own group at the root";
}

TEST_F(ProcTest, MemoryHeedsControlGroupsOfTheFirstVersion) {
  write("meminfo", "MemTotal:  8000 kB\n");
  write("self/cgroup", "10:cpu,cpuacct:/x\n9:memory:/jobs\n");
  write("groups/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(usable_memory(folder_.path(), folder_.path() / "groups"), 8000 * 1024);
  write("groups/memory/jobs/memory.limit_in_bytes", "3072000\n");
  EXPECT_EQ(usable_memory(folder_.path(), folder_.path() / "groups"), 3072000);
}

TEST_F(ProcTest, MachineIsTheShareOfAllCoresBetweenTwoReadings) {
  write("stat", "cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1 1 1 1\n");
  write("meminfo", "MemTotal:  8000 kB\nMemFree: 100 kB\nMemAvailable:  6000 kB\n");
  EXPECT_FALSE(reader_.machine()) << "one reading tells no share";
  write("stat", "cpu  160 0 130 800 110 0 0 0 0 0\n");
  const auto use = reader_.machine();
  ASSERT_TRUE(use);
  EXPECT_DOUBLE_EQ(use->cpu_percent, 45);  // 90 of 200
  EXPECT_EQ(use->memory_bytes, 2000 * 1024);
}

TEST_F(ProcTest, TreeIsTheTrainerWithItsGroupAndWhatItStarted) {
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  process(10, 1, 10, 5.0, 100 * page, "odd ) name (");
  process(11, 10, 10, 1.0, 20 * page);
  process(12, 11, 12, 0.5, 3 * page);  // another group, started by one of ours
  process(13, 1, 10, 0.0, 1 * page);   // its parent has gone
  process(20, 1, 20, 50.0, 999 * page);
  EXPECT_TRUE(reader_.trees({10}, 100).empty());
  process(10, 1, 10, 8.0, 100 * page, "odd ) name (");
  process(12, 11, 12, 1.5, 3 * page);
  process(14, 10, 10, 1.0, 5 * page);  // new since
  const auto trees = reader_.trees({10}, 102);
  ASSERT_EQ(trees.size(), 1u);
  EXPECT_DOUBLE_EQ(trees.at(10).cpu_percent, 250);  // 5 s in 2
  EXPECT_EQ(trees.at(10).memory_bytes, 129 * page);
}

TEST_F(ProcTest, LeavesOutTreesThatAreGone) {
  process(10, 1, 10, 5.0, 4096);
  reader_.trees({10}, 1);
  std::filesystem::remove_all(folder_.path() / "10");
  EXPECT_TRUE(reader_.trees({10}, 2).empty());
}

TEST(ProcReader, ReadsThisMachine) {
  ProcReader reader;
  reader.machine();
  const auto use = reader.machine();
  ASSERT_TRUE(use);
  EXPECT_GT(use->memory_bytes, 0);
  reader.trees({::getpid()}, 0);
  EXPECT_GT(reader.trees({::getpid()}, 1).at(::getpid()).memory_bytes, 0);
}

TEST(Nvml, IsNoErrorWhereThereIsNone) {
  EXPECT_FALSE(Nvml("libno-such-library.so.1").use(0));
  EXPECT_FALSE(Nvml("libm.so.6").use(0)) << "a library without the calls";
}

TEST(Nvml, TellsUseAndMemoryOfAGpu) {
  const Nvml nvml(LOCUS_FAKE_NVML);
  const auto use = nvml.use(0);
  ASSERT_TRUE(use);
  EXPECT_EQ(use->percent, 87);
  EXPECT_EQ(use->memory_bytes, std::int64_t{5} << 30);
  EXPECT_FALSE(nvml.use(1)) << "it cannot be read";
  EXPECT_FALSE(nvml.use(2));
  EXPECT_FALSE(nvml.use(-1));
}

}  // namespace
}  // namespace locus
