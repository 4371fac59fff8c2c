// What every data set, host, task and recipe promises, whoever brings it. `locus plugin test` runs this on those of a
// plugin; without one it is tried on the engine's first of each, which have suites of their own.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "engine/measure/flops.h"
#include "engine/tasks/parts.h"
#include "tests/engine/parts/contract.h"
#include "tests/engine/support/models.h"
#include "tests/engine/support/reference.h"

namespace locus::engine::contract {
namespace {

using Part = testing::TestWithParam<std::string>;

std::string name_of_part(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

// Images of the made data set as a network takes them.
Tensor network_images(std::int64_t count) {
  const Extent extent = dataset_facts({{"id", kMadeImages}}).at("extent");
  return RandomStreams(5).normal("contract", "input", 0, {count, 3, extent[0], extent[1]});
}

void nudge_parameters(Module& module) {
  const at::NoGradGuard no_gradient;
  for (auto& entry : module.named_parameters()) {
    entry.value().add_(RandomStreams(13).normal("contract", entry.key(), 0, entry.value().sizes()), 0.02);
  }
}

std::shared_ptr<Task> task_of(const Json& configuration, std::uint64_t seed = 3) {
  const RandomStreams random(seed);
  const Json facts = dataset_facts(configuration.at("dataset"));
  return make_task({configuration, facts, random});
}

// ---- data sets ----

class PartsDataset : public Part {
 protected:
  std::shared_ptr<Dataset> opened() const {
    return dataset_item(GetParam())
        .open({data_root(), {}}, Options(dataset_item(GetParam()).item.json(), Json::object()));
  }
  Json facts() const { return dataset_facts({{"id", GetParam()}}); }
};

TEST_P(PartsDataset, GivesTheSplitsThatItsEntrySays) {
  const auto dataset = opened();
  dataset->prepare({});
  const std::size_t channels = facts().at("channels");
  for (const std::vector<double>& numbers : {dataset->normalization().mean, dataset->normalization().deviation})
    EXPECT_TRUE(numbers.size() == 1 || numbers.size() == channels) << "of " << channels << " channels";
  for (const double deviation : dataset->normalization().deviation) EXPECT_GT(deviation, 0);
  for (const auto& [name, size] : facts().at("splits").items()) {
    const auto source = dataset->split(name);
    ASSERT_EQ(source->size(), size.get<std::int64_t>()) << name;
    for (const std::int64_t index : {std::int64_t{0}, source->size() / 2, source->size() - 1}) {
      const Sample sample = source->read(index);
      EXPECT_LE(bytes_of(sample), source->bytes(index)) << name << " " << index << " takes more than it said";
      const Tensor& image = sample.at(kImage);
      EXPECT_EQ(image.scalar_type(), at::kByte) << "images are bytes until they are normalized";
      ASSERT_EQ(image.dim(), 3);
      EXPECT_EQ(image.size(0), static_cast<std::int64_t>(channels));
      if (!sample.contains(kLabel)) continue;
      const Tensor& label = sample.at(kLabel);
      EXPECT_EQ(label.scalar_type(), at::kLong);
      EXPECT_GE(label.item<std::int64_t>(), 0) << name << " " << index;
      EXPECT_LT(label.item<std::int64_t>(), facts().at("classes").get<std::int64_t>()) << name << " " << index;
    }
  }
  EXPECT_THROW(dataset->split("no-such-split"), std::invalid_argument);
}

TEST_P(PartsDataset, ReadsTheSameInAnyOrderWhoeverOpensIt) {
  const auto first = opened(), second = opened();
  first->prepare({});
  second->prepare({});
  const auto there = first->split("train"), back = second->split("train");
  const std::int64_t count = std::min<std::int64_t>(there->size(), 50);
  for (std::int64_t i = 0; i < count; ++i) {
    const Sample a = there->read(i), b = back->read(count - 1 - i), c = back->read(i);
    for (const auto& [name, tensor] : a) EXPECT_TRUE(at::equal(tensor, c.at(name))) << name << " of sample " << i;
    EXPECT_EQ(a.size(), b.size()) << "samples hold the same names";
  }
}

TEST_P(PartsDataset, ShowsEveryClassAndNoSampleOfOneSplitInAnother) {
  const auto dataset = opened();
  dataset->prepare({});
  std::set<std::string> seen;
  std::set<std::int64_t> classes;
  for (const char* name : {"train", "validation", "test"}) {
    const auto source = dataset->split(name);
    const Batch* all = source->resident();
    if (all == nullptr || !all->contains(kLabel)) GTEST_SKIP() << "its samples are read one by one";
    const Tensor images = all->at(kImage).contiguous();
    std::set<std::string> own;
    for (std::int64_t i = 0; i < images.size(0); ++i) {
      const Tensor image = images[i];
      own.emplace(static_cast<const char*>(image.const_data_ptr()), image.nbytes());
      if (name == std::string("train")) classes.insert(all->at(kLabel)[i].item<std::int64_t>());
    }
    std::size_t shared = 0;
    for (const std::string& image : own) shared += seen.contains(image) ? 1 : 0;
    EXPECT_LT(static_cast<double>(shared), 0.02 * static_cast<double>(own.size()) + 1) << name << " repeats others";
    seen.merge(own);
  }
  EXPECT_EQ(static_cast<std::int64_t>(classes.size()), facts().at("classes").get<std::int64_t>());
}

TEST_P(PartsDataset, TrainsAndGoesOnFromACheckpoint) {
  const Json said = facts();
  if (!said.contains("classes") || said.contains("target")) GTEST_SKIP() << "it is for other tasks than classification";
  expect_to_go_on_from_a_checkpoint(training_of({.dataset = GetParam()}));
}

// ---- hosts ----

class PartsHost : public Part {
 protected:
  std::shared_ptr<Backbone> host(const std::string& prior = "none", std::uint64_t seed = 3) const {
    const Extent extent = dataset_facts({{"id", kMadeImages}}).at("extent");
    return make_backbone(training_of({.backbone = GetParam(), .prior = prior}), {3, {extent[0], extent[1]}},
                         RandomStreams(seed));
  }
};

TEST_P(PartsHost, GivesTokensWhereItSaysTheyLie) {
  const auto model = host();
  const Tensor images = network_images(3);
  const Features features = model->forward(images, test::test_context(false));
  const std::vector<Layout> layouts = model->layouts(images.size(2), images.size(3));
  ASSERT_EQ(features.stages.size(), layouts.size());
  for (std::size_t s = 0; s < layouts.size(); ++s) {
    EXPECT_EQ(features.stages[s].layout, layouts[s]) << "stage " << s;
    EXPECT_EQ(features.stages[s].tokens.size(1), layouts[s].tokens()) << "stage " << s;
  }
  EXPECT_EQ(features.tokens.sizes(), (at::IntArrayRef{3, layouts.back().tokens(), model->width()}));
  EXPECT_EQ(model->pooled(features).sizes(), (at::IntArrayRef{3, model->pooled_width()}));
  EXPECT_TRUE(features.tokens.isfinite().all().item<bool>());
}

TEST_P(PartsHost, CountsTheOperationsThatItDispatches) {
  const auto model = host();
  const Tensor image = network_images(1);
  const at::NoGradGuard no_gradient;
  const FlopCounter counter;
  model->forward(image, test::test_context(false));
  EXPECT_EQ(counter.total(), model->flops(image.size(2), image.size(3)));
}

TEST_P(PartsHost, GivesEveryParameterAFiniteGradient) {
  const auto model = host();
  nudge_parameters(*model);
  for (const auto& [name, gradient] : test::gradients(*model, network_images(4))) {
    ASSERT_TRUE(gradient.defined()) << name << " gets no gradient";
    EXPECT_TRUE(gradient.isfinite().all().item<bool>()) << name;
    EXPECT_GT(gradient.abs().max().item<double>(), 0) << name << " is never used";
  }
}

TEST_P(PartsHost, IsAFunctionOfTheSeed) {
  const Tensor images = network_images(2);
  const auto tokens = [&](std::uint64_t seed) {
    return host("none", seed)->forward(images, test::test_context(false)).tokens;
  };
  EXPECT_TRUE(at::equal(tokens(3), tokens(3)));
  EXPECT_FALSE(at::equal(tokens(3), tokens(4)));
}

TEST_P(PartsHost, TakesEveryPriorOrSaysWhyItCannot) {
  int taken = 0;
  for (const PriorItem& prior : prior_items()) {
    std::shared_ptr<Backbone> model;
    try {
      model = host(prior.id());
    } catch (const std::invalid_argument& error) {
      EXPECT_STRNE(error.what(), "") << prior.id();
      continue;
    }
    ++taken;
    nudge_parameters(*model);
    for (const auto& [name, gradient] : test::gradients(*model, network_images(2))) {
      ASSERT_TRUE(gradient.defined()) << prior.id() << ": " << name << " gets no gradient";
      EXPECT_TRUE(gradient.isfinite().all().item<bool>()) << prior.id() << ": " << name;
    }
  }
  EXPECT_GT(taken, 0) << "it takes no prior at all, not even none";
}

TEST_P(PartsHost, TrainsAndGoesOnFromACheckpoint) {
  expect_to_go_on_from_a_checkpoint(training_of({.backbone = GetParam()}));
}

// ---- tasks ----

class PartsTask : public Part {
 protected:
  std::shared_ptr<Task> task() const { return task_of(training_of({.task = GetParam()})); }
  static Batch batch_of(const Task& task, std::int64_t size) {
    const Extent extent = dataset_facts({{"id", kMadeImages}}).at("extent");
    return task.example_batch(size, extent, RandomStreams(9));
  }
};

TEST_P(PartsTask, LearnsFromABatchByAFiniteLoss) {
  const auto learned = task();
  nudge_parameters(*learned);
  const Batch batch = batch_of(*learned, 6);
  const StepLosses losses = learned->train_step(batch, test::test_context(true));
  EXPECT_EQ(losses.loss.dim(), 0) << "a loss is one number";
  ASSERT_FALSE(losses.fields.empty());
  EXPECT_EQ(losses.fields.front().first, "loss");
  losses.loss.backward();
  int learning = 0;
  for (const auto& entry : learned->named_parameters()) {
    if (!entry.value().requires_grad()) continue;
    ++learning;
    ASSERT_TRUE(entry.value().grad().defined()) << entry.key() << " gets no gradient";
    EXPECT_TRUE(entry.value().grad().isfinite().all().item<bool>()) << entry.key();
  }
  EXPECT_GT(learning, 0);
  const StepLosses next = learned->train_step(batch, test::test_context(true));
  ASSERT_EQ(next.fields.size(), losses.fields.size()) << "the same names every step";
  for (std::size_t i = 0; i < next.fields.size(); ++i) EXPECT_EQ(next.fields[i].first, losses.fields[i].first);
}

TEST_P(PartsTask, ScoresWhatItsEntryNames) {
  const auto learned = task();
  const at::NoGradGuard no_gradient;
  const auto sums = learned->accumulator();
  learned->evaluate(batch_of(*learned, 6), test::test_context(false), *sums);
  learned->evaluate(batch_of(*learned, 3), test::test_context(false), *sums);
  const Json facts = task_item(GetParam()).item.json().at("facts");
  std::set<std::string> named, scored;
  for (const Json& metric : facts.at("metrics")) named.insert(metric.at("name").get<std::string>());
  for (const Score& score : sums->scores()) {
    EXPECT_TRUE(named.contains(score.metric)) << score.metric << " is scored and not in the entry";
    EXPECT_TRUE(std::isfinite(score.value)) << score.metric;
    scored.insert(score.metric);
  }
  EXPECT_TRUE(scored.contains(facts.at("default_metric").get<std::string>()));
}

TEST_P(PartsTask, SumsThePartsOfASplitToTheWhole) {
  const auto learned = task();
  const at::NoGradGuard no_gradient;
  const auto whole = learned->accumulator(), first = learned->accumulator(), second = learned->accumulator();
  auto* sums = dynamic_cast<SummedScores*>(whole.get());
  if (sums == nullptr) GTEST_SKIP() << "its scores are no sums: each device of several scores the whole";
  const Batch some = batch_of(*learned, 6), more = batch_of(*learned, 4);
  const ForwardContext context = test::test_context(false);
  learned->evaluate(some, context, *whole);
  learned->evaluate(more, context, *whole);
  learned->evaluate(some, context, *first);
  learned->evaluate(more, context, *second);
  const Tensor added = dynamic_cast<SummedScores&>(*first).totals() + dynamic_cast<SummedScores&>(*second).totals();
  EXPECT_LT(test::largest_difference(added, sums->totals()), 1e-4);
  dynamic_cast<SummedScores&>(*first).load_totals(added);
  const auto scores = first->scores(), expected = whole->scores();
  ASSERT_EQ(scores.size(), expected.size());
  for (std::size_t i = 0; i < scores.size(); ++i) EXPECT_NEAR(scores[i].value, expected[i].value, 1e-3);
}

TEST_P(PartsTask, SaysOfASampleTheSameInAnyBatch) {
  const auto learned = task();
  const at::NoGradGuard no_gradient;
  const Batch all = batch_of(*learned, 6);
  Batch half;
  for (const auto& [name, tensor] : all) half.emplace(name, tensor.size(0) == 6 ? tensor.slice(0, 0, 3) : tensor);
  const Tensor said = learned->predict(all, test::test_context(false));
  const Tensor again = learned->predict(half, test::test_context(false));
  EXPECT_LT(test::largest_difference(said.slice(0, 0, 3), again), 1e-4);
}

TEST_P(PartsTask, TrainsAndGoesOnFromACheckpoint) {
  if (task_item(GetParam()).item.json().at("facts").contains("target"))
    GTEST_SKIP() << "it learns from what images with labels have not";
  expect_to_go_on_from_a_checkpoint(training_of({.task = GetParam()}));
}

// ---- recipes ----

class PartsRecipe : public Part {};

TEST_P(PartsRecipe, GivesEveryStepARateAndTrainsEachParameterOnce) {
  const Json configuration = training_of({.recipe = GetParam()});
  const auto recipe = make_recipe(configuration);
  const Horizon horizon{.epochs = recipe->loop().epochs, .steps_per_epoch = 12, .most = recipe->loop().steps};
  const Schedule schedule = recipe->schedule(horizon);
  double most = 0;
  for (std::int64_t step = 0; step < horizon.steps(); ++step) {
    const double rate = schedule(step);
    ASSERT_TRUE(std::isfinite(rate) && rate >= 0) << "step " << step << ": " << rate;
    most = std::max(most, rate);
  }
  EXPECT_GT(most, 0);
  const auto task = task_of(configuration);
  const auto optimizer = recipe->optimizer(*task);
  std::set<std::string> trained;
  for (const ParameterGroup& group : optimizer->groups()) {
    for (const NamedParameter& named : group.parameters) {
      EXPECT_TRUE(trained.insert(named.name).second) << named.name << " is in two groups";
      EXPECT_TRUE(named.parameter.requires_grad()) << named.name << " is trained and does not learn";
    }
  }
  EXPECT_FALSE(trained.empty());
  for (const auto& entry : task->named_parameters()) {
    EXPECT_EQ(entry.value().requires_grad(), trained.contains(entry.key()))
        << entry.key() << ": what is in no group is frozen (requires_grad_(false))";
  }
}

TEST_P(PartsRecipe, MovesWhatItTrainsAndKeepsItFinite) {
  const Json configuration = training_of({.recipe = GetParam()});
  const auto recipe = make_recipe(configuration);
  const auto task = task_of(configuration);
  nudge_parameters(*task);
  const auto optimizer = recipe->optimizer(*task);
  const Extent extent = dataset_facts({{"id", kMadeImages}}).at("extent");
  std::map<std::string, Tensor> before;
  for (const auto& entry : task->named_parameters()) before[entry.key()] = entry.value().detach().clone();
  const double rate = recipe->schedule({.epochs = 2, .steps_per_epoch = 12})(8);
  for (int step = 0; step < 3; ++step) {
    task->train_step(task->example_batch(6, extent, RandomStreams(9)), test::test_context(true)).loss.backward();
    optimizer->step(rate);
  }
  int moved = 0;
  for (const auto& entry : task->named_parameters()) {
    EXPECT_TRUE(entry.value().isfinite().all().item<bool>()) << entry.key();
    const bool same = at::equal(entry.value().detach(), before.at(entry.key()));
    EXPECT_TRUE(same || entry.value().requires_grad()) << entry.key() << " is frozen and moved";
    moved += same ? 0 : 1;
  }
  EXPECT_GT(moved, 0) << "nothing moved at rate " << rate;
}

TEST_P(PartsRecipe, TrainsAndGoesOnFromACheckpoint) {
  expect_to_go_on_from_a_checkpoint(training_of({.recipe = GetParam()}));
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PartsDataset);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PartsHost);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PartsTask);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PartsRecipe);
INSTANTIATE_TEST_SUITE_P(Catalog, PartsDataset, testing::ValuesIn(tested("dataset")), name_of_part);
INSTANTIATE_TEST_SUITE_P(Catalog, PartsHost, testing::ValuesIn(tested("backbone")), name_of_part);
INSTANTIATE_TEST_SUITE_P(Catalog, PartsTask, testing::ValuesIn(tested("task")), name_of_part);
INSTANTIATE_TEST_SUITE_P(Catalog, PartsRecipe, testing::ValuesIn(tested("recipe")), name_of_part);

}  // namespace
}  // namespace locus::engine::contract
