// Steps of several ranks in float64: those of one, up to the last digits. And trainings that several devices cannot divide.
#include <gmock/gmock.h>

#include "engine/inputs/input.h"
#include "engine/tasks/parts.h"
#include "engine/train/backward.h"
#include "engine/train/recipe.h"
#include "tests/engine/distributed/ranks.h"
#include "tests/engine/train/recording.h"

namespace locus::engine {
namespace {

using ::testing::HasSubstr;

struct Steps {
  std::vector<double> losses;
  std::vector<Tensor> weights;
};

// Of dropped paths, a prior's loss, clipping and AdamW, on batches that are made up: all of each alone, or this
// rank's part, in `passes` parts of its own.
Steps train_in_double(Gang* gang, const Json& priors, std::int64_t steps, std::int64_t passes) {
  Json configuration = small_configuration();
  configuration["priors"] = priors;
  configuration["recipe"]["options"]["lr"] = 1e-3;
  const RandomStreams random(7);
  const Json facts = {{"channels", 1}, {"extent", {28, 28}}, {"classes", 10}};
  const auto task = make_task({configuration, facts, random});
  task->to(at::kDouble);
  const auto recipe = make_recipe(configuration);
  const auto optimizer = recipe->optimizer(*task);
  const TrainingHooks hooks = recipe->hooks(*task);
  BackwardPass backward(Precision::kFloat32, gang == nullptr ? 1 : passes, at::kCPU);
  std::unique_ptr<GradientReducer> reducer;
  if (gang != nullptr) {
    reducer = std::make_unique<GradientReducer>(*gang, task->parameters(), BucketBytes{1 << 10, 1 << 12});
    backward.reduce_by(*reducer);
    share_statistics(*task, *gang);
  }
  Steps out;
  for (std::int64_t step = 0; step < steps; ++step) {
    Batch batch = task->example_batch(8, {28, 28}, RandomStreams(static_cast<std::uint64_t>(step)));
    batch[kImage] = batch[kImage].to(at::kDouble);
    ForwardContext context{step, steps, true, random};
    if (gang != nullptr) {
      batch = parts_of(batch, gang->world()).at(static_cast<std::size_t>(gang->rank()));
      context.first_sample = gang->rank() * 8 / gang->world();
    }
    const Tensor loss = backward.run(*task, batch, context).loss.to(at::kDouble).clone();
    if (gang != nullptr) gang->sum(loss.div_(gang->world()));
    for (const auto& hook : hooks) hook->before_update({context, *task, *optimizer});
    optimizer->step(1e-3);
    out.losses.push_back(loss.item<double>());
  }
  for (const Tensor& weight : task->parameters()) out.weights.push_back(weight.detach());
  return out;
}

void expect_steps_of_one(const Json& priors, std::int64_t steps, std::int64_t passes) {
  Steps alone;
  std::thread([&] {
    at::set_num_threads(1);
    alone = train_in_double(nullptr, priors, steps, passes);
  }).join();
  for (const int world : {2, 4}) {
    std::vector<Steps> ranks(static_cast<std::size_t>(world));
    as_ranks(world, [&](Gang& gang) {
      ranks[static_cast<std::size_t>(gang.rank())] = train_in_double(&gang, priors, steps, passes);
    });
    for (std::size_t step = 0; step < alone.losses.size(); ++step) {
      ASSERT_NEAR(ranks[0].losses.at(step) / alone.losses[step], 1, 1e-12) << "step " << step << " of " << world;
    }
    for (const Steps& rank : ranks) {
      EXPECT_EQ(rank.losses, ranks[0].losses);
      for (std::size_t i = 0; i < rank.weights.size(); ++i)
        EXPECT_TRUE(same_bits(rank.weights[i].contiguous(), ranks[0].weights[i].contiguous())) << "parameter " << i;
    }
  }
}

TEST(GangSteps, AreThoseOfOneRankInDoublePrecision) { expect_steps_of_one(small_configuration().at("priors"), 200, 2); }

TEST(GangSteps, NormalizeByWholeBatches) {
  expect_steps_of_one({{{"id", "local-ffn"}, {"options", {{"mode", "original"}}}}}, 40, 1);
}

class DividedStage : public ::testing::Test {
 protected:
  void SetUp() override { LOCUS_NEEDS_FASHION_MNIST(); }

  // Refused by rank 1 before it looks for another one.
  std::string refusal(const Json& configuration) {
    RecordingObserver observer;
    StageRequest request = request_for(configuration, folder_.path() / "work");
    request.execution.gang = {1, 3};
    const StageReport report = run_stage(request, observer);
    EXPECT_EQ(report.outcome, "failed");
    EXPECT_EQ(report.failure_class, "code");
    return report.reason;
  }
  TemporaryFolder folder_;
};

TEST_F(DividedStage, IsRefusedWhereBatchesCannotBeDividedEvenly) {
  EXPECT_THAT(refusal(small_configuration()),
              HasSubstr("this training cannot run on 3 devices: a batch of 8 samples cannot be divided among 3 devices "
                        "evenly; choose a multiple of it for train.batch, or set placement.devices to 1"));
  Json configuration = small_configuration();
  configuration["recipe"] = {{"id", "deit"},
                             {"options", {{"epochs", 1}, {"batch", 30}, {"limit", 64}, {"keep_last", true}}}};
  EXPECT_THAT(refusal(configuration), HasSubstr("the last batch of an epoch, of 4 samples"));
}

TEST_F(DividedStage, IsRefusedWhereTheModelLooksAtWholeBatchesInSeveralPasses) {
  Json configuration = small_configuration();
  configuration["recipe"]["options"].update({{"batch", 9}, {"accumulate", 3}});
  configuration["priors"] = {{{"id", "local-ffn"}, {"options", {{"mode", "original"}}}}};
  EXPECT_THAT(refusal(configuration), HasSubstr("is a batch norm"));
}

TEST_F(DividedStage, IsRefusedUnlessItTrains) {
  Json configuration = small_configuration();
  configuration["kind"] = "evaluate";
  EXPECT_THAT(refusal(configuration), HasSubstr("a stage of kind evaluate runs on one device, and is given 3"));
}

}  // namespace
}  // namespace locus::engine
