// What a machine offers, and what its trainers may see.
#include "worker/app/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/ids.h"

namespace locus {
namespace {

using testing::Contains;
using testing::HasSubstr;

const Json kTwoGpus = Json::parse(R"({"cpu": true, "cuda": [{"index": 0, "name": "A"}, {"index": 1, "name": "B"}]})");

TEST(OfferedSlots, AreTheCoresOverTheThreads) {
  WorkerOptions options;
  EXPECT_EQ(offered_slots(Json::object(), options, 8)->size(), 8U);
  options.threads = 3;
  EXPECT_EQ(offered_slots(Json::object(), options, 8)->size(), 2U);
  options.threads = 16;
  EXPECT_EQ(offered_slots(Json::object(), options, 8)->size(), 1U);
  options.slots = 5;
  EXPECT_EQ(offered_slots(Json::object(), options, 8)->size(), 5U);
}

TEST(OfferedSlots, OfTheCpuShareItsMemory) {
  WorkerOptions options;
  const auto slots = offered_slots(Json::object(), options, 4, 8'000'000'000);
  for (const DeviceSlot& slot : *slots) EXPECT_EQ(slot.memory_bytes, 2'000'000'000);
  EXPECT_EQ(offered_slots(Json::object(), options, 4)->at(0).memory_bytes, 0) << "unknown";
}

TEST(OfferedSlots, AreOneForEachGpu) {
  WorkerOptions options;
  options.device = "cuda";
  const auto slots = offered_slots(kTwoGpus, options, 8);
  ASSERT_EQ(slots->size(), 2U);
  EXPECT_EQ(slots->at(1).name, "B");
  options.slots = 1;
  EXPECT_EQ(offered_slots(kTwoGpus, options, 8)->size(), 1U);
}

TEST(OfferedSlots, AreTakenTogetherWhereTheTrainerCan) {
  WorkerOptions cpu, cuda;
  cuda.device = "cuda";
  Json said = kTwoGpus;
  const auto on_cpu = *offered_slots(said, cpu, 2), on_gpus = *offered_slots(said, cuda, 8);
  EXPECT_EQ(together_on(said, on_cpu).missing().at("cpu"), "has a trainer that trains on one device at a time");
  said["together"] = {"cpu"};
  said["apart"] = {{"cuda", "cannot train on several GPUs together: no library"}};
  EXPECT_EQ(together_on(said, on_cpu).devices(0), "cpu");
  EXPECT_EQ(together_on(said, on_gpus).devices_size(), 0);
  EXPECT_EQ(together_on(said, on_gpus).missing().at("cuda"), "cannot train on several GPUs together: no library");
}

TEST(OfferedSlots, AreSeveralOnAGpuThatShareItsMemory) {
  WorkerOptions options;
  options.device = "cuda";
  options.per_gpu = "2";
  const Json gpus = Json::parse(R"({"cuda": [{"index": 0, "memory_bytes": 17179869184}, {"index": 1}]})");
  const auto slots = offered_slots(gpus, options, 8);
  ASSERT_EQ(slots->size(), 4U);
  EXPECT_EQ(slots->at(1).index, 0);
  EXPECT_EQ(slots->at(2).index, 1);
  EXPECT_EQ(slots->at(0).memory_bytes, (std::int64_t{8} << 30) - (std::int64_t{512} << 20)) << "less its context";
  EXPECT_EQ(slots->at(2).memory_bytes, 0) << "unknown";
  EXPECT_EQ(slots->at(0).share, 2);
}

TEST(OfferedSlots, OfAGpuGoByTheCoresWhereItsMemoryIsKnown) {
  WorkerOptions options;
  options.device = "cuda";
  options.per_gpu = "auto";
  const auto count = [&](std::int64_t gibibytes, int cores) {
    const Json gpu = {{"cuda", {{{"index", 0}, {"memory_bytes", gibibytes << 30}}}}};
    return offered_slots(gpu, options, cores)->size();
  };
  EXPECT_EQ(count(40, 6), 6U);
  EXPECT_EQ(count(40, 2), 2U) << "each trainer has a core";
  EXPECT_EQ(count(141, 64), 12U);
  EXPECT_EQ(count(0, 16), 1U) << "unknown";
}

TEST(OfferedSlots, OfAnAutomaticGpuMayEachHaveAllOfItsMemory) {
  WorkerOptions options;
  options.device = "cuda";
  options.per_gpu = "auto";
  const std::int64_t bytes = std::int64_t{40} << 30;
  const auto slots = offered_slots({{"cuda", {{{"index", 3}, {"memory_bytes", bytes}}}}}, options, 4);
  ASSERT_EQ(slots->size(), 4U);
  EXPECT_EQ(slots->front().memory_bytes, bytes - (std::int64_t{512} << 20)) << "less its context";
  const PackingPolicy policy = packing_policy(*slots, options);
  EXPECT_EQ(policy.memory, (std::map<int, std::int64_t>{{3, bytes}}));
  EXPECT_GT(policy.context, 0);
  options.per_gpu = "4";
  EXPECT_TRUE(packing_policy(*slots, options).memory.empty()) << "who gives a number counts for himself";
}

TEST(PackingPolicy, OfACpuCountsWhereABudgetIsGiven) {
  WorkerOptions options;
  const std::vector<DeviceSlot> slots(2);
  EXPECT_TRUE(packing_policy(slots, options).memory.empty());
  EXPECT_EQ(shared_device(slots[0], options), -1);
  options.memory_bytes = 1000;
  EXPECT_EQ(packing_policy(slots, options).memory, (std::map<int, std::int64_t>{{0, 1000}}));
  EXPECT_EQ(shared_device(slots[1], options), 0);
}

TEST(OfferedSlots, RefuseAShareThatIsNoNumber) {
  WorkerOptions options;
  options.device = "cuda";
  for (const char* share : {"0", "-1", "two", "2x", "", "61"}) {
    options.per_gpu = share;
    EXPECT_THAT(offered_slots(kTwoGpus, options, 8).status().message(), HasSubstr("--per-gpu")) << share;
  }
}

TEST(SlotEnvironment, HasThreadsThatWaitSleepWhereThereAreMoreThanCores) {
  WorkerOptions options;
  options.threads = 2;
  options.slots = 2;
  const auto environment = [&](int cores, std::vector<std::string> base = {}) {
    return slot_environment(std::move(base), offered_slots(Json::object(), options, cores)->at(0), "");
  };
  EXPECT_THAT(environment(3), testing::Contains("OMP_WAIT_POLICY=PASSIVE"));
  EXPECT_THAT(environment(4), testing::Not(testing::Contains(HasSubstr("OMP_WAIT_POLICY"))));
  EXPECT_THAT(environment(3, {"OMP_WAIT_POLICY=ACTIVE"}), testing::Contains("OMP_WAIT_POLICY=ACTIVE"));
}

TEST(GpuIndex, IsThePlaceAmongTheVisibleOnes) {
  EXPECT_EQ(gpu_index({.device = "cuda", .index = 1}, ""), 1);
  EXPECT_EQ(gpu_index({.device = "cuda", .index = 1}, "4,6"), 6);
  EXPECT_EQ(gpu_index({.device = "cuda", .index = 0}, "GPU-8a4c"), -1) << "not by a number";
  EXPECT_EQ(gpu_index({.device = "cpu", .index = 1}, ""), -1);
}

TEST(OfferedSlots, RefuseWhatTheMachineLacks) {
  WorkerOptions options;
  options.device = "cuda";
  EXPECT_THAT(offered_slots(Json::object(), options, 8).status().message(), HasSubstr("sees no GPU"));
  const Json unusable = Json::parse(R"({"cuda": [], "cuda_unusable": "torch needs libx.so: run `tools/setup gpu`"})");
  EXPECT_EQ(offered_slots(unusable, options, 8).status().message(),
            "--device cuda, but torch needs libx.so: run `tools/setup gpu`; or offer the CPU with --device cpu");
  options.slots = 3;
  EXPECT_THAT(offered_slots(kTwoGpus, options, 8).status().message(), HasSubstr("there are 2 GPUs"));
  options.device = "tpu";
  EXPECT_THAT(offered_slots(kTwoGpus, options, 8).status().message(), HasSubstr("tpu"));
}

TEST(SlotEnvironment, LimitsThreadsAndShowsOneGpu) {
  const DeviceSlot gpu{"cuda", "", 1, 4, 0};
  const auto plain = slot_environment({"OMP_NUM_THREADS=64", "HOME=/h"}, gpu, "");
  EXPECT_THAT(plain, Contains("OMP_NUM_THREADS=4"));
  EXPECT_THAT(plain, testing::Not(Contains("OMP_NUM_THREADS=64")));
  EXPECT_THAT(plain, Contains("HOME=/h"));
  EXPECT_THAT(plain, Contains("CUDA_VISIBLE_DEVICES=1"));
  EXPECT_THAT(slot_environment({}, gpu, "5,7"), Contains("CUDA_VISIBLE_DEVICES=7"));
  EXPECT_THAT(slot_environment({}, DeviceSlot{}, "5,7"), Contains("CUDA_VISIBLE_DEVICES="));
}

TEST(WorkerName, IsAValidNameOfTheHost) {
  EXPECT_EQ(worker_name("Node_17.cluster.local"), "node-17");
  for (const auto& host : std::vector<std::string>{"", "10.0.0.1", "-x-", "UPPER", std::string(300, 'a')}) {
    EXPECT_TRUE(valid_name(worker_name(host))) << host << " -> " << worker_name(host);
  }
}

}  // namespace
}  // namespace locus
