// What ends a stage badly, and the class and sentence it is told with.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include "tests/engine/train/recording.h"

namespace locus::engine {
namespace {

using ::testing::HasSubstr;

StageReport run(const Json& configuration, const std::function<void(StageRequest&)>& change = {}) {
  const TemporaryFolder folder;
  StageRequest request = request_for(configuration, folder.path());
  if (change) change(request);
  RecordingObserver observer;
  return run_stage(request, observer);
}

TEST(RunStage, TellsMissingDataFromBrokenCode) {
  const StageReport report =
      run(small_configuration(), [](StageRequest& r) { r.execution.data_root = r.execution.work / "nowhere"; });
  EXPECT_EQ(report.outcome, "failed");
  EXPECT_EQ(report.failure_class, "data");
  EXPECT_THAT(report.reason, HasSubstr("nowhere/fashion-mnist/train-images-idx3-ubyte.gz is missing"));
  EXPECT_THAT(report.reason, HasSubstr("apt install dataset-fashion-mnist"));
}

TEST(RunStage, RefusesADigestOrRevisionOfAnotherBuild) {
  Json configuration = small_configuration();
  configuration["dataset"]["digest"] = "00";
  EXPECT_EQ(run(configuration).failure_class, "data");
  configuration = small_configuration();
  configuration["revisions"] = {{"prior/violin", 999}};
  EXPECT_EQ(run(configuration).failure_class, "code");
  EXPECT_THAT(run(configuration).reason, HasSubstr("prior/violin is asked for at revision 999"));
  configuration["revisions"] = {{"prior/unheard-of", 1}};
  EXPECT_THAT(run(configuration).reason, HasSubstr("not in this trainer's catalog"));
}

TEST(RunStage, NamesWhatItDoesNotKnow) {
  Json configuration = small_configuration();
  configuration["kind"] = "dream";
  EXPECT_THAT(run(configuration).reason, HasSubstr("there is no stage 'dream'"));
  configuration = small_configuration();
  configuration["recipe"]["options"]["learning"] = 1;
  const auto needs_data = std::filesystem::exists(kDataRoot / "fashion-mnist");
  if (needs_data) {
    EXPECT_THAT(run(configuration).reason, HasSubstr("recipe supervised has no option 'learning'"));
  }
  EXPECT_THAT(run(small_configuration(), [](StageRequest& r) { r.execution.device = "abacus"; }).reason,
              HasSubstr("no device kind 'abacus'"));
}

TEST(RunStage, ClassifiesExhaustedMemory) {
  LOCUS_NEEDS_FASHION_MNIST();
  Json configuration = small_configuration();
  configuration["model"]["options"]["dim"] = 16384;
  configuration["model"]["options"]["mlp_ratio"] = 64.0;
  configuration["model"]["options"]["depth"] = 512;  // the first block alone asks for 69 GB, the second finds none
  rlimit old{}, tight{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &old), 0);
  tight = {rlim_t{8} << 30, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &tight), 0);
  const StageReport report = run(configuration);
  ::setrlimit(RLIMIT_AS, &old);
  EXPECT_EQ(report.failure_class, "out-of-memory") << report.reason;
}

// An observer that fails must not be told as a failure of the stage.
TEST(RunStage, LetsAnAbortOfTheObserverThrough) {
  LOCUS_NEEDS_FASHION_MNIST();
  const TemporaryFolder folder;
  RecordingObserver observer;
  observer.on_wish = []() -> Wish { throw StageAborted("the socket is gone"); };
  EXPECT_THROW(run_stage(request_for(small_configuration(), folder.path()), observer), StageAborted);
}

}  // namespace
}  // namespace locus::engine
