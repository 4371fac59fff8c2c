// The networks of the Vision Transformer's family under the names they are published with: each file gives the function it
// was made from, and is written again as it was.
#include "tests/engine/weights/published.h"

#include <gmock/gmock.h>

#include "engine/base/failure.h"
#include "engine/weights/export.h"
#include "engine/weights/load.h"
#include "tests/engine/train/recording.h"

namespace locus::engine {
namespace {

using namespace test;

// What `change` makes of every name; the tensors stay.
Tensors renamed_by(const Tensors& tensors, const std::vector<std::pair<std::string, std::string>>& changes) {
  Tensors out;
  for (const auto& [given, tensor] : tensors) {
    std::string name = given;
    for (const auto& [from, to] : changes) replace(name, from, to);
    out[name] = tensor;
  }
  return out;
}

const std::vector<std::pair<std::string, std::string>> kScales = {{".scale1", ".ls1.gamma"}, {".scale2", ".ls2.gamma"}};
const std::string kBlocks[] = {"blocks.0.", "blocks.1."};

// Gate and map, one below the other, under one name.
void pack(Tensors& file, const std::string& gate, const std::string& in, const std::string& to) {
  for (const std::string& block : kBlocks) {
    for (const char* end : {".weight", ".bias"}) {
      const Tensor both = at::cat({file.at(block + gate + end), file.at(block + in + end)});
      file.erase(block + gate + end);
      file.erase(block + in + end);
      file[block + to + end] = both;
    }
  }
}

Tensors as_dinov2(const Task& task, const Tiny& tiny) {
  Tensors file = renamed_by(as_timm(task, tiny.patch), kScales);
  if (file.contains("reg_token")) rename(file, "reg_token", "register_tokens");
  pack(file, "mlp.gate", "mlp.fc1", "mlp.w12");
  return renamed_by(file, {{"mlp.fc2", "mlp.w3"}});
}

Tensors as_dinov3(const Task& task, const Tiny& tiny) {
  Tensors file = renamed_by(
      renamed_by(as_timm(task, tiny.patch), kScales),
      {{"reg_token", "storage_tokens"}, {"mlp.gate", "mlp.w1"}, {"mlp.fc1", "mlp.w2"}, {"mlp.fc2", "mlp.w3"}});
  for (const std::string& block : kBlocks) {
    Tensor mask = at::ones({24});
    mask.slice(0, 8, 16).zero_();
    file[block + "attn.qkv.bias_mask"] = mask;
    file.at(block + "attn.qkv.bias").slice(0, 8, 16).zero_();
  }
  return file;
}

// timm's names of DINOv3 with biases of queries and values alone.
Tensors as_eva(const Task& task, const Tiny& tiny) {
  return renamed_by(as_timm(task, tiny.patch), {{".attention.", ".attn."},
                                                {".scale1", ".gamma_1"},
                                                {".scale2", ".gamma_2"},
                                                {"mlp.gate", "mlp.fc1_g"},
                                                {"mlp.fc1.", "mlp.fc1_x."}});
}

Tensors as_deit_iii(const Task& task, const Tiny& tiny) {
  return renamed_by(as_timm(task, tiny.patch), {{".scale1", ".gamma_1"}, {".scale2", ".gamma_2"}});
}

Tensors as_timm_file(const Task& task, const Tiny& tiny) {
  Tensors file = as_timm(task, tiny.patch);
  if (file.contains("blocks.0.mlp.gate.weight")) pack(file, "mlp.gate", "mlp.fc1", "mlp.fc1");
  return file;
}

Tensors as_dinov3_of_huggingface(const Task& task, const Tiny& tiny) {
  return as_huggingface(task, tiny.patch, "dinov3");
}

Tensors as_pape(const Task& task, const Tiny& tiny) {
  Tensors file;
  for (const auto& [given, tensor] : as_timm(task, tiny.patch)) {
    std::string name = given;
    if (const std::string start = "priors.pape.layers."; name.starts_with(start)) {
      name = "encoder.layers." + name.substr(start.size());
      replace(name, ".position", ".attention.position_encoder.position.weight");
    }
    replace(name, "blocks.", "encoder.layers.");
    replace(name, "attn.qkv", "attention.qkv_proj");
    replace(name, "attn.proj", "attention.out_proj");
    replace(name, "mlp.", "ffn.");
    replace(name, "norm_pre", "encoder.norm_pre");
    if (name.starts_with("norm.")) name = "encoder.norm_post." + name.substr(5);
    replace(name, "patch_embed.proj", "embedding");
    replace(name, "cls_token", "cls");
    if (name.starts_with("head.")) replace(name, "head", "classifier");
    file[name] = tensor;
  }
  for (const std::string block : {"encoder.layers.0.", "encoder.layers.1."}) {
    file[block + "attention.position_encoder.ab.weight"] = at::cat({file.at(block + "a"), file.at(block + "b")});
    file.erase(block + "a");
    file.erase(block + "b");
  }
  return file;
}

// The first block has positional attention, the second has not.
Tensors as_convit(const Task& task, const Tiny& tiny) {
  Tensors file = as_timm(task, tiny.patch);
  const Tensor qkv = file.at("blocks.0.attn.qkv.weight");
  file.erase("blocks.0.attn.qkv.weight");
  file["blocks.0.attn.qk.weight"] = qkv.slice(0, 0, 16);
  file["blocks.0.attn.v.weight"] = qkv.slice(0, 16);
  rename(file, "priors.gpsa.layers.0.weight", "blocks.0.attn.pos_proj.weight");
  rename(file, "priors.gpsa.layers.0.bias", "blocks.0.attn.pos_proj.bias");
  rename(file, "priors.gpsa.layers.0.gate", "blocks.0.attn.gating_param");
  return file;
}

Tensors as_localvit(const Task& task, const Tiny& tiny) {
  Tensors file = as_timm(task, tiny.patch);
  const Tensors own = tensors_of(task);
  const bool gated =
      own.contains("priors.local-ffn.layers.0.gate.in_weight") || own.contains("priors.local-ffn.layers.0.gate.kernel");
  const std::vector<std::pair<std::string, std::string>> places = {{"norm_in.", "1."},
                                                                   {"convolution.", "3."},
                                                                   {"norm_convolution.", "4."},
                                                                   {"gate.kernel", "6.conv.weight"},
                                                                   {"gate.in_", "6.fc.0."},
                                                                   {"gate.out_", "6.fc.2."},
                                                                   {"norm_out.", gated ? "8." : "7."},
                                                                   {"in_weight", "0.weight"},
                                                                   {"out_weight", gated ? "7.weight" : "6.weight"}};
  for (const auto& [name, tensor] : own) {
    const std::string start = "priors.local-ffn.layers.";
    if (!name.starts_with(start)) continue;
    file.erase(name);
    const std::string rest = name.substr(start.size() + 2), block = "blocks." + name.substr(start.size(), 2);
    const bool map = rest == "in_weight" || rest == "out_weight";
    for (const auto& [ours, theirs] : places) {
      if (!rest.starts_with(ours)) continue;
      const std::string target = block + "conv.conv." + theirs + rest.substr(ours.size());
      file[target] = map ? tensor.view({tensor.size(0), tensor.size(1), 1, 1}) : tensor;
      break;
    }
    if (rest == "norm_in.weight") file[block + "conv.conv.1.num_batches_tracked"] = at::zeros({}, at::kLong);
  }
  return file;
}

struct Published {
  std::string name, layout;
  Tiny tiny;
  Tensors (*file)(const Task& task, const Tiny& tiny);
  bool writes = true;  // the layout writes this very form
};
void PrintTo(const Published& one, std::ostream* out) { *out << one.name; }

Json one_prior(const char* id, const Json& options) { return Json::array({{{"id", id}, {"options", options}}}); }

std::vector<Published> published() {
  const Json gated = {{"mlp", "swiglu"}};
  const auto local = [](const Json& more) {
    Json options = {{"mode", "original"}};
    options.update(more);
    return Tiny{.more = one_prior("local-ffn", options)};
  };
  return {{"timm_gated", "timm", {.model = gated}, as_timm_file, false},
          {"timm_fc_norm",
           "timm",
           {.pool = "mean", .model = {{"class_token", "always"}, {"final_norm", "pooled"}}},
           as_timm_file},
          {"deit_iii", "deit-iii", {.rows = "patches", .model = {{"layer_scale", 1e-4}}}, as_deit_iii},
          {"dinov2_giant",
           "dinov2",
           {.model = {{"mlp", "swiglu"}, {"layer_scale", 1e-5}, {"mask_token", true}}},
           as_dinov2},
          {"dinov3_plus",
           "dinov3",
           {.registers = 4,
            .rows = "",
            .model = {{"mlp", "swiglu"},
                      {"layer_scale", 1e-5},
                      {"mask_token", true},
                      {"key_bias", "masked"},
                      {"final_norm", "untied"}}},
           as_dinov3},
          {"eva",
           "dinov3",
           {.registers = 4,
            .rows = "",
            .pool = "mean",
            .model = {{"class_token", "always"}, {"mlp", "swiglu"}, {"layer_scale", 1e-5}, {"key_bias", "none"}}},
           as_eva,
           false},
          {"huggingface_dinov3",
           "huggingface",
           {.registers = 4, .rows = "", .model = {{"mlp", "swiglu"}, {"key_bias", "masked"}}},
           as_dinov3_of_huggingface,
           false},
          {"pape",
           "pape",
           {.rows = "", .more = one_prior("pape", {{"m", 3}, {"sign", "code"}}), .model = {{"pre_norm", true}}},
           as_pape},
          {"convit",
           "convit",
           {.rows = "patches", .qkv_bias = false, .more = one_prior("gpsa", {{"layers", 1}, {"prefix", "late"}})},
           as_convit},
          {"localvit", "localvit", local({{"act", "hs-se"}, {"reduction", 4}}), as_localvit},
          {"localvit_eca", "localvit", local({{"act", "hs-eca"}}), as_localvit},
          {"localvit_relu6", "localvit-relu6", local({{"act", "relu6"}}), as_localvit}};
}

// Running statistics, too, are not those a network starts with.
std::shared_ptr<Task> random_task(const Tiny& tiny, std::uint64_t seed) {
  auto task = tiny_task(tiny, seed);
  const at::NoGradGuard no_gradient;
  const RandomStreams random(seed);
  for (const auto& entry : task->named_buffers()) {
    if (!entry.key().ends_with("running_mean") && !entry.key().ends_with("running_var")) continue;
    entry.value().copy_(random.uniform("test", entry.key(), 0, entry.value().sizes(), 0.5, 1.5));
  }
  for (const auto& entry : task->named_parameters()) {  // a masked bias counts as 0 whatever it holds
    if (tiny.model.value("key_bias", "") == "masked" && entry.key().ends_with("qkv.bias"))
      entry.value().slice(0, 8, 16).zero_();
  }
  return task;
}

class PublishedWeights : public ::testing::TestWithParam<Published> {};

TEST_P(PublishedWeights, GiveTheFunctionTheyWereMadeFromAndAreWrittenAsTheyWere) {
  const Published& one = GetParam();
  const auto task = random_task(one.tiny, 1), fresh = random_task(one.tiny, 99);
  const Tensors file = one.file(*task, one.tiny);
  const LoadReport report = load_weights(*fresh, {one.tiny.channels, {one.tiny.side, one.tiny.side}}, file,
                                         {.layout = "auto", .prefix = "", .keep_head = true, .fit = {}});
  EXPECT_EQ(report.weights.layout->id(), one.layout);
  EXPECT_THAT(report.initial, ::testing::IsEmpty());
  EXPECT_TRUE(same_bits(logits_of(*fresh, one.tiny), logits_of(*task, one.tiny)));
  if (!one.writes) return;
  const Tensors written =
      layout_tensors(below(tensors_of(*fresh), "model."), one.layout, one.tiny.channels, /*drop_priors=*/false);
  for (const auto& [name, tensor] : file) {
    if (name.ends_with("num_batches_tracked")) continue;
    ASSERT_TRUE(written.contains(name)) << name;
    EXPECT_TRUE(same_bits(written.at(name).contiguous(), tensor.contiguous())) << name;
  }
  for (const auto& [name, tensor] : written) EXPECT_TRUE(file.contains(name)) << name;
}

INSTANTIATE_TEST_SUITE_P(Family, PublishedWeights, ::testing::ValuesIn(published()),
                         [](const auto& one) { return one.param.name; });

TEST(PublishedBiases, OfQueriesAndValuesAloneFitModelsWithAllThreeAndBack) {
  const Tiny all{.registers = 4, .rows = ""}, some{.registers = 4, .rows = "", .model = {{"key_bias", "none"}}};
  const auto without = random_task(some, 1), loaded = random_task(all, 2), back = random_task(some, 3);
  const LoadInput input{3, {12, 12}};
  const LoadOptions options{.layout = "locus", .prefix = "", .keep_head = true, .fit = {}};
  load_weights(*loaded, input, below(parameters_of(*without), "model."), options);
  EXPECT_TRUE(at::equal(parameters_of(*loaded).at("blocks.1.attention.qkv.bias").slice(0, 8, 16), at::zeros({8})));
  EXPECT_TRUE(at::allclose(logits_of(*loaded, all), logits_of(*without, some), 0, 1e-5));
  load_weights(*back, input, below(parameters_of(*loaded), "model."), options);
  EXPECT_TRUE(same_bits(logits_of(*back, some), logits_of(*without, some)));
}

TEST(PublishedNames, AreWrittenByNoLayoutOfSeveralFamilies) {
  const auto task = random_task({}, 1);
  const Tensors model = below(tensors_of(*task), "model.");
  for (const char* layout : {"huggingface", "mae", "locus"}) {
    try {
      layout_tensors(model, layout, 0, false);
      ADD_FAILURE() << layout << " was not refused";
    } catch (const DataError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("pape, convit, localvit"));
    }
  }
}

}  // namespace
}  // namespace locus::engine
