// Files of Diffusion Transformers, as published and of diffusers, give the network that wrote them, and it gives them back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/failure.h"
#include "engine/tasks/denoiser.h"
#include "engine/weights/denoiser_export.h"
#include "engine/weights/load.h"

namespace locus::engine {
namespace {

using ::testing::HasSubstr;
using Tensors = std::map<std::string, Tensor>;

constexpr std::int64_t kDim = 16, kDepth = 2, kClasses = 5;

std::shared_ptr<Denoiser> network(std::uint64_t seed) {
  const Json configuration = {
      {"model", {{"id", "dit"}, {"options", {{"dim", kDim}, {"depth", kDepth}, {"heads", 2}, {"patch", 2}}}}},
      {"priors", Json::array({{{"id", "sincos-2d"}}})}};
  const RandomStreams random(seed);
  const DenoiserOptions options{.classes = kClasses};
  auto out = std::make_shared<Denoiser>(configuration, InputFacts{4, {6, 6}}, options, random);
  const at::NoGradGuard no_grad;
  for (const auto& entry : out->named_parameters())
    entry.value().copy_(random.normal("test", entry.key(), 0, entry.value().sizes(), 0, 0.5));
  return out;
}

Tensor output_of(const Denoiser& model) {
  const at::NoGradGuard no_grad;
  const RandomStreams random(3);
  return model.forward({.image = random.normal("test", "images", 0, {2, 4, 6, 6}),
                        .time = at::tensor({3.0, 700.0}),
                        .label = at::tensor({1, 5}, at::kLong)},
                       {.random = random});
}

Tensors denoiser_parameters(const Denoiser& model) {
  Tensors out;
  for (const auto& entry : model.named_parameters()) out[entry.key()] = entry.value().detach().clone();
  return out;
}

// The table of positions as the prior has it, [1, N, D].
Tensor table() {
  const PriorItem& item = prior_item("sincos-2d");
  const Layout layout{{3, 3}, 0};
  const auto prior =
      item.make({.layers = {}, .width = kDim, .reference = layout}, Options(item.item.json(), Json::object()));
  const RandomStreams none(0);
  return prior->embed(Site::kBeforePrefix, at::zeros({1, 9, kDim}), layout, {.random = none});
}

// Names and shapes written out once more, without the tables of engine/weights.
Tensors as_published(const Denoiser& model) {
  const Tensors p = denoiser_parameters(model);
  Tensors out = {{"x_embedder.proj.weight", p.at("backbone.embed.weight").view({kDim, 4, 2, 2})},
                 {"x_embedder.proj.bias", p.at("backbone.embed.bias")},
                 {"y_embedder.embedding_table.weight", p.at("label.table")}};
  const auto both = [&](const std::string& theirs, const std::string& ours) {
    for (const char* kind : {".weight", ".bias"}) out[theirs + kind] = p.at(ours + kind);
  };
  both("t_embedder.mlp.0", "time.in");
  both("t_embedder.mlp.2", "time.out");
  both("final_layer.linear", "final.map");
  both("final_layer.adaLN_modulation.1", "final.modulation");
  for (const std::string block : {"blocks.0.", "blocks.1."}) {
    both(block + "attn.qkv", "backbone." + block + "attention.qkv");
    both(block + "attn.proj", "backbone." + block + "attention.out");
    both(block + "mlp.fc1", "backbone." + block + "mlp.in");
    both(block + "mlp.fc2", "backbone." + block + "mlp.out");
    both(block + "adaLN_modulation.1", "backbone." + block + "modulation");
  }
  return out;
}

Tensors as_diffusers(const Denoiser& model) {
  const Tensors p = denoiser_parameters(model);
  Tensors out = {{"pos_embed.proj.weight", p.at("backbone.embed.weight").view({kDim, 4, 2, 2})},
                 {"pos_embed.proj.bias", p.at("backbone.embed.bias")}};
  for (const std::string kind : {".weight", ".bias"}) {
    out["proj_out_1" + kind] = p.at("final.modulation" + kind);
    out["proj_out_2" + kind] = p.at("final.map" + kind);
    for (const std::string number : {"0", "1"}) {
      const std::string theirs = "transformer_blocks." + number + ".", ours = "backbone.blocks." + number + ".";
      out[theirs + "norm1.emb.timestep_embedder.linear_1" + kind] = p.at("time.in" + kind);
      out[theirs + "norm1.emb.timestep_embedder.linear_2" + kind] = p.at("time.out" + kind);
      out[theirs + "norm1.emb.class_embedder.embedding_table.weight"] = p.at("label.table");
      out[theirs + "norm1.linear" + kind] = p.at(ours + "modulation" + kind);
      const Tensor& qkv = p.at(ours + "attention.qkv" + kind);
      out[theirs + "attn1.to_q" + kind] = qkv.slice(0, 0, kDim);
      out[theirs + "attn1.to_k" + kind] = qkv.slice(0, kDim, 2 * kDim);
      out[theirs + "attn1.to_v" + kind] = qkv.slice(0, 2 * kDim);
      out[theirs + "attn1.to_out.0" + kind] = p.at(ours + "attention.out" + kind);
      out[theirs + "ff.net.0.proj" + kind] = p.at(ours + "mlp.in" + kind);
      out[theirs + "ff.net.2" + kind] = p.at(ours + "mlp.out" + kind);
    }
  }
  return out;
}

LoadReport load(Denoiser& into, const Tensors& file, const std::string& layout = "auto") {
  return load_weights(into, {4, {6, 6}}, file, {.layout = layout, .prefix = "", .keep_head = false, .fit = {}});
}

std::string refusal(const Tensors& file) {
  try {
    load(*network(99), file);
  } catch (const DataError& error) {
    return error.what();
  }
  return "not refused";
}

TEST(DenoiserWeights, OfBothCodesAreTheSameFunctionToTheBit) {
  const auto original = network(1);
  Tensors published = as_published(*original);
  published["pos_embed"] = table();
  for (const auto& [file, layout] :
       {std::pair{published, "dit"}, std::pair{as_diffusers(*original), "dit-diffusers"}}) {
    const auto fresh = network(99);
    ASSERT_FALSE(at::equal(output_of(*fresh), output_of(*original)));
    const LoadReport report = load(*fresh, file);
    EXPECT_EQ(report.weights.layout->id(), layout);
    EXPECT_TRUE(report.initial.empty()) << report.initial[0];
    EXPECT_TRUE(at::equal(output_of(*fresh), output_of(*original))) << layout;
  }
}

TEST(DenoiserWeights, AreWrittenAsTheyWereRead) {
  const auto model = network(1);
  for (const auto& [file, layout] :
       {std::pair{as_published(*model), "dit"}, std::pair{as_diffusers(*model), "dit-diffusers"}}) {
    const Tensors written = denoiser_tensors(denoiser_parameters(*model), layout, 4);
    EXPECT_EQ(written.size(), file.size());
    for (const auto& [name, tensor] : file) {
      ASSERT_TRUE(written.contains(name)) << name;
      EXPECT_TRUE(at::equal(written.at(name), tensor)) << name;
    }
  }
  Tensors with_prior = denoiser_parameters(*model);
  with_prior["backbone.priors.spatial-decay.layers.0.decay"] = at::zeros({2, kDim});
  EXPECT_THROW(denoiser_tensors(with_prior, "dit", 4), DataError);
}

TEST(DenoiserWeights, OfATrainingCheckpointAreThoseBelowThePrefix) {
  const auto original = network(1);
  Tensors file;
  for (const auto& [name, tensor] : as_published(*original)) file["ema." + name] = tensor;
  for (const auto& [name, tensor] : as_published(*network(2))) file["model." + name] = tensor;
  const auto fresh = network(99);
  load_weights(*fresh, {4, {6, 6}}, file, {.layout = "dit", .prefix = "ema.", .keep_head = false, .fit = {}});
  EXPECT_TRUE(at::equal(output_of(*fresh), output_of(*original)));
}

TEST(DenoiserWeights, AreRefusedWhereCopiesOrTheTableDiffer) {
  const auto original = network(1);
  Tensors copies = as_diffusers(*original);
  Tensor& label = copies.at("transformer_blocks.1.norm1.emb.class_embedder.embedding_table.weight");
  label = label + 1;
  EXPECT_THAT(refusal(copies), HasSubstr("copies of 'label.table' in the file differ"));
  Tensors moved = as_published(*original);
  moved["pos_embed"] = table() + 0.01;
  EXPECT_THAT(refusal(moved), HasSubstr("not that of prior sincos-2d"));
  moved["pos_embed"] = at::zeros({1, 7, kDim});
  EXPECT_THAT(refusal(moved), HasSubstr("no square grid"));
}

TEST(DenoiserWeights, AreRefusedWhereAPartIsMissing) {
  Tensors file = as_published(*network(1));
  file.erase("y_embedder.embedding_table.weight");
  EXPECT_THAT(refusal(file), HasSubstr("it lacks label.table"));
}

}  // namespace
}  // namespace locus::engine
