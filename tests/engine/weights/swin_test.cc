// Files of Swin Transformers under every published naming give the model that wrote them, and back.
#include <ATen/ops/upsample_bicubic2d.h>
#include <gmock/gmock.h>

#include "engine/base/failure.h"
#include "engine/weights/export.h"
#include "engine/weights/load.h"
#include "tests/engine/support/reference.h"
#include "tests/engine/train/recording.h"
#include "tests/engine/weights/published.h"

namespace locus::engine {
namespace {

using namespace test;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr std::int64_t kSwinSide = 32, kChannels = 3, kPatch = 2;

struct TinySwin {
  bool second = false, table = false, own_prior = true;
  std::int64_t window = 2;
  std::vector<std::int64_t> depths = {2, 1, 2, 1};
};

// Every parameter random, those that start at 0 or 1, too.
std::shared_ptr<Task> swin_task(const TinySwin& tiny, std::uint64_t seed) {
  Json priors = Json::array();
  if (tiny.table) priors.push_back({{"id", "learned-absolute"}});
  if (tiny.own_prior && tiny.second) priors.push_back({{"id", "log-cpb"}, {"options", {{"attention", "cosine"}}}});
  if (tiny.own_prior && !tiny.second) priors.push_back({{"id", "relative-bias"}});
  const Json configuration = {{"task", {{"id", "classification"}}},
                              {"model",
                               {{"id", "swin"},
                                {"options",
                                 {{"dims", {4, 8, 8, 16}},
                                  {"depths", tiny.depths},
                                  {"heads", {1, 2, 2, 4}},
                                  {"mlp_ratio", 2.0},
                                  {"patch", kPatch},
                                  {"window", tiny.window},
                                  {"version", tiny.second ? 2 : 1}}}}},
                              {"priors", priors}};
  const Json facts = {{"channels", kChannels}, {"extent", {kSwinSide, kSwinSide}}, {"classes", 5}};
  const RandomStreams random(seed);
  auto task = make_task({configuration, facts, random});
  const at::NoGradGuard no_gradient;
  for (const auto& entry : task->named_parameters())
    entry.value().copy_(random.normal("test", entry.key(), 0, entry.value().sizes(), 0, 0.5));
  return task;
}

Tensor swin_logits(Task& task) { return logits_of(task, {.side = kSwinSide, .channels = kChannels}); }

// The names of microsoft's code, both versions; of timm's with `timm`.
Tensors as_published(const Task& task, const TinySwin& tiny, bool timm = false) {
  const std::map<std::string, std::string> parts = {
      {"norm1", "norm1"},    {"norm2", "norm2"},    {"attention.qkv", "attn.qkv"}, {"attention.out", "attn.proj"},
      {"mlp.in", "mlp.fc1"}, {"mlp.out", "mlp.fc2"}};
  Tensors out;
  for (const auto& [name, tensor] : parameters_of(task)) {
    const auto at = split_name(name);
    const std::string& end = at.back();
    if (name == "embed.weight") {
      out["patch_embed.proj.weight"] = tensor.view({-1, kChannels, kPatch, kPatch});
    } else if (name == "embed.bias") {
      out["patch_embed.proj.bias"] = tensor;
    } else if (at[0] == "embed_norm") {
      out["patch_embed.norm." + end] = tensor;
    } else if (at[0] == "norm") {
      out[name] = tensor;
    } else if (at[0] == "head") {
      out[(timm ? "head.fc." : "head.") + end] = tensor;
    } else if (name == "priors.learned-absolute.table") {
      out["absolute_pos_embed"] = tensor.unsqueeze(0);
    } else if (at[0] == "priors") {  // priors, id, stages, s, layers, l, ...
      const std::int64_t stage = std::stoll(at[3]);
      std::int64_t block = std::stoll(at[5]);
      for (std::int64_t s = 0; s < stage; ++s) block -= tiny.depths[static_cast<std::size_t>(s)];
      const std::string attention = "layers." + at[3] + ".blocks." + std::to_string(block) + ".attn.";
      if (end == "table") out[attention + "relative_position_bias_table"] = tensor;
      if (end == "logit_scale") out[attention + "logit_scale"] = tensor.view({-1, 1, 1});
      if (end == "in_weight") out[attention + "cpb_mlp.0.weight"] = tensor;
      if (end == "in_bias") out[attention + "cpb_mlp.0.bias"] = tensor;
      if (end == "out_weight") out[attention + "cpb_mlp.2.weight"] = tensor;
    } else if (at[2] == "entry") {
      const std::string stage = std::to_string(std::stoll(at[1]) - (timm ? 0 : 1));
      out["layers." + stage + ".downsample." + (at[3] == "map" ? "reduction." : "norm.") + end] = tensor;
    } else {
      const std::string block = "layers." + at[1] + ".blocks." + at[3] + ".";
      const bool alone = end == "q_bias" || end == "v_bias";
      const std::string part = at[4] + (at.size() == 7 ? "." + at[5] : "");
      out[block + (alone ? "attn." + end : parts.at(part) + "." + end)] = tensor;
    }
  }
  return out;
}

// OpenMMLab's names, from those of the first version's code: a cell is counted by channel, row and column.
Tensors as_mmdetection(const Tensors& published) {
  Tensors out;
  for (const auto& [given, tensor] : published) {
    std::string name = given;
    replace(name, "layers.", "stages.");
    replace(name, "patch_embed.proj", "patch_embed.projection");
    replace(name, "attn.", "attn.w_msa.");
    replace(name, "mlp.fc1", "ffn.layers.0.0");
    replace(name, "mlp.fc2", "ffn.layers.1");
    if (name.starts_with("norm.")) replace(name, "norm.", "norm3.");
    if (name.starts_with("head.")) replace(name, "head.", "head.fc.");
    Tensor value = tensor;
    if (name.find("downsample") != std::string::npos) {
      const std::int64_t channels = tensor.size(-1) / 4;
      Tensor from = at::empty({4 * channels}, at::kLong);
      for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t i = 0; i < 2; ++i) {
          for (std::int64_t j = 0; j < 2; ++j) from[4 * c + 2 * i + j] = (2 * j + i) * channels + c;
        }
      }
      value = tensor.index_select(-1, from);
    }
    out[name] = value;
  }
  for (const char* norm : {"norm0.weight", "norm1.bias", "norm2.weight"}) out[norm] = at::ones({4});
  return out;
}

// transformers' names, from those of the original code.
Tensors as_transformers(const Tensors& published, bool second) {
  const std::pair<const char*, const char*> parts[] = {{"norm1", "layernorm_before"},
                                                       {"norm2", "layernorm_after"},
                                                       {"attn.proj", "attention.output.dense"},
                                                       {"mlp.fc1", "intermediate.dense"},
                                                       {"mlp.fc2", "output.dense"},
                                                       {"attn.q_bias", "attention.self.query.bias"},
                                                       {"attn.v_bias", "attention.self.value.bias"},
                                                       {"attn.cpb_mlp", "attention.self.continuous_position_bias_mlp"},
                                                       {"attn.", "attention.self."}};
  const std::string start = second ? "swinv2." : "swin.";
  Tensors out;
  for (const auto& [given, tensor] : published) {
    std::string name = given;
    if (const auto at = name.find("attn.qkv."); at != std::string::npos) {
      const auto thirds = tensor.chunk(3);
      const char* maps[] = {"query.", "key.", "value."};
      for (std::size_t i = 0; i < 3; ++i)
        out[start + "encoder." + name.substr(0, at) + "attention.self." + maps[i] + name.substr(at + 9)] = thirds[i];
      continue;
    }
    if (name.starts_with("head.")) {
      out["classifier." + name.substr(5)] = tensor;
      continue;
    }
    if (name.starts_with("layers.")) {
      name = "encoder." + name;
      if (name.find(".blocks.") != std::string::npos) {
        for (const auto& [from, to] : parts) {
          if (name.find(from) == std::string::npos) continue;
          replace(name, from, to);
          break;
        }
      }
    }
    replace(name, "patch_embed.proj", "embeddings.patch_embeddings.projection");
    replace(name, "patch_embed.norm", "embeddings.norm");
    if (name.starts_with("norm.")) replace(name, "norm.", "layernorm.");
    if (name == "absolute_pos_embed") name = "embeddings.position_embeddings";
    out[start + name] = tensor;
  }
  return out;
}

LoadOptions options_for(const std::string& layout = "auto", Fit fit = {}) {
  return {.layout = layout, .prefix = "", .keep_head = true, .fit = std::move(fit)};
}

// Whether a new model computes with the file what `made_by` computes.
::testing::AssertionResult gives_back(Task& made_by, const TinySwin& tiny, const Tensors& file,
                                      const std::string& detected) {
  const auto fresh = swin_task(tiny, 99);
  const LoadReport report = load_weights(*fresh, {kChannels, {kSwinSide, kSwinSide}}, file, options_for());
  if (report.weights.layout->id() != detected)
    return ::testing::AssertionFailure() << "layout " << report.weights.layout->id();
  if (!report.initial.empty()) return ::testing::AssertionFailure() << "initial: " << report.initial[0];
  if (!same_bits(swin_logits(*fresh), swin_logits(made_by))) return ::testing::AssertionFailure() << "another function";
  return ::testing::AssertionSuccess();
}

std::string refused(const TinySwin& tiny, const Tensors& file, const Fit& fit = {}) {
  try {
    load_weights(*swin_task(tiny, 2), {kChannels, {kSwinSide, kSwinSide}}, file, options_for("auto", fit));
  } catch (const DataError& error) {
    return error.what();
  }
  return "not refused";
}

TEST(LoadedWeights, OfSwinUnderEveryNameAreTheSameFunctionToTheBit) {
  for (const bool second : {false, true}) {
    const TinySwin tiny{.second = second};
    const auto task = swin_task(tiny, 1);
    Tensors file = as_published(*task, tiny);
    file["layers.0.blocks.1.attn.relative_position_index"] = at::zeros({4, 4}, at::kLong);
    file["layers.0.blocks.1.attn_mask"] = at::zeros({64, 4, 4});
    if (second) file["layers.0.blocks.1.attn.relative_coords_table"] = at::zeros({1, 3, 3, 2});
    EXPECT_TRUE(gives_back(*task, tiny, file, "swin"));
    EXPECT_TRUE(gives_back(*task, tiny, below(file, "model."), "swin"));
    EXPECT_TRUE(gives_back(*task, tiny, as_published(*task, tiny, /*timm=*/true), "swin-timm"));
    EXPECT_TRUE(gives_back(*task, tiny, as_transformers(as_published(*task, tiny), second), "swin-huggingface"));
    EXPECT_TRUE(gives_back(*task, tiny, parameters_of(*task), "locus"));
  }
}

TEST(LoadedWeights, OfOpenMmlabsSwinAreTakenOutOfTheOrderOfItsMerging) {
  const TinySwin tiny;
  const auto task = swin_task(tiny, 1);
  Tensors file = as_mmdetection(as_published(*task, tiny));
  EXPECT_TRUE(gives_back(*task, tiny, file, "swin-mmdetection"));
  file = below(below(file, "backbone."), "state_dict.");
  rename(file, "state_dict.backbone.head.fc.weight", "state_dict.head.fc.weight");
  file["state_dict.neck.lateral_convs.0.conv.weight"] = at::ones({1});
  file["optimizer.state.0"] = at::ones({1});
  EXPECT_TRUE(gives_back(*task, tiny, file, "swin-mmdetection"));
}

TEST(LoadedWeights, OfSwinTakeATableOfPositionsAlong) {
  const TinySwin tiny{.table = true};
  const auto task = swin_task(tiny, 1);
  EXPECT_TRUE(gives_back(*task, tiny, as_published(*task, tiny), "swin"));
  EXPECT_TRUE(gives_back(*task, tiny, as_transformers(as_published(*task, tiny), false), "swin-huggingface"));
}

TEST(LoadedWeights, OfOtherWindowsAreResizedWhenTold) {
  const TinySwin small, large{.window = 4};
  const auto task = swin_task(small, 1);
  const Tensors file = as_published(*task, small), timm = as_published(*task, small, /*timm=*/true);
  EXPECT_THAT(refused(large, file), AllOf(HasSubstr("windows of 2 x 2 patches, the model's are of 4 x 4"),
                                          HasSubstr("init: {weights: {position: resize}}")));
  const std::string name = "priors.relative-bias.stages.1.layers.2.table",
                    last = "priors.relative-bias.stages.3.layers.5.table";
  const Tensor before = parameters_of(*task).at(name);
  const auto loaded = [&](const Tensors& from) {
    const auto fresh = swin_task(large, 2);
    const LoadReport report =
        load_weights(*fresh, {kChannels, {kSwinSide, kSwinSide}}, from, options_for("auto", {.position = "resize"}));
    EXPECT_THAT(report.notes, Contains(HasSubstr("resized to the windows of the model")));
    return parameters_of(*fresh);
  };
  const Tensors bicubic = loaded(file), geometric = loaded(timm);
  const Tensor image = before.t().reshape({1, -1, 3, 3});
  const Tensor wanted = at::upsample_bicubic2d(image, {7, 7}, /*align_corners=*/false)[0].flatten(1).t();
  EXPECT_LT(largest_difference(bicubic.at(name), wanted), 1e-6);
  EXPECT_TRUE(same_bits(bicubic.at(last), parameters_of(*task).at(last))) << "the same window";
  EXPECT_LT(largest_difference(geometric.at(name)[24], before[4]), 1e-6) << "the middle stays";
  EXPECT_LT(largest_difference(geometric.at(name)[0], before[0]), 1e-4) << "corners stay";
  EXPECT_EQ(refused(large, file, {.position = "drop"}), "not refused");
}

TEST(LoadedWeights, OfAnotherSwinSayWhatTheModelMustHave) {
  const TinySwin tiny;
  const Tensors file = as_published(*swin_task(tiny, 1), tiny);
  EXPECT_THAT(refused({.depths = {1, 1, 2, 1}}, file), HasSubstr("model: {depths: [2,1,2,1]}"));
  EXPECT_THAT(refused({.second = true}, file), HasSubstr("model: {version: 1}"));
  EXPECT_THAT(refused({.own_prior = false}, file),
              AllOf(HasSubstr("the model lacks priors.relative-bias"), HasSubstr("prior: relative-bias")));
  EXPECT_EQ(refused({.own_prior = false}, file, {.position = "drop"}), "not refused");
}

// Whether a model that read the file writes it as it was, but for what it has no use for.
::testing::AssertionResult leads_back(const TinySwin& tiny, const Tensors& wanted, const std::string& layout) {
  const auto loaded = swin_task(tiny, 2);
  load_weights(*loaded, {kChannels, {kSwinSide, kSwinSide}}, wanted, options_for());
  const Tensors file = layout_tensors(below(parameters_of(*loaded), "model."), layout, kChannels, false);
  if (file.size() != wanted.size()) return ::testing::AssertionFailure() << file.size() << " of " << wanted.size();
  for (const auto& [name, tensor] : wanted) {
    if (!file.contains(name)) return ::testing::AssertionFailure() << "it lacks " << name;
    if (!same_bits(file.at(name).contiguous(), tensor.contiguous())) return ::testing::AssertionFailure() << name;
  }
  return ::testing::AssertionSuccess();
}

TEST(ExportedWeights, OfSwinLeadBackToEveryFile) {
  for (const bool second : {false, true}) {
    const TinySwin tiny{.second = second};
    const auto task = swin_task(tiny, 1);
    const Tensors published = as_published(*task, tiny);
    EXPECT_TRUE(leads_back(tiny, published, "swin"));
    EXPECT_TRUE(leads_back(tiny, as_published(*task, tiny, /*timm=*/true), "swin-timm"));
    EXPECT_TRUE(leads_back(tiny, as_transformers(published, second), "swin-huggingface"));
    if (second) continue;  // OpenMMLab's detectors are of the first version
    Tensors detector = as_mmdetection(published);
    for (const char* norm : {"norm0.weight", "norm1.bias", "norm2.weight"}) detector.erase(norm);
    EXPECT_TRUE(leads_back(tiny, detector, "swin-mmdetection"));
  }
  const TinySwin with_table{.table = true};
  const Tensors published = as_published(*swin_task(with_table, 1), with_table);
  EXPECT_TRUE(leads_back(with_table, as_transformers(published, false), "swin-huggingface"));
}

}  // namespace
}  // namespace locus::engine
