// Files of every layout give the model that wrote them; files of other models give a list of what is wrong.
#include "engine/weights/load.h"

#include <gmock/gmock.h>

#include "engine/base/failure.h"
#include "engine/weights/export.h"
#include "tests/engine/train/recording.h"
#include "tests/engine/weights/published.h"

namespace locus::engine {
namespace {

using namespace test;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

LoadInput input_of(const Tiny& tiny) { return {tiny.channels, {tiny.side, tiny.side}}; }

LoadOptions keeping_head(const std::string& layout = "auto", Fit fit = {}) {
  return {.layout = layout, .prefix = "", .keep_head = true, .fit = std::move(fit)};
}

std::string refused(Task& task, const Tiny& tiny, const Tensors& file, const LoadOptions& options = keeping_head()) {
  try {
    load_weights(task, input_of(tiny), file, options);
  } catch (const DataError& error) {
    return error.what();
  }
  return "not refused";
}

// Whether a new model computes with the file what `made_by` computes.
::testing::AssertionResult gives_back(const Task& made_by, const Tiny& tiny, const Tensors& file,
                                      const std::string& layout, const std::string& detected) {
  auto& original = const_cast<Task&>(made_by);
  const auto fresh = tiny_task(tiny, 99);
  const LoadReport report = load_weights(*fresh, input_of(tiny), file, keeping_head(layout));
  if (report.weights.layout->id() != detected)
    return ::testing::AssertionFailure() << "layout " << report.weights.layout->id();
  if (!report.initial.empty()) return ::testing::AssertionFailure() << "initial: " << report.initial[0];
  if (!same_bits(logits_of(*fresh, tiny), logits_of(original, tiny)))
    return ::testing::AssertionFailure() << "another function";
  return ::testing::AssertionSuccess();
}

TEST(LoadedWeights, OfTimmDeitDinoAndMaeAreTheSameFunctionToTheBit) {
  const Tiny tiny;
  const auto task = tiny_task(tiny, 1);
  const Tensors timm = as_timm(*task, tiny.patch);
  EXPECT_TRUE(gives_back(*task, tiny, timm, "auto", "timm"));
  EXPECT_TRUE(gives_back(*task, tiny, below(timm, "model."), "auto", "deit"));
  Tensors dino = below(below(timm, "module.backbone."), "teacher.");
  rename(dino, "teacher.module.backbone.head.weight", "teacher.head.weight");
  dino["student.module.backbone.cls_token"] = at::zeros({1, 1, 8});
  dino["teacher.head.mlp.0.weight"] = dino["teacher.head.last_layer.weight_g"] = at::ones({2, 2});
  EXPECT_TRUE(gives_back(*task, tiny, dino, "auto", "dino"));
  Tensors mae = timm;
  mae["mask_token"] = mae["decoder_pos_embed"] = at::zeros({1, 1, 4});
  mae["decoder_blocks.0.attn.qkv.weight"] = mae["decoder_pred.bias"] = at::zeros({4});
  EXPECT_TRUE(gives_back(*task, tiny, mae, "auto", "mae"));
  for (const char* named : {"timm", "deit", "dino", "dinov2", "mae"})
    EXPECT_TRUE(gives_back(*task, tiny, timm, named, named));
}

TEST(LoadedWeights, OfADistilledDeitHaveItsTokenAsARegister) {
  const Tiny tiny{.registers = 1, .rows = "with-prefix"};
  const auto task = tiny_task(tiny, 1);
  Tensors file = as_timm(*task, tiny.patch);
  rename(file, "reg_token", "dist_token");
  file["head_dist.weight"] = at::zeros({5, 8});
  file["head_dist.bias"] = at::zeros({5});
  EXPECT_TRUE(gives_back(*task, tiny, file, "auto", "deit"));
}

TEST(LoadedWeights, OfADistilledDeitKeepBothHeadsWhereTheTaskHasThem) {
  const Tiny tiny{.registers = 1, .rows = "with-prefix", .task = {{"distilled_head", true}}};
  const auto task = tiny_task(tiny, 1);
  Tensors file = as_timm(*task, tiny.patch);
  rename(file, "reg_token", "dist_token");
  for (const char* end : {".weight", ".bias"})
    rename(file, "head_distilled" + std::string(end), "head_dist" + std::string(end));
  EXPECT_TRUE(gives_back(*task, tiny, file, "auto", "deit"));
  const Tensors written = layout_tensors(below(parameters_of(*task), "model."), "deit", tiny.channels, false);
  ASSERT_EQ(written.size(), file.size());
  for (const auto& [name, tensor] : file)
    EXPECT_TRUE(same_bits(written.at(name).contiguous(), tensor.contiguous())) << name;
}

TEST(LoadedWeights, OfDeitIIIHaveNoPositionForTheClassToken) {
  const Tiny tiny{.rows = "patches"};
  const auto task = tiny_task(tiny, 1);
  EXPECT_TRUE(gives_back(*task, tiny, below(as_timm(*task, tiny.patch), "model."), "deit-iii", "deit-iii"));
}

TEST(LoadedWeights, OfDinov2WithRegistersAddThemAfterThePositions) {
  const Tiny tiny{.registers = 4};
  const auto task = tiny_task(tiny, 1);
  Tensors file = as_timm(*task, tiny.patch);
  rename(file, "reg_token", "register_tokens");
  file["mask_token"] = at::zeros({1, 8});
  EXPECT_TRUE(gives_back(*task, tiny, file, "auto", "dinov2"));
  // timm folds the class token's row of that file into the token: the same function without the row.
  const Tiny folded{.registers = 4, .rows = "patches"};
  const auto same = tiny_task(folded, 5);
  const LoadReport report = load_weights(*same, input_of(folded), file, keeping_head());
  EXPECT_TRUE(same_bits(logits_of(*same, folded), logits_of(*task, tiny)));
  EXPECT_THAT(report.notes, Contains(HasSubstr("part of class_token")));
}

TEST(LoadedWeights, OfDinov3MaskTheBiasOfTheKeys) {
  const Tiny tiny{.registers = 4, .rows = ""};
  const auto task = tiny_task(tiny, 1);
  const at::NoGradGuard no_gradient;
  for (const auto& entry : task->named_parameters()) {
    if (entry.key().ends_with("qkv.bias")) entry.value().slice(0, 8, 16).zero_();
  }
  Tensors file = as_timm(*task, tiny.patch);
  rename(file, "reg_token", "storage_tokens");
  for (const std::string block : {"0", "1"}) {
    const std::string name = "blocks." + block + ".attn.qkv.bias";
    Tensor mask = at::ones({24});
    mask.slice(0, 8, 16).zero_();
    file[name + "_mask"] = mask;
    file[name].slice(0, 8, 16).fill_(std::numeric_limits<float>::quiet_NaN());
  }
  file["rope_embed.periods"] = at::ones({2});
  file["mask_token"] = at::zeros({1, 8});
  EXPECT_TRUE(gives_back(*task, tiny, file, "auto", "dinov3"));
  EXPECT_TRUE(gives_back(*task, tiny, as_huggingface(*task, tiny.patch, "dinov3"), "auto", "huggingface"));
}

TEST(LoadedWeights, OfTimmsEvaWithoutBiasesSaySo) {
  const Tiny bare{.registers = 4, .rows = "", .qkv_bias = false}, biased{.registers = 4, .rows = ""};
  const auto task = tiny_task(bare, 1);
  const Tensors file = as_timm(*task, bare.patch);
  EXPECT_TRUE(gives_back(*task, bare, file, "dinov3", "dinov3"));
  EXPECT_THAT(refused(*tiny_task(biased, 2), biased, file, keeping_head("dinov3")),
              AllOf(HasSubstr("lacks blocks.0.attention.qkv.bias"), HasSubstr("model: {qkv_bias: false}")));
  Tensors halves = as_timm(*tiny_task(biased, 1), biased.patch);
  for (const std::string at : {"blocks.0.attn.", "blocks.1.attn."}) {
    const auto parts = halves.at(at + "qkv.bias").chunk(3);
    halves.erase(at + "qkv.bias");
    halves[at + "q_bias"] = parts[0];
    halves[at + "v_bias"] = parts[2];
  }
  const auto loaded = tiny_task(biased, 2);
  load_weights(*loaded, input_of(biased), halves, keeping_head("dinov3"));
  const Tensor bias = parameters_of(*loaded).at("blocks.0.attention.qkv.bias");
  EXPECT_TRUE(at::equal(bias.slice(0, 0, 8), halves.at("blocks.0.attn.q_bias")));
  EXPECT_TRUE(at::equal(bias.slice(0, 8, 16), at::zeros({8})));
}

TEST(LoadedWeights, OfHuggingFaceJoinQueriesKeysAndValues) {
  const Tiny tiny;
  const auto task = tiny_task(tiny, 1);
  for (const char* family : {"vit", "deit", "dinov2"}) {
    Tensors file = as_huggingface(*task, tiny.patch, family);
    if (std::string(family) == "vit") file["vit.pooler.dense.weight"] = at::zeros({8, 8});
    if (std::string(family) == "dinov2") file["dinov2.embeddings.mask_token"] = at::zeros({1, 8});
    EXPECT_TRUE(gives_back(*task, tiny, file, "auto", "huggingface")) << family;
    file.erase(std::string(family) + ".encoder.layer.1.attention.attention.key.weight");
    EXPECT_THAT(refused(*tiny_task(tiny, 2), tiny, file),
                HasSubstr("of 'blocks.1.attention.qkv.weight' it lacks the part for the keys"));
  }
}

TEST(LoadedWeights, KeepLayerScaleUnderEveryName) {
  const Tensor kernel = at::ones({8, 3, 4, 4}), scale = at::arange(8, at::kFloat);
  const std::pair<std::string, std::string> names[] = {{"timm", "blocks.1.ls2.gamma"},
                                                       {"deit-iii", "blocks.1.gamma_2"},
                                                       {"dinov2", "blocks.1.ls2.gamma"},
                                                       {"dinov3", "blocks.1.gamma_2"}};
  for (const auto& [layout, name] : names) {
    const auto weights = canonical_weights({{"patch_embed.proj.weight", kernel}, {name, scale}}, layout, "");
    EXPECT_TRUE(at::equal(weights.tensors.at("blocks.1.scale2"), scale)) << layout;
  }
  const auto weights = canonical_weights({{"embeddings.patch_embeddings.projection.weight", kernel},
                                          {"encoder.layer.0.layer_scale1.lambda1", scale},
                                          {"layer.1.layer_scale2.gamma", scale}},
                                         "huggingface", "");
  EXPECT_TRUE(weights.tensors.contains("blocks.0.scale1") && weights.tensors.contains("blocks.1.scale2"));
}

TEST(LoadedWeights, WidenHalfPrecisionExactly) {
  const Tiny tiny;
  const auto task = tiny_task(tiny, 1);
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16, at::kDouble}) {
    Tensors file = as_timm(*task, tiny.patch);
    for (auto& [name, tensor] : file) tensor = tensor.to(type);
    const auto loaded = tiny_task(tiny, 2);
    load_weights(*loaded, input_of(tiny), file, keeping_head());
    EXPECT_TRUE(at::equal(parameters_of(*loaded).at("norm.weight"), file.at("norm.weight").to(at::kFloat)));
  }
}

TEST(LoadedWeights, LeaveTheHeadOfTheModelUnlessItIsKept) {
  const Tiny many{.classes = 1000}, few;
  const Tensors file = as_timm(*tiny_task(many, 1), many.patch);
  const auto task = tiny_task(few, 2);
  EXPECT_THAT(refused(*task, few, file), AllOf(HasSubstr("head.weight [1000, 8] where the model has [5, 8]"),
                                               HasSubstr("init: {weights: {head: new}}")));
  const Tensor head = parameters_of(*task).at("head.weight");
  const LoadReport report = load_weights(*task, input_of(few), file, {});
  EXPECT_TRUE(same_bits(parameters_of(*task).at("head.weight"), head));
  EXPECT_THAT(report.initial, ::testing::ElementsAre("head.bias", "head.weight"));
  EXPECT_THAT(report.lines(), Contains(HasSubstr("init.head is new: head.bias, head.weight")));
}

TEST(LoadedWeights, LeavePriorsThatTheFileHasNotAsTheyStart) {
  const Tiny tiny{.more = {{{"id", "violin"}}}}, plain;
  const auto task = tiny_task(tiny, 2);
  const Tensors before = parameters_of(*task);
  const LoadReport report = load_weights(*task, input_of(tiny), as_timm(*tiny_task(plain, 1), 4), keeping_head());
  EXPECT_FALSE(report.initial.empty());
  for (const std::string& name : report.initial) EXPECT_THAT(name, HasSubstr("priors.violin"));
  EXPECT_TRUE(
      same_bits(before.at("priors.violin.layers.0.alpha"), parameters_of(*task).at("priors.violin.layers.0.alpha")));
}

TEST(LoadedWeights, OfOurOwnModelsTakeTheirPriorsAlong) {
  const Tiny tiny{.more = {{{"id", "violin"}}}};
  const auto task = tiny_task(tiny, 1);
  Tensors file = below(below(parameters_of(*task), "backbone."), "model.");
  for (const char* end : {"weight", "bias"})
    rename(file, std::string("model.backbone.head.") + end, std::string("model.head.") + end);
  file["optimizer.head.weight.m"] = at::ones({5, 8});
  EXPECT_TRUE(gives_back(*task, tiny, file, "auto", "locus"));
  const Tiny plain;
  EXPECT_THAT(refused(*tiny_task(plain, 2), plain, file), HasSubstr("the model lacks priors.violin"));
  EXPECT_EQ(refused(*tiny_task(plain, 2), plain, file, keeping_head("auto", {.position = "drop"})), "not refused");
}

TEST(LoadedWeights, OfAnotherModelAreRefusedWithAllThatIsWrong) {
  const Tiny tiny;
  const Tensors whole = as_timm(*tiny_task(tiny, 1), tiny.patch);
  const auto task = tiny_task(tiny, 2);
  const Tensors before = parameters_of(*task);
  Tensors file = whole;
  file.erase("blocks.1.mlp.fc1.bias");
  EXPECT_THAT(refused(*task, tiny, file), HasSubstr("it lacks blocks.1.mlp.in.bias"));
  file = whole;
  file["blocks.2.norm1.weight"] = at::ones({8});
  EXPECT_THAT(refused(*task, tiny, file),
              AllOf(HasSubstr("the model lacks blocks.2.norm1.weight"), HasSubstr("depth: 3")));
  file = whole;
  file["norm.weight"] = at::ones({9});
  EXPECT_THAT(refused(*task, tiny, file),
              AllOf(HasSubstr("norm.weight [9] where the model has [8]"), HasSubstr("dim: 9")));
  file = whole;
  file["novelty"] = file["blocks.0.surprise"] = at::ones({1});
  EXPECT_THAT(refused(*task, tiny, file), HasSubstr("knows no blocks.0.surprise, novelty"));
  file = whole;
  file["blocks.0.attn.proj.weight"] = at::full({8, 8}, std::numeric_limits<float>::quiet_NaN());
  EXPECT_THAT(refused(*task, tiny, file), HasSubstr("'blocks.0.attention.out.weight' holds values that are no finite"));
  file = whole;
  file["norm.weight"] = at::ones({8}, at::kLong);
  EXPECT_THAT(refused(*task, tiny, file), HasSubstr("not floating-point"));
  for (const auto& [name, tensor] : parameters_of(*task))
    EXPECT_TRUE(same_bits(tensor, before.at(name))) << name << " changed though the file was refused";
}

TEST(LoadedWeights, OfOtherKindsOfNetworksAreRefusedByTheirParts) {
  const Tiny tiny;
  const auto task = tiny_task(tiny, 2);
  Tensors file = as_timm(*task, tiny.patch);
  rename(file, "norm.weight", "fc_norm.weight");
  rename(file, "norm.bias", "fc_norm.bias");
  EXPECT_THAT(refused(*task, tiny, file), AllOf(HasSubstr("it lacks norm.bias"), HasSubstr("final_norm: pooled")));
  file = as_timm(*task, tiny.patch);
  file["blocks.0.mlp.w12.weight"] = at::ones({4, 4});
  EXPECT_THAT(refused(*task, tiny, file), HasSubstr("two of its tensors would be 'blocks.0.mlp.in.weight'"));
  file = as_timm(*task, tiny.patch);
  file["blocks.0.mlp.fc1_g.weight"] = at::ones({32, 8});
  EXPECT_THAT(refused(*task, tiny, file), HasSubstr("mlp: swiglu"));
  EXPECT_THAT(refused(*task, tiny, {{"layer1.0.conv1.weight", at::ones({1})}}), HasSubstr("no patch embedding"));
  EXPECT_THAT(refused(*task, tiny, {}), HasSubstr("no tensors"));
}

TEST(LoadedWeights, SayWhatTheModelMustHave) {
  const Tiny rich{.registers = 4}, plain{.rows = "", .pool = "mean"};
  EXPECT_THAT(
      refused(*tiny_task(plain, 2), plain, as_timm(*tiny_task(rich, 1), 4)),
      AllOf(HasSubstr("model: {pool: cls}"), HasSubstr("model: {registers: 4}"), HasSubstr("prior: learned-absolute")));
  const Tiny other{.patch = 2};
  EXPECT_THAT(refused(*tiny_task(other, 2), other, as_timm(*tiny_task({}, 1), 4)),
              AllOf(HasSubstr("model: {patch: 4}"), HasSubstr("patch: resample")));
}

TEST(LoadedWeights, NamedTwiceOrOutsideTheirPrefixAreNotMixed) {
  const Tiny tiny;
  const auto task = tiny_task(tiny, 2);
  Tensors file = as_timm(*task, tiny.patch);
  file["module.norm.weight"] = at::ones({8});
  EXPECT_THAT(refused(*task, tiny, file), HasSubstr("two of its tensors would be 'norm.weight'"));
  file = below(as_timm(*tiny_task(tiny, 5), tiny.patch), "ema.");
  for (const auto& [name, tensor] : as_timm(*task, tiny.patch)) file[name] = tensor;
  LoadOptions options = keeping_head();
  options.prefix = "ema.";
  const auto loaded = tiny_task(tiny, 3);
  load_weights(*loaded, input_of(tiny), file, options);
  EXPECT_TRUE(same_bits(logits_of(*loaded, tiny), logits_of(*tiny_task(tiny, 5), tiny)));
}

TEST(ExportedWeights, LeadBackToTheSameFunctionByTimmsNames) {
  for (const Tiny& tiny : {Tiny{}, Tiny{.registers = 2, .rows = "with-prefix"}, Tiny{.rows = "patches"},
                           Tiny{.channels = 1, .rows = "patches", .pool = "mean"}}) {
    const auto task = tiny_task(tiny, 1);
    const Tensors file = layout_tensors(below(parameters_of(*task), "model."), "timm", tiny.channels, false);
    EXPECT_EQ(file.at("patch_embed.proj.weight").sizes(), (std::vector<std::int64_t>{8, tiny.channels, 4, 4}));
    const Tensors wanted = as_timm(*task, tiny.patch);
    ASSERT_EQ(file.size(), wanted.size());
    for (const auto& [name, tensor] : wanted)
      EXPECT_TRUE(same_bits(file.at(name).contiguous(), tensor.contiguous())) << name;
    EXPECT_TRUE(gives_back(*task, tiny, file, "timm", "timm"));
  }
}

TEST(ExportedWeights, DropPriorsOnlyWhenTold) {
  const auto task = tiny_task({.more = {{{"id", "violin"}}}}, 1);
  const Tensors model = below(parameters_of(*task), "model.");
  try {
    layout_tensors(model, "timm", 0, false);
    FAIL() << "not refused";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("priors.violin"), HasSubstr("--drop-priors")));
  }
  for (const auto& [name, tensor] : layout_tensors(model, "timm", 0, true)) EXPECT_THAT(name, Not(HasSubstr("violin")));
}

}  // namespace
}  // namespace locus::engine
