// The log of server and worker.
#include "core/log/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

namespace locus {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// What `write` logs.
template <class Write>
std::string logged(const std::string& level, Write write) {
  ::testing::internal::CaptureStderr();
  set_up_log(level);
  write();
  return ::testing::internal::GetCapturedStderr();
}

TEST(Log, PutsTheValuesWhereThePatternSaysInTheirOrder) {
  const std::string entry = logged("info", [] {
    log_warning("attempt {} of {} {}{}", std::int64_t{3}, std::string("worker-1"), "ended", std::string_view(" here"));
  });
  EXPECT_THAT(entry, AllOf(HasSubstr("attempt 3 of worker-1 ended here\n"), HasSubstr("warning")));
}

TEST(Log, TakesABraceInAValueForText) {
  EXPECT_THAT(logged("info", [] { log_error("{}: {}", "{}", "last"); }), HasSubstr("{}: last\n"));
}

TEST(Log, LeavesAPlaceWithoutAValueAsItIs) {
  EXPECT_THAT(logged("info", [] { log_info("{} and {}", 1); }), HasSubstr("1 and {}\n"));
}

TEST(Log, HoldsAnEntryToOneLine) {
  EXPECT_THAT(logged("info", [] { log_info("{}", "a\nb"); }), HasSubstr("a\\nb\n"));
}

TEST(Log, LeavesOutWhatIsBelowItsLevel) {
  EXPECT_THAT(logged("warn", [] { log_info("quiet"); }), IsEmpty());
  const std::string entries = logged("debug", [] {
    log_debug("loud");
    log_entry(LogLevel::kCritical, "the end", {});
  });
  EXPECT_THAT(entries, AllOf(HasSubstr("loud"), HasSubstr("critical"), Not(HasSubstr("quiet"))));
}

TEST(Log, LosesEntriesWhileItsDiskIsFullAndGoesOnAfterwards) {
  const int before = ::dup(STDERR_FILENO), full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  ::dup2(full, STDERR_FILENO);
  set_up_log("info");
  for (int i = 0; i < 1000; ++i) log_error("{}", std::string(1000, 'x'));
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  ::close(full);
  EXPECT_THAT(logged("info", [] { log_info("there is room again"); }), HasSubstr("there is room again\n"));
}

}  // namespace
}  // namespace locus
