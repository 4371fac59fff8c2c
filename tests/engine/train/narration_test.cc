// The lines of a training's log: what they say and how they are spaced, on a clock of the test's.
#include "engine/train/narration.h"

#include <gmock/gmock.h>

#include <limits>

namespace locus::engine {
namespace {

using ::testing::ElementsAre;

class Lines final : public StageObserver {
 public:
  void started(const Json&, std::int64_t, std::int64_t) override {}
  void point(const SeriesKey&, const Place&, double) override {}
  void progress(std::int64_t, std::int64_t, std::string_view) override {}
  void checkpoint(std::int64_t, const std::filesystem::path&, bool) override {}
  Wish wish() override { return Wish::kContinue; }
  void say(const std::string& line) override { all.push_back(line); }

  std::vector<std::string> all;
};

TEST(Narration, SaysTheLastWindowAndAValidationOnce) {
  Lines lines;
  double now = 0;
  Narration narration(lines, 30, 10, [&] { return now; });
  narration.window(0.51234, 4.1e-4, 12.345);
  narration.validated({{"top1", 78.314}, {"loss", 0.612}});
  now = 2;
  narration.reached(10);
  narration.window(std::numeric_limits<double>::quiet_NaN(), 1e-5, 12);
  now = 4;
  narration.reached(20);
  EXPECT_THAT(lines.all, ElementsAre("epoch 1/3  step 10/30  loss 0.5123  lr 4.1e-04  12.3 ms/step  val top1 78.31"
                                     "  loss 0.6120",
                                     "epoch 2/3  step 20/30  loss nan  lr 1.0e-05  12.0 ms/step"));
}

TEST(Narration, SaysWhatPartOfTheStepsWasWaitingForData) {
  Lines lines;
  double now = 0;
  Narration narration(lines, 20, 10, [&] { return now; });
  narration.window(0.5, 1e-4, 80, /*waited=*/0.183);
  now = 2;
  narration.reached(10);
  narration.window(0.5, 1e-4, 80, /*waited=*/0.009);
  now = 4;
  narration.reached(20);
  EXPECT_THAT(lines.all,
              ElementsAre("epoch 1/2  step 10/20  loss 0.5000  lr 1.0e-04  80.0 ms/step (18 % waiting for data)",
                          "epoch 2/2  step 20/20  loss 0.5000  lr 1.0e-04  80.0 ms/step"));
}

TEST(Narration, OfShortEpochsSpeaksOnceASecondAndAlwaysAtTheEnd) {
  Lines lines;
  double now = 0;
  Narration narration(lines, 1000, 1, [&] { return now; });
  for (std::int64_t step = 1; step <= 1000; ++step, now += 0.01) narration.reached(step);
  EXPECT_GE(lines.all.size(), 9u);
  EXPECT_LE(lines.all.size(), 11u);
  EXPECT_EQ(lines.all.back(), "epoch 1000/1000  step 1000/1000");
}

TEST(Narration, OfLongEpochsSpeaksWithinThemAndLessAndLessOften) {
  double now = 0;
  Pace pace([&] { return now; });
  std::vector<double> at;
  for (; now < 86'400; now += 1) {
    if (pace.due(false)) at.push_back(now);
  }
  EXPECT_EQ(at.at(0), 10);
  EXPECT_EQ(at.at(1), 20);
  EXPECT_EQ(at.back() - at.at(at.size() - 2), 60);
  EXPECT_LT(at.size(), 1500u) << "of a day";
}

}  // namespace
}  // namespace locus::engine
