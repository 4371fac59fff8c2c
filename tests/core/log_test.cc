// The log of server and worker.
#include "core/log/log.h"

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace locus
