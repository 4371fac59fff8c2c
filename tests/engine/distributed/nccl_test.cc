// The backend of GPUs with a library in NCCL's place that adds up in the memory of the host: what is asked of it, in which order,
// and what becomes of its errors. Streams, events and NCCL itself need a GPU.
#include "engine/distributed/nccl.h"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include "engine/distributed/reducer.h"
#include "tests/engine/distributed/ranks.h"

namespace locus::engine {
namespace {

using ::testing::HasSubstr;

class NcclGangs : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(fake().missing, "");
    call<void (*)()>("fake_nccl_reset")();
  }
  void TearDown() override { call<void (*)()>("fake_nccl_reset")(); }  // which ends what still waits in it
  static const Nccl& fake() {
    static const Nccl instance = load_nccl(LOCUS_FAKE_NCCL);
    return instance;
  }
  template <typename Function>
  Function call(const char* name) {
    return reinterpret_cast<Function>(::dlsym(::dlopen(LOCUS_FAKE_NCCL, RTLD_NOW), name));
  }
  void fail(const char* name, int result) { call<void (*)(const char*, int)>("fake_nccl_fail")(name, result); }
  std::string log() { return call<const char* (*)()>("fake_nccl_log")(); }
  int left() { return call<int (*)()>("fake_nccl_left")(); }

  void as_ranks_of_gpus(int world, const std::function<void(Gang&)>& work) {
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < world; ++rank) {
      ranks.emplace_back([&, rank] {
        at::set_num_threads(1);
        try {
          work(*join_nccl(meeting_.place(rank, world), at::kCPU, fake(), nullptr));
        } catch (const std::exception& error) {
          ADD_FAILURE() << "rank " << rank << ": " << error.what();
        }
      });
    }
    for (std::thread& rank : ranks) rank.join();
  }
  // Why one that wants to be rank 0 of 2 is refused.
  std::string refusal() {
    try {
      join_nccl(meeting_.place(0, 2, 1), at::kCPU, fake(), nullptr);
    } catch (const PeerLostError& error) {
      return error.what();
    }
    return "";
  }

  MeetingPlace meeting_;
};

TEST_F(NcclGangs, FormAGroupByAnIdThatRankZeroLeavesForTheOthers) {
  as_ranks_of_gpus(3, [](Gang& gang) { EXPECT_EQ(gang.of_leader(gang.leads() ? 41 : 7), 41); });
  EXPECT_EQ(left(), 3) << "and none waits for the others at its end";
}

TEST_F(NcclGangs, AddUpNumbersOfEachTypeInTheirPlace) {
  as_ranks_of_gpus(2, [](Gang& gang) {
    for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16, at::kLong}) {
      const Tensor numbers = at::arange(5, at::TensorOptions(type)) + gang.rank();
      gang.sum(numbers);
      EXPECT_TRUE(numbers.eq(2 * at::arange(5, at::TensorOptions(type)) + 1).all().item<bool>()) << type;
    }
  });
  EXPECT_EQ(log(), "5 of type 7 added up; 5 of type 8 added up; 5 of type 9 added up; 5 of type 4 added up; ");
}

TEST_F(NcclGangs, AddUpBucketsInTheirOrder) {
  as_ranks_of_gpus(2, [](Gang& gang) {
    const std::vector<Tensor> weights = {at::ones({3}).set_requires_grad(true), at::ones({5}).set_requires_grad(true)};
    GradientReducer reducer(gang, weights, BucketBytes{1, 1});
    reducer.begin();
    (weights[0].sum() * (1 + gang.rank()) + weights[1].sum()).backward();
    reducer.finish();
    EXPECT_TRUE(weights[0].grad().eq(3).all().item<bool>());
    EXPECT_TRUE(weights[1].grad().eq(2).all().item<bool>());
  });
  EXPECT_EQ(log(), "6 of type 7 added up; 4 of type 7 added up; ") << "each with how many have a gradient behind it";
}

TEST_F(NcclGangs, TakeItsErrorsForALostProcess) {
  fail("ncclGetUniqueId", 2);
  EXPECT_THAT(refusal(), HasSubstr("NCCL: unhandled system error"));
  call<void (*)()>("fake_nccl_reset")();
  fail("ncclCommInitRank", 2);
  EXPECT_THAT(refusal(), HasSubstr("NCCL: unhandled system error"));
  for (const char* name : {"ncclAllReduce", "ncclCommGetAsyncError"}) {
    call<void (*)()>("fake_nccl_reset")();
    MeetingPlace another;
    fail(name, 2);
    std::vector<std::thread> ranks;
    for (const int rank : {0, 1}) {
      ranks.emplace_back([&, rank] {
        const auto gang = join_nccl(another.place(rank, 2), at::kCPU, fake(), nullptr);
        EXPECT_THROW(gang->sum(at::ones({1})), PeerLostError) << name;
      });
    }
    for (std::thread& rank : ranks) rank.join();
  }
}

TEST_F(NcclGangs, GiveUpAGroupThatDoesNotForm) { EXPECT_THAT(refusal(), HasSubstr("NCCL formed no group in time")); }

TEST_F(NcclGangs, RefuseTypesThatItDoesNotHave) {
  as_ranks_of_gpus(2, [](Gang& gang) { EXPECT_THROW(gang.sum(at::ones({1}, at::kBool)), std::invalid_argument); });
  EXPECT_EQ(log(), "");
}

TEST(Nccl, SaysWhatIsMissing) {
  EXPECT_THAT(load_nccl("/nowhere/libnccl.so.2").missing, HasSubstr("/nowhere/libnccl.so.2"));
  EXPECT_EQ(load_nccl("libc.so.6").missing, "libc.so.6 lacks a call of NCCL's");
}

}  // namespace
}  // namespace locus::engine
