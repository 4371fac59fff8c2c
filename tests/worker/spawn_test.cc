// Children: started, read, ended, and what is said when that fails.
#include "core/process/spawn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

#include "worker/app/trainer_process.h"

namespace locus {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(RunAndCapture, ReturnsStandardOutputAlone) {
  const auto output = run_and_capture({"/bin/sh", "-c", "echo out; echo err >&2"}, 60s);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(*output, "out\n");
}

TEST(RunAndCapture, ReadsMoreThanAPipeHolds) {
  const auto output = run_and_capture({"/bin/sh", "-c", "head -c 300000 /dev/zero"}, 60s);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(output->size(), 300000U);
}

TEST(RunAndCapture, QuotesStandardErrorOfAFailure) {
  const absl::Status status = run_and_capture({"/bin/sh", "-c", "echo why >&2; exit 3"}, 60s).status();
  EXPECT_THAT(status.message(), HasSubstr("exit status 3"));
  EXPECT_THAT(status.message(), HasSubstr("why"));
}

TEST(RunAndCapture, EndsWhatTakesTooLong) {
  EXPECT_THAT(run_and_capture({"/bin/sh", "-c", "exec tail -f /dev/null"}, 50ms).status().message(),
              HasSubstr("50 ms"));
}

TEST(RunAndCapture, NamesAProgramThatIsNotThere) {
  const absl::Status status = run_and_capture({"/nowhere/program"}, 60s).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("/nowhere/program"));
}

TEST(Spawn, GivesTheChildNoDescriptorBeyondItsOwn) {
  const auto output = run_and_capture({"/bin/sh", "-c", "ls /proc/self/fd"}, 60s);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(*output, "0\n1\n2\n3\n");  // 3: ls reading the folder
}

TEST(Spawn, GivesTheChildDefaultSignals) {
  // 32 is the C library's own: only the kernel lets it be ignored, as some have who started us.
  const std::array<int, 6> ignored = {SIGPIPE, SIGINT, SIGQUIT, SIGHUP, SIGXFSZ, 32};
  using Action = std::array<unsigned long, 8>;  // what the kernel calls sigaction; the handler first, 1 is SIG_IGN
  const Action ignore = {1};
  std::array<Action, ignored.size()> before{};
  for (std::size_t i = 0; i < ignored.size(); ++i)
    ::syscall(SYS_rt_sigaction, ignored[i], ignore.data(), before[i].data(), sizeof(std::uint64_t));
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  const auto output = run_and_capture({"/bin/sh", "-c", "grep -E 'SigBlk|SigIgn' /proc/self/status"}, 60s);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  for (std::size_t i = 0; i < ignored.size(); ++i)
    ::syscall(SYS_rt_sigaction, ignored[i], before[i].data(), nullptr, sizeof(std::uint64_t));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(*output, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST(RunAndCapture, GivesTheProgramItsInput) {
  const std::string input(200'000, 'x');  // more than a pipe holds
  const auto output = run_and_capture({"/bin/cat"}, 60s, input);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(*output, input);
  EXPECT_TRUE(run_and_capture({"/bin/true"}, 60s, input).ok()) << "nobody has to read it";
}

TEST(FindProgram, GoesByThePathAsAShellDoes) {
  const auto found = find_program("sh", "install one");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(run_and_capture({*found, "-c", "true"}, 60s).ok());
  EXPECT_EQ(*find_program("/some/where/sh", ""), "/some/where/sh");
  const auto none = find_program("no-such-program", "install one");
  EXPECT_TRUE(absl::IsNotFound(none.status()));
  EXPECT_THAT(std::string(none.status().message()), HasSubstr("install one"));
}

TEST(TrainerProcess, TellsHowItsChildEnded) {
  auto child = TrainerProcess::start({"/bin/false", current_environment()});
  ASSERT_TRUE(child.ok()) << child.status();
  const TrainerEnd end = (*child)->wait_end(60s);
  EXPECT_EQ(end.failure_class, FailureClass::kCode);
  EXPECT_THAT(end.reason, HasSubstr("status 1"));
  EXPECT_THAT(end.reason, HasSubstr("printed nothing"));
}

}  // namespace
}  // namespace locus
