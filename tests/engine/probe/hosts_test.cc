// The probe in every host of the catalog, and what it can be told beside tensors: grid of construction, step, draws.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/probe/probe.h"

namespace locus::engine {
namespace {

using ::testing::HasSubstr;

// Of a size at which tests end soon.
Json small_options(const Json& item) {
  Json out = Json::object();
  for (const Json& option : item.at("options")) {
    const auto name = option.at("name").get<std::string>();
    if (name == "dim") out[name] = 32;
    if (option.at("type") == "integer" && name == "heads") out[name] = 4;
    if (option.at("type") == "integer" && name == "window") out[name] = 2;
    if (option.at("type") != "list") continue;
    const std::size_t stages = option.at("default").size();
    for (std::size_t s = 0; s < stages; ++s) {
      if (name == "dims") out[name].push_back(16 << s);
      if (name == "heads") out[name].push_back(2);
      if (name == "depths") out[name].push_back(s == 0 ? 2 : 1);
    }
  }
  return out;
}

ProbeRequest host_request(const Json& model, ProbeLevel level, const Json& priors = Json::array(),
                          bool staged = false) {
  const std::vector<std::int64_t> grid = staged ? std::vector<std::int64_t>{16, 16} : std::vector<std::int64_t>{2, 3};
  return {.host = {.specification = {{"model", model}, {"priors", priors}, {"channels", 2}, {"classes", 3}},
                   .grid = grid,
                   .least_layers = 2},
          .level = level};
}

Json vit(Json more = Json::object()) {
  more.update({{"dim", 16}, {"heads", 4}, {"patch", 2}});
  return {{"id", "vit"}, {"options", more}};
}

Json prior(const char* id, const Json& options = Json::object()) {
  return Json::array({{{"id", id}, {"options", options}}});
}

Tensor random(at::IntArrayRef shape, const char* name = "x") {
  return RandomStreams(4).normal("test", name, 0, shape).to(at::kDouble);
}

double host_difference(const Tensor& a, const Tensor& b) { return (a - b).abs().max().item<double>(); }

// All parameters at a size at which they matter, and the inputs of the level.
NamedTensors tensors_for(const ProbeRequest& of, const Probe& probe) {
  const Host host(of.host);
  NamedTensors out = probe.initial();
  for (auto& [name, tensor] : out) {
    if (!name.ends_with("running_var") && tensor.is_floating_point())
      tensor.copy_(random(tensor.sizes(), name.c_str()).mul(0.2));
  }
  if (of.level == ProbeLevel::kModel) {
    out["image"] = random({1, host.channels(), host.image_extent()[0], host.image_extent()[1]});
    if (host.denoiser() != nullptr) {
      out["time"] = at::full({1}, 7, at::kDouble);
      out["label"] = at::ones({1}, at::kLong);
    }
    return out;
  }
  out["x"] = random({1, host.layout(0).tokens(), host.layer_info(0).width});
  if (of.level != ProbeLevel::kAttention && host.stage(0).condition) out["condition"] = random({1, host.width()}, "c");
  return out;
}

std::string refusal_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(ProbeHosts, AreThoseOfTheCatalogAtEveryLevelWithGradients) {
  for (const BackboneItem& item : backbone_items()) {
    const Json entry = item.item.json();
    const bool staged = entry.value("facts", Json::object()).contains("stages");
    for (const ProbeLevel level :
         {ProbeLevel::kAttention, ProbeLevel::kBlock, ProbeLevel::kStage, ProbeLevel::kModel}) {
      const ProbeRequest asked =
          host_request({{"id", item.id()}, {"options", small_options(entry)}}, level, prior("none"), staged);
      Probe probe(asked);
      NamedTensors given = tensors_for(asked, probe);
      const bool model = level == ProbeLevel::kModel;
      const char* output = model ? "tokens" : "output";
      given["cotangent"] = random(probe.run(given).at(output).sizes(), "cotangent");
      const NamedTensors out = probe.run(given);
      for (const auto& [name, tensor] : out)
        EXPECT_TRUE(name.starts_with("logits") || tensor.isfinite().all().item<bool>()) << item.id() << " " << name;
      const Tensor& gradient = out.at(model ? "grad.image" : "grad.x");
      EXPECT_GT(gradient.abs().max().item<double>(), 0) << item.id();
    }
  }
}

TEST(ProbeHosts, RunTheBlocksOfAStageOneAfterAnother) {
  const Json none = prior("none");
  Probe stage(host_request(vit(), ProbeLevel::kStage, none)), first(host_request(vit(), ProbeLevel::kBlock, none));
  ProbeRequest of_second = host_request(vit(), ProbeLevel::kBlock, none);
  of_second.stage = 0;
  of_second.layer = 1;
  Probe second(of_second);
  const NamedTensors given = tensors_for(host_request(vit(), ProbeLevel::kStage, none), stage);
  const auto within = [&](const std::string& block, const Tensor& x) {
    NamedTensors out = {{"x", x}};
    for (const auto& [name, tensor] : given) {
      if (name.starts_with(block)) out[name.substr(block.size())] = tensor;
    }
    return out;
  };
  const Tensor middle = first.run(within("blocks.0.", given.at("x"))).at("output");
  EXPECT_LT(host_difference(stage.run(given).at("output"), second.run(within("blocks.1.", middle)).at("output")),
            1e-12);
}

TEST(ProbeHosts, RefuseStagesAndLayersThatDoNotExist) {
  ProbeRequest beyond = host_request(vit(), ProbeLevel::kStage);
  beyond.stage = 1;
  EXPECT_THAT(refusal_of([&] { Probe{beyond}; }), HasSubstr("no stage 1"));
  beyond = host_request(vit(), ProbeLevel::kBlock);
  beyond.stage = 0;
  beyond.layer = 2;
  EXPECT_THAT(refusal_of([&] { Probe{beyond}; }), HasSubstr("layer 2 of stage 0 is not one of 2"));
}

TEST(ProbeHosts, KeepTheOptionsThatTheSpecificationWrites) {
  ProbeRequest asked = host_request(vit({{"pool", "cls"}, {"registers", 2}, {"depth", 3}}), ProbeLevel::kBlock);
  EXPECT_EQ(Host(asked.host).layout().prefix, 3);
  EXPECT_EQ(Host(asked.host).backbone_layers(), 3);
  asked.host.prefix = 1;
  EXPECT_THAT(refusal_of([&] { Probe{asked}; }), HasSubstr("3 prefix tokens by its own options"));
}

TEST(Probe, BuildsForAnotherGridThanItRunsOn) {
  ProbeRequest asked = host_request(vit(), ProbeLevel::kAttention, prior("relative-bias"));
  asked.host.reference = {4, 4};
  Probe probe(asked);
  NamedTensors given = tensors_for(asked, probe);
  EXPECT_EQ(given.at("priors.relative-bias.layers.0.table").sizes(), at::IntArrayRef({49, 4}));
  EXPECT_EQ(probe.run(given).at("logits").sizes(), at::IntArrayRef({1, 4, 6, 6}));
}

TEST(Probe, WeighsLossesByTheStepAndTakesTheirCotangent) {
  ProbeRequest asked = host_request(vit(), ProbeLevel::kModel, prior("guidance"));
  Probe first(asked);
  asked.step = 30;
  Probe later(asked);
  NamedTensors given = tensors_for(asked, first);
  EXPECT_NE(first.run(given).at("loss.guidance").item<double>(), later.run(given).at("loss.guidance").item<double>());
  given["cotangent.loss.guidance"] = at::full({}, 2.0, at::kDouble);
  const NamedTensors twice = first.run(given);
  given["cotangent.loss.guidance"] = at::full({}, 1.0, at::kDouble);
  const std::string name = "grad.backbone.priors.guidance.in_weight";
  EXPECT_GT(twice.at(name).abs().max().item<double>(), 0);
  EXPECT_LT(host_difference(twice.at(name), 2 * first.run(given).at(name)), 1e-12);
  given["cotangent.loss.other"] = at::tensor(1.0, at::kDouble);
  EXPECT_THAT(refusal_of([&] { first.run(given); }), HasSubstr("belongs to no output"));
}

TEST(Probe, TakesTheDrawsOfTrainingAndSaysThem) {
  ProbeRequest asked = host_request(vit({{"drop_path", 0.5}}), ProbeLevel::kBlock, prior("none"));
  asked.layer = 1;
  asked.training = true;
  Probe probe(asked);
  NamedTensors given = tensors_for(asked, probe);
  const std::vector<std::string> names = {"draws.drop-path.blocks.1.attention", "draws.drop-path.blocks.1.mlp"};
  const NamedTensors own = probe.run(given);
  for (const std::string& name : names) {
    ASSERT_TRUE(own.contains(name)) << name;
    given[name] = at::zeros_like(own.at(name));  // below the rate: both branches are skipped
  }
  EXPECT_EQ(host_difference(probe.run(given).at("output"), given.at("x")), 0);
  for (const std::string& name : names) given[name] = own.at(name);
  EXPECT_EQ(host_difference(probe.run(given).at("output"), own.at("output")), 0);
  given["draws.drop-path.blocks.0.mlp"] = given.at(names[1]);
  EXPECT_THAT(refusal_of([&] { probe.run(given); }), HasSubstr("nobody draws draws.drop-path.blocks.0.mlp"));
  given.erase("draws.drop-path.blocks.0.mlp");
  given[names[0]] = at::zeros({2, 1, 1});
  EXPECT_THAT(refusal_of([&] { probe.run(given); }), HasSubstr("the pass draws [1,1,1]"));
}

TEST(Probe, NormalizesByTheBatchInTrainingAndSaysWhatBecomesOfTheAverages) {
  ProbeRequest asked = host_request(vit(), ProbeLevel::kBlock, prior("local-ffn", {{"mode", "original"}}));
  asked.training = true;
  Probe probe(asked);
  const NamedTensors given = tensors_for(asked, probe);
  const NamedTensors out = probe.run(given), again = probe.run(given);
  std::int64_t averages = 0;
  for (const auto& [name, tensor] : out) {
    if (!name.starts_with("after.")) continue;
    ++averages;
    EXPECT_TRUE(at::equal(tensor, again.at(name))) << name << ": each run starts from what is given";
  }
  EXPECT_GT(averages, 0);
  asked.training = false;
  EXPECT_GT(host_difference(Probe(asked).run(given).at("output"), out.at("output")), 1e-6);
}

TEST(Probe, HandsHiddenPatchesToTheNetwork) {
  const ProbeRequest asked = host_request(vit(), ProbeLevel::kModel, prior("none"));
  Probe probe(asked);
  NamedTensors given = tensors_for(asked, probe);
  given["hidden"] = at::zeros({1, 6}, at::kBool);
  EXPECT_THAT(refusal_of([&] { probe.run(given); }), HasSubstr("hidden patches"));
  given["hidden"] = at::zeros({1, 5}, at::kBool);
  EXPECT_THAT(refusal_of([&] { probe.run(given); }), HasSubstr("hidden has the shape [1,5]"));
}

TEST(Probe, RunsADenoiserWholeWithTimeAndLabel) {
  const ProbeRequest asked = host_request({{"id", "dit"}, {"options", {{"dim", 16}, {"heads", 2}, {"patch", 2}}}},
                                          ProbeLevel::kModel, prior("sincos-2d"));
  Probe probe(asked);
  NamedTensors given = tensors_for(asked, probe);
  given["cotangent.output"] = random({1, 4, 4, 6}, "cotangent");
  const NamedTensors out = probe.run(given);
  EXPECT_EQ(out.at("condition").sizes(), at::IntArrayRef({1, 16}));
  EXPECT_EQ(out.at("tokens").sizes(), at::IntArrayRef({1, 6, 16}));
  EXPECT_GT(out.at("grad.time.in.weight").abs().max().item<double>(), 0);
  EXPECT_FALSE(out.contains("grad.label"));
  NamedTensors dropped = given;
  dropped["dropped"] = at::ones({1}, at::kBool);
  EXPECT_GT(host_difference(probe.run(dropped).at("output"), out.at("output")), 1e-6);
  given.erase("label");
  EXPECT_THAT(refusal_of([&] { probe.run(given); }), HasSubstr("missing label"));
}

}  // namespace
}  // namespace locus::engine
