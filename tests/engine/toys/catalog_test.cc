// Every prior of the catalog in a network of two stages, the first one in shifted windows: it trains there, or is
// refused with the reason.
#include <gtest/gtest.h>

#include "engine/tasks/task.h"
#include "tests/engine/support/models.h"
#include "tests/engine/support/reference.h"
#include "tests/engine/toys/toys.h"

namespace locus::engine {
namespace {

using test::PriorSetting;

const Json kFacts = {{"channels", test::kTestChannels}, {"extent", {10, 8}}, {"classes", 3}};

Json configuration(const PriorSetting& prior, const Json& model_options = Json::object()) {
  toys::add_toys();
  return {{"task", {{"id", "classification"}}},
          {"model", {{"id", "two-stage"}, {"options", model_options}}},
          {"priors", {{{"id", prior.id}, {"options", prior.options}}}}};
}

// Why the setting has no place in shifted windows, in words of the refusal; empty: it has one.
std::string refusal(const PriorSetting& setting) {
  const auto is = [&](const char* option, const char* value) { return setting.options.value(option, "") == value; };
  if (setting.id == "gpsa" || (setting.id == "violin" && is("apply", "add-probs")))
    return "pairs that shifted windows hide";
  if ((setting.id == "manhattan-decay" && is("form", "decomposed")) ||
      (setting.id == "spatial-decay" && is("mode", "decomposed")))
    return "does not stay within windows";
  return "";
}

class EveryPriorInTwoStages : public testing::TestWithParam<PriorSetting> {};

// Moves every parameter a little, so that none that starts at zero hides another.
void nudge(Module& model) {
  const at::NoGradGuard no_grad;
  for (auto& entry : model.named_parameters()) {
    const Tensor noise = RandomStreams(13).normal("test", entry.key(), 0, entry.value().sizes());
    entry.value().add_(noise, 0.02);
  }
}

TEST_P(EveryPriorInTwoStages, TrainsAStepOrIsRefusedWithTheReason) {
  const RandomStreams random(3);
  const Json document = configuration(GetParam());
  const std::string reason = refusal(GetParam());
  if (!reason.empty()) {
    try {
      make_task({document, kFacts, random});
      FAIL() << "accepted what hides nothing from it";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("stage 0: prior " + GetParam().id), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    }
    return;
  }
  const auto task = make_task({document, kFacts, random});
  nudge(*task);
  const Batch batch = {{"image", test::test_images(6, {10, 8})}, {"label", at::arange(6).remainder(3)}};
  const Tensor before = task->train_step(batch, test::test_context(true)).loss;
  before.backward();
  double length = 0;
  for (const auto& entry : task->named_parameters()) {
    const Tensor& gradient = entry.value().grad();
    ASSERT_TRUE(gradient.defined()) << entry.key() << " gets no gradient";
    ASSERT_TRUE(gradient.isfinite().all().item<bool>()) << entry.key();
    EXPECT_GT(gradient.abs().max().item<double>(), 0) << entry.key() << " is never used";
    length += gradient.square().sum().item<double>();
  }
  {
    const at::NoGradGuard no_grad;
    for (Tensor& parameter : task->parameters()) parameter.sub_(parameter.grad(), 1e-3 / std::sqrt(length));
  }
  const Tensor after = task->train_step(batch, test::test_context(true)).loss;
  EXPECT_LT(after.item<double>(), before.item<double>()) << "a small step along the gradient";
}

// The same numbers as where nothing is divided: windows are samples to a prior, and its tables are those of a window.
TEST_P(EveryPriorInTwoStages, OfOneWindowIsWhatItIsOnTheGrid) {
  if (refusal(GetParam()).find("windows hide") == std::string::npos && !refusal(GetParam()).empty()) return;
  const auto tokens = [&](const Json& options) {
    const auto model =
        make_backbone(configuration(GetParam(), options), {test::kTestChannels, {10, 8}}, RandomStreams(3));
    nudge(*model);
    model->to(at::kDouble);
    return model->forward(test::test_images(2, {10, 8}).to(at::kDouble), test::test_context(true)).tokens;
  };
  EXPECT_LT(
      test::largest_difference(tokens({{"window", {5, 4}}, {"shift", {0, 0}}}), tokens({{"window", Json::array()}})),
      1e-10);
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryPriorInTwoStages, testing::ValuesIn(test::all_settings()),
                         [](const auto& test) { return test.param.name(); });

}  // namespace
}  // namespace locus::engine
