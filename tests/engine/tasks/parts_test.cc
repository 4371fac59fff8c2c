// What several devices divide: the gradients of a batch, whatever the model, unless it is said why not; and scores.
#include "engine/tasks/parts.h"

#include <gmock/gmock.h>

#include "engine/decoders/decoder.h"
#include "engine/layers/norm.h"
#include "engine/tasks/task.h"
#include "tests/engine/distributed/ranks.h"
#include "tests/engine/support/maps.h"
#include "tests/engine/support/models.h"

namespace locus::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Json kPartsFacts = {{"channels", test::kTestChannels}, {"extent", {8, 10}}, {"classes", 3}};
const RandomStreams kPartsRandom(3);

// In float64, so that what differs is no rounding.
std::shared_ptr<Task> task_in_double(const Json& configuration, const Json& facts = kPartsFacts) {
  const RandomStreams random(3);
  auto task = make_task({configuration, facts, random});
  task->to(at::kDouble);
  return task;
}

Batch in_double(Batch batch) {
  for (auto& [name, tensor] : batch) {
    if (tensor.is_floating_point()) tensor = tensor.to(at::kDouble);
  }
  return batch;
}

using Gradients = std::map<std::string, Tensor>;

// Adds the gradients of part `part` of `parts`.
void learn_from_part(Task& task, const Batch& batch, std::int64_t part, std::int64_t parts) {
  const std::int64_t size = batch.at(kImage).size(0) / parts;
  Batch own;
  for (const auto& [name, tensor] : batch) own.emplace(name, tensor.slice(0, part * size, (part + 1) * size));
  const ForwardContext context{100, 200, true, kPartsRandom, part * size};
  (task.train_step(own, context).loss / static_cast<double>(parts)).backward();
}

Gradients gradients_of(const Task& task) {
  Gradients out;
  for (const auto& item : task.named_parameters()) {
    if (item.value().grad().defined()) out.emplace(item.key(), item.value().grad().clone());
  }
  return out;
}

Gradients gradients_in_parts(Task& task, const Batch& batch, std::int64_t parts) {
  task.zero_grad();
  for (std::int64_t part = 0; part < parts; ++part) learn_from_part(task, batch, part, parts);
  return gradients_of(task);
}

void expect_equal(const Gradients& whole, const Gradients& parts) {
  double largest = 0;
  for (const auto& [name, gradient] : whole) largest = std::max(largest, gradient.abs().max().item<double>());
  EXPECT_GT(largest, 0);
  ASSERT_EQ(whole.size(), parts.size());
  for (const auto& [name, gradient] : whole)
    EXPECT_LT((gradient - parts.at(name)).abs().max().item<double>(), 1e-9 * largest) << name;
}

void expect_equal_parts(Task& task, const Batch& batch) {
  expect_equal(gradients_in_parts(task, batch, 1), gradients_in_parts(task, batch, 2));
}

bool has_batch_norm(const Task& task) {
  const auto parts = task.named_modules();
  return std::any_of(parts.begin(), parts.end(),
                     [](const auto& part) { return std::dynamic_pointer_cast<BatchNorm>(part.value()) != nullptr; });
}

// Parts that share the statistics of a batch: each learned from by a rank of its own, at once. The running statistics are those
// of the whole batch, too.
void expect_equal_ranks(const Json& configuration, const Json& facts, const Batch& batch) {
  const auto alone = task_in_double(configuration, facts);
  const Gradients whole = gradients_in_parts(*alone, batch, 1);
  as_ranks(2, [&](Gang& gang) {
    const auto task = task_in_double(configuration, facts);
    share_statistics(*task, gang);
    learn_from_part(*task, batch, gang.rank(), gang.world());
    Gradients parts = gradients_of(*task);
    for (const auto& [name, gradient] : parts) gang.sum(gradient);
    expect_equal(whole, parts);
    for (const auto& buffer : alone->named_buffers()) {
      EXPECT_TRUE(at::allclose(task->named_buffers()[buffer.key()], buffer.value(), 1e-9, 1e-12)) << buffer.key();
    }
  });
}

Json classified(Json configuration) {
  configuration["task"] = {{"id", "classification"}};
  return configuration;
}

TEST(Division, LeavesGradientsAsTheyAreWithEveryPrior) {
  std::set<std::string> of_batches;
  for (const test::PriorSetting& setting : test::all_settings()) {
    SCOPED_TRACE(setting.name());
    Json configuration = classified(test::stage_configuration({setting}, test::fitting(setting, {})));
    configuration["model"]["options"].update({{"drop_path", 0.3}, {"dropout", 0.2}});
    const auto task = task_in_double(configuration);
    EXPECT_THAT(undivided(*task, configuration), IsEmpty());
    const Batch batch = in_double(task->example_batch(4, {8, 10}, kPartsRandom));
    if (!has_batch_norm(*task)) {
      expect_equal_parts(*task, batch);
      continue;
    }
    of_batches.insert(setting.id);
    expect_equal_ranks(configuration, kPartsFacts, batch);
    EXPECT_THAT(undivided(*task, configuration, 2), HasSubstr("is a batch norm"));
  }
  EXPECT_THAT(of_batches, ::testing::ElementsAre("local-ffn"));
}

TEST(Division, LeavesGradientsAsTheyAreWithEveryTaskAndDecoderThatItDoesNotRefuse) {
  const Json facts = {{"channels", 3}, {"extent", {32, 32}}, {"classes", 5}};
  std::set<std::string> divided, with_batch_norms;
  for (const std::string& id : test::tasks_of_maps()) {
    for (const DecoderItem& decoder : decoder_items()) {
      SCOPED_TRACE(id + " " + decoder.id());
      Json configuration = {
          {"task", {{"id", id}}},
          {"decoder", test::small_decoder(decoder)},
          {"model", {{"id", "vit"}, {"options", {{"dim", 8}, {"depth", 4}, {"heads", 2}, {"patch", 8}}}}},
          {"priors", Json::array({{{"id", "none"}}})}};
      if (id == "segmentation") configuration["task"]["options"] = {{"average", "all"}};
      // Group norm has 32 groups. One of a single channel, on the single place that is pooled, gives 0 but for rounding, and
      // there ReLU has no slope.
      if (auto& options = configuration["decoder"]["options"]; options.contains("width")) options["width"] = 64;
      const auto task = task_in_double(configuration, facts);
      if (!undivided(*task, configuration).empty()) continue;
      divided.insert(id);
      const Batch batch = in_double(task->example_batch(4, {32, 32}, kPartsRandom));
      if (has_batch_norm(*task)) {
        with_batch_norms.insert(decoder.id());
        expect_equal_ranks(configuration, facts, batch);
      } else {
        expect_equal_parts(*task, batch);
      }
    }
  }
  EXPECT_EQ(divided, std::set<std::string>{"segmentation"});
  EXPECT_TRUE(with_batch_norms.contains("upernet"));
}

TEST(Division, IsRefusedWhereALossIsNoMeanOverSamples) {
  const Json facts = {{"channels", 3}, {"extent", {32, 32}}, {"classes", 5}};
  for (const auto& [id, why] : {std::pair<std::string, std::string>{"segmentation", "labeled pixels"},
                                {"depth", "pixels of a batch whose depth is known"}}) {
    const Json configuration = {
        {"task", {{"id", id}}},
        {"decoder", {{"id", "linear"}}},
        {"model", {{"id", "vit"}, {"options", {{"dim", 8}, {"depth", 1}, {"heads", 2}, {"patch", 8}}}}},
        {"priors", Json::array({{{"id", "none"}}})}};
    EXPECT_THAT(undivided(*task_in_double(configuration, facts), configuration), HasSubstr(why));
  }
}

TEST(Division, IsRefusedForDropoutOfAdapters) {
  Json configuration = classified(test::stage_configuration({{.id = "none"}}));
  configuration["adapter"] = {{"id", "lora"}, {"options", {{"rank", 2}}}};
  EXPECT_THAT(undivided(*task_in_double(configuration), configuration), IsEmpty());
  configuration["adapter"]["options"]["dropout"] = 0.1;
  EXPECT_THAT(undivided(*task_in_double(configuration), configuration), HasSubstr("set adapter.dropout to 0"));
}

// Whoever writes a task says so; of those that do not, nothing is known.
class SilentTask : public Task {
 public:
  Batch example_batch(std::int64_t, const Extent&, const RandomStreams&) const override { return {}; }
  Tensor predict(const Batch&, const ForwardContext&) override { return {}; }
  std::int64_t flops(std::int64_t, std::int64_t) const override { return 0; }
  StepLosses train_step(const Batch&, const ForwardContext&) override { return {}; }
  std::unique_ptr<Accumulator> accumulator() const override { return nullptr; }
  void evaluate(const Batch&, const ForwardContext&, Accumulator&) override {}
  Decay decay(std::string_view, const Tensor&) const override { return Decay::kExempt; }
  bool training_only(std::string_view) const override { return false; }
  std::string path() const override { return ""; }
};

TEST(Division, IsRefusedToTasksThatDoNotSaySo) {
  EXPECT_THAT(undivided(SilentTask(), {{"task", {{"id", "mine"}}}}), HasSubstr("task mine: it does not say"));
}

// Scores of two halves, put together, are those of the whole.
void expect_scores_to_add_up(Task& task, const Batch& batch) {
  const at::NoGradGuard no_gradient;
  const ForwardContext context{0, 10, false, kPartsRandom};
  task.eval();
  const auto whole = task.accumulator();
  task.evaluate(batch, context, *whole);
  Tensor sum;
  const std::int64_t size = batch.at(kImage).size(0);
  for (const auto& [first, end] : {std::pair<std::int64_t, std::int64_t>{0, 1}, {1, size}, {size, size}}) {
    const auto part = task.accumulator();
    Batch own;
    for (const auto& [name, tensor] : batch) own.emplace(name, tensor.slice(0, first, end));
    if (first < end) task.evaluate(own, context, *part);
    const Tensor totals = dynamic_cast<const SummedScores&>(*part).totals();
    sum = sum.defined() ? sum + totals : totals;
  }
  const auto together = task.accumulator();
  dynamic_cast<SummedScores&>(*together).load_totals(sum);
  const std::vector<Score> wanted = whole->scores(), found = together->scores();
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(found[i].metric, wanted[i].metric);
    EXPECT_NEAR(found[i].value, wanted[i].value, 1e-9) << wanted[i].metric;
  }
}

TEST(Division, LeavesScoresAsTheyAre) {
  for (const std::int64_t classes : {3, 30}) {
    Json facts = kPartsFacts;
    facts["classes"] = classes;
    const Json configuration = classified(test::stage_configuration({{.id = "none"}}));
    const auto task = task_in_double(configuration, facts);
    expect_scores_to_add_up(*task, in_double(task->example_batch(7, {8, 10}, kPartsRandom)));
  }
  const Json configuration = {
      {"task", {{"id", "segmentation"}}},
      {"decoder", {{"id", "linear"}}},
      {"model", {{"id", "vit"}, {"options", {{"dim", 8}, {"depth", 1}, {"heads", 2}, {"patch", 8}}}}},
      {"priors", Json::array({{{"id", "none"}}})}};
  const auto task = task_in_double(configuration, {{"channels", 3}, {"extent", {32, 32}}, {"classes", 5}});
  expect_scores_to_add_up(*task, in_double(task->example_batch(5, {32, 32}, kPartsRandom)));
}

}  // namespace
}  // namespace locus::engine
