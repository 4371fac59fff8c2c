// Whether anybody connected could run what is planned.
#include "core/scheduling/capacity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduling/support/harness.h"

namespace locus::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kGib = 1024.0 * 1024 * 1024;

RequirementsPtr asks(const std::string& item, int revision, double gib = 0) {
  return std::make_shared<const StageRequirements>(StageRequirements{
      .revisions = {{item, revision}}, .exclusive = false, .memory_bytes = static_cast<std::int64_t>(gib * kGib)});
}

RequirementsPtr plain(double gib = 0) { return asks("prior/none", 1, gib); }
const RequirementsPtr kViolin = asks("prior/violin", 2);

WorkerOffer offer(const std::string& name, double gib, int slots = 1, const std::string& device = "cpu") {
  std::string json;
  for (int i = 0; i < slots; ++i)
    json += (i == 0 ? "[" : ",") + std::string(R"({"device":")") + device + R"(","memory_bytes":)" +
            std::to_string(static_cast<std::int64_t>(gib * kGib)) + "}";
  return {name, json + "]", {{"prior/none", 1}}, static_cast<std::size_t>(slots), 0};
}

TEST(Capacity, IsEnoughWhereAWorkerHasTheItemsAndTheMemory) {
  EXPECT_THAT(capacity_warnings({{"a", {plain(3)}}}, {{offer("w", 2), offer("x", 4)}, 0, 0}), IsEmpty());
  EXPECT_THAT(capacity_warnings({{"a", {plain(3)}}}, {{offer("w", 2), offer("x", 0)}, 0, 0}), IsEmpty())
      << "a slot that does not say may have enough";
  EXPECT_THAT(capacity_warnings({}, {}), IsEmpty()) << "nothing is left to run";
}

TEST(Capacity, IsMissingWhereNoWorkerIsConnected) {
  EXPECT_THAT(capacity_warnings({{"a", {plain()}}}, {}), ElementsAre(HasSubstr("no worker is connected")));
  EXPECT_THAT(capacity_warnings({{"a", {plain()}}}, {{}, 2, 0}),
              ElementsAre(HasSubstr("every connected worker is draining (2)")));
}

TEST(Capacity, NamesWhatNoWorkerHasAndForWhichCells) {
  EXPECT_THAT(capacity_warnings({{"none", {plain()}}, {"violin", {plain(), kViolin}}}, {{offer("w", 2)}, 0, 0}),
              ElementsAre("no connected worker can run 'violin': w lacks prior/violin at revision 2 (it has none)"));
  WorkerOffer other = offer("x", 2);
  other.revisions = {{"prior/violin", 2}};
  EXPECT_THAT(capacity_warnings({{"both", {plain(), kViolin}}}, {{offer("w", 2), other}, 0, 0}),
              ElementsAre(HasSubstr("no connected worker can run 'both'")))
      << "each has one of them";
}

TEST(Capacity, NamesTheDevicesThatAreNeededTogetherAndTheMostAWorkerHas) {
  WorkerOffer large = offer("x", 2, 4);
  large.together = 4;
  const std::vector<CellNeed> cells = {{"one", {plain()}, 1}, {"four", {plain()}, 4}, {"eight", {plain()}, 8}};
  EXPECT_THAT(capacity_warnings(cells, {{offer("w", 2), large}, 0, 0}),
              ElementsAre("training 'eight' needs 8 devices of one node, and the largest connected worker that can run "
                          "it has 4"));
}

TEST(Capacity, SaysWhyDevicesThatAreThereCannotBeTakenTogether) {
  WorkerOffer gpus = offer("g", 80, 8, "cuda");
  gpus.devices = 8, gpus.apart = "cannot train on several GPUs together: no libnccl.so.2";
  EXPECT_THAT(capacity_warnings({{"four", {plain()}, 4}}, {{gpus}, 0, 0}),
              ElementsAre("training 'four' needs 4 devices of one node, and g has 8 and cannot train on several GPUs "
                          "together: no libnccl.so.2"));
  WorkerOffer cpus = offer("w", 2, 2);
  cpus.together = cpus.devices = 2;
  EXPECT_THAT(capacity_warnings({{"four", {plain()}, 4}}, {{cpus, gpus}, 0, 0}),
              ElementsAre("training 'four' needs 4 devices of one node, and the largest connected worker that can run "
                          "it has 2; g has 8 and cannot train on several GPUs together: no libnccl.so.2"));
  EXPECT_THAT(capacity_warnings({{"two", {plain()}, 2}}, {{cpus, gpus}, 0, 0}), ElementsAre());
}

TEST(Capacity, NamesTheMemoryThatIsNeededAndTheMostThereIs) {
  const std::vector<CellNeed> cells = {{"small", {plain(1)}}, {"large", {plain(20)}}, {"larger", {plain(30)}}};
  EXPECT_THAT(capacity_warnings(cells, {{offer("w", 8), offer("x", 16)}, 0, 0}),
              ElementsAre("training 'large' and 'larger' needs about 20 GiB to 30 GiB of memory, and the largest slot "
                          "of a connected worker that can run them has 16 GiB (x)"));
  CellNeed large = cells[1];
  const std::vector<std::string> warnings = {
      "training 'large' needs about 20 GiB of memory, and the largest slot of a connected worker that can run it has 8 "
      "GiB (w)"};
  EXPECT_EQ(capacity_warnings({large}, {{offer("w", 8)}, 0, 0}), warnings);
  large.memory_bytes = std::int64_t{7} << 30;
  EXPECT_THAT(capacity_warnings({large}, {{offer("w", 8)}, 0, 0}), ElementsAre()) << "its specification says 7";
}

TEST(Capacity, CountsSlotsByDevice) {
  WorkerOffer gpus = offer("g", 80, 2, "cuda");
  gpus.busy = 1;
  const auto found = device_slots({{offer("a", 1), gpus, offer("b", 1, 3)}, 0, 0});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].device, "cpu");
  EXPECT_EQ(found[0].slots, 4);
  EXPECT_EQ(found[0].free, 4);
  EXPECT_EQ(found[1].device, "cuda");
  EXPECT_EQ(found[1].free, 1);
}

TEST(Fleet, IsWhoTakesNewWorkAndWhatWaits) {
  Harness h;
  h.submit({.cells = {"a", "b"}});
  EXPECT_TRUE(h.scheduler().fleet().workers.empty());
  EXPECT_GT(h.scheduler().fleet().queued, 0u);
  h.join("w", "s");
  const std::size_t waiting = h.scheduler().fleet().queued;
  ASSERT_TRUE(h.ask("s"));
  const Fleet fleet = h.scheduler().fleet();
  ASSERT_EQ(fleet.workers.size(), 1u);
  EXPECT_EQ(fleet.workers[0].name, "w");
  EXPECT_EQ(fleet.workers[0].busy, 1u);
  EXPECT_EQ(fleet.queued, waiting - 1);
}

}  // namespace
}  // namespace locus::testing
