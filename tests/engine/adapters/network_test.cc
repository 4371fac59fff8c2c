// Adapters in networks: beside every prior, what learns and what is held, how many parameters there are.
#include <gmock/gmock.h>

#include "engine/tasks/tuning.h"
#include "tests/engine/support/models.h"

namespace locus::engine {
namespace {

using test::PriorSetting;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

const Json kFacts = {{"channels", test::kTestChannels}, {"extent", {8, 10}}, {"classes", 3}};

Json configuration_of(const std::vector<PriorSetting>& priors, const Json& adapter,
                      const test::ModelShape& shape = {}) {
  Json out = test::stage_configuration(priors, shape);
  out["task"] = {{"id", "classification"}};
  if (!adapter.is_null()) out["adapter"] = adapter;
  return out;
}
std::shared_ptr<Task> make(const Json& configuration, const Json& facts = kFacts) {
  const RandomStreams random(3);
  return make_task({configuration, facts, random});
}
Json adapter(const std::string& id, const Json& options = Json::object()) { return {{"id", id}, {"options", options}}; }

std::vector<std::string> adapter_ids() {
  std::vector<std::string> out;
  for (const AdapterItem& item : adapter_items()) {
    if (item.make != nullptr) out.push_back(item.id());
  }
  return out;
}

Batch batch_of(std::int64_t count) {
  return {{kImage, test::test_images(count, {8, 10})}, {kLabel, at::arange(count).remainder(3)}};
}

std::set<std::string> learning(const Task& task) {
  std::set<std::string> out;
  for (const auto& item : task.named_parameters()) {
    if (item.value().requires_grad()) out.insert(item.key());
  }
  return out;
}

std::vector<std::shared_ptr<Adapter>> layers_of(const Task& task) {
  std::vector<std::shared_ptr<Adapter>> out;
  for (const auto& entry : task.named_modules()) {
    if (auto layer = std::dynamic_pointer_cast<Adapter>(entry.value())) out.push_back(std::move(layer));
  }
  return out;
}

// Adapters that add something.
void stir(const Task& task) {
  const at::NoGradGuard no_gradient;
  for (const auto& item : task.named_parameters()) {
    if (item.key().ends_with("lora_b"))
      item.value().copy_(RandomStreams(8).normal("test", item.key(), 0, item.value().sizes(), 0, 0.3));
  }
}

double apart(const Tensor& a, const Tensor& b) { return (a - b).abs().max().item<double>(); }

class BesideEveryPrior : public ::testing::TestWithParam<std::string> {};

TEST_P(BesideEveryPrior, StartsAsTheModelWithoutAndLearnsByItsOwnParametersAlone) {
  for (const std::string& id : adapter_ids()) {
    const PriorSetting setting{GetParam()};
    const test::ModelShape shape = test::fitting(setting, {.pool = "cls"});
    const auto plain = make(configuration_of({setting}, Json(), shape)),
               adapted = make(configuration_of({setting}, adapter(id), shape));
    const ForwardContext scoring = test::test_context(false), training = test::test_context(true);
    EXPECT_LT(apart(adapted->predict(batch_of(4), scoring), plain->predict(batch_of(4), scoring)), 1e-5) << id;
    const auto common = adapted->named_parameters();
    for (const auto& item : plain->named_parameters())
      EXPECT_TRUE(at::equal(item.value(), common[item.key()])) << item.key() << " starts as without an adapter";
    stir(*adapted);
    adapted->train_step(batch_of(4), training).loss.backward();
    for (const auto& item : adapted->named_parameters()) {
      EXPECT_FALSE(item.value().requires_grad() && adapted->holds(item.key())) << item.key();
      EXPECT_TRUE(item.value().requires_grad() || !item.value().grad().defined()) << item.key();
      if (item.key().find("lora_") != std::string::npos) {
        EXPECT_GT(item.value().grad().abs().max().item<double>(), 0) << id << " " << item.key();
      }
    }
  }
}

TEST_P(BesideEveryPrior, MergedIsWhatItWas) {
  for (const std::string& id : adapter_ids()) {
    const PriorSetting setting{GetParam()};
    const auto task = make(configuration_of({setting}, adapter(id), test::fitting(setting, {.pool = "cls"})));
    stir(*task);
    task->to(at::kDouble);
    const at::NoGradGuard no_gradient;
    Batch batch = batch_of(3);
    batch[kImage] = batch.at(kImage).to(at::kDouble);
    const Tensor before = task->predict(batch, test::test_context(false));
    const auto layers = layers_of(*task);
    EXPECT_FALSE(layers.empty());
    for (const auto& layer : layers) layer->merge();
    EXPECT_LT(apart(task->predict(batch, test::test_context(false)), before), 1e-6) << id;
    for (const auto& layer : layers) layer->unmerge();
    EXPECT_TRUE(at::equal(task->predict(batch, test::test_context(false)), before)) << id;
  }
}

std::vector<std::string> prior_ids() {
  std::vector<std::string> out;
  for (const PriorItem& item : prior_items()) out.push_back(item.id());
  return out;
}

INSTANTIATE_TEST_SUITE_P(Catalog, BesideEveryPrior, ::testing::ValuesIn(prior_ids()),
                         [](const ::testing::TestParamInfo<std::string>& tested) {
                           std::string name = tested.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(HeldBase, IsEverythingButAdaptersHeadBiasesAndPriorsUnlessAskedOtherwise) {
  const std::vector<PriorSetting> priors = {{"learned-absolute"}, {"violin"}};
  const auto usual = learning(*make(configuration_of(priors, adapter("lora"))));
  EXPECT_THAT(usual, AllOf(Contains("head.weight"), Contains("head.bias"), Contains("backbone.embed.bias"),
                           Contains("backbone.norm.bias"), Contains("backbone.blocks.1.mlp.in.lora_a"),
                           Contains("backbone.blocks.0.attention.qkv.bias"), Contains(HasSubstr("priors.violin.")),
                           Contains(HasSubstr("priors.learned-absolute."))));
  EXPECT_THAT(usual, AllOf(Not(Contains("backbone.blocks.0.attention.qkv.weight")),
                           Not(Contains("backbone.embed.weight")), Not(Contains("backbone.norm.weight"))));
  const auto chosen = learning(
      *make(configuration_of(priors, adapter("lora", {{"train", {"norms"}}, {"priors", {"violin", "absent"}}}))));
  EXPECT_THAT(chosen, AllOf(Contains("backbone.norm.weight"), Contains("backbone.norm.bias"),
                            Contains("backbone.blocks.0.norm1.bias"), Contains(HasSubstr("priors.violin."))));
  EXPECT_THAT(chosen, AllOf(Not(Contains("head.weight")), Not(Contains("backbone.embed.bias")),
                            Not(Contains(HasSubstr("priors.learned-absolute.")))));
}

TEST(HeldBase, ReachesNoOptimizerAndMagnitudesDoNotDecay) {
  for (const std::string norm : {"rows", "columns"}) {
    const auto task = make(configuration_of({{"none"}}, adapter("dora", {{"norm", norm}})));
    int magnitudes = 0;
    for (const auto& item : task->named_parameters()) {
      const bool exempt = item.key().ends_with("magnitude") || item.value().dim() <= 1;
      EXPECT_EQ(task->decay(item.key(), item.value()), exempt ? Decay::kExempt : Decay::kDecayed) << item.key();
      magnitudes += item.key().ends_with("magnitude");
    }
    EXPECT_EQ(magnitudes, 2 * 4);
  }
  const auto frozen = make(configuration_of({{"none"}}, adapter("dora", {{"magnitude", "frozen"}})));
  EXPECT_THAT(learning(*frozen), Not(Contains(HasSubstr("magnitude"))));
}

// How many numbers end in one of these learn.
std::int64_t count(const Task& task, const std::vector<std::string>& ends) {
  std::int64_t sum = 0;
  for (const auto& item : task.named_parameters()) {
    const bool counts =
        std::any_of(ends.begin(), ends.end(), [&](const std::string& e) { return item.key().ends_with(e); });
    if (counts && item.value().requires_grad()) sum += item.value().numel();
  }
  return sum;
}

// Of ViT-B/16 with LoRA, twelve blocks of which one is built: A and B 147,456 a rank, 165,888 with maps to queries, keys
// and values apart; biases 102,912; magnitudes 82,944 by rows and 64,512 by columns.
TEST(Counts, AreThoseOfVitB) {
  Json base = configuration_of({{"violin"}}, Json());
  base["model"] = {{"id", "vit"},
                   {"options", {{"dim", 768}, {"depth", 1}, {"heads", 12}, {"patch", 16}, {"pool", "cls"}}}};
  const Json facts = {{"channels", 3}, {"extent", {32, 32}}, {"classes", 10}};
  const auto with = [&](const std::string& id, Json options) {
    options["rank"] = 2;
    Json out = base;
    out["adapter"] = adapter(id, options);
    return make(out, facts);
  };
  const std::vector<std::string> products = {"lora_a", "lora_b"};
  const auto lora = with("lora", Json::object());
  EXPECT_EQ(12 * count(*lora, products), 294'912);
  EXPECT_EQ(12 * (count(*lora, {".bias"}) - 10 - 2 * 768) + 2 * 768, 102'912) << "head, stem and final norm apart";
  EXPECT_EQ(count(*lora, {"head.weight", "head.bias"}), 768 * 10 + 10);
  EXPECT_EQ(12 * count(*with("lora", {{"split_qkv", true}}), products), 2 * 165'888);
  EXPECT_EQ(12 * count(*with("dora", Json::object()), {"magnitude"}), 82'944);
  EXPECT_EQ(12 * count(*with("dora", {{"norm", "columns"}}), {"magnitude"}), 64'512);
}

TEST(MergedExport, HoldsNoAdapterAndGivesTheSameModelBack) {
  for (const std::string& id : adapter_ids()) {
    const Json configuration = configuration_of({{"violin"}}, adapter(id, {{"exported", "merged"}}));
    const auto task = make(configuration), back = make(configuration);
    stir(*task);
    const at::NoGradGuard no_gradient;
    const auto merged = merged_weights(*task);
    EXPECT_EQ(merged.size(), 2u * 4u);
    const auto weights = task->named_parameters();
    for (const auto& item : back->named_parameters()) {
      if (task->training_only(item.key())) continue;
      const auto found = merged.find(item.key());
      item.value().copy_(found == merged.end() ? weights[item.key()] : found->second);
    }
    for (const auto& item : task->named_parameters()) {
      const bool own = item.key().find("lora_") != std::string::npos || item.key().ends_with("magnitude");
      EXPECT_EQ(task->training_only(item.key()), own) << item.key();
    }
    rest_merged_adapters(*back);
    EXPECT_LT(apart(back->predict(batch_of(4), test::test_context(false)),
                    task->predict(batch_of(4), test::test_context(false))),
              1e-5)
        << id;
  }
}

}  // namespace
}  // namespace locus::engine
