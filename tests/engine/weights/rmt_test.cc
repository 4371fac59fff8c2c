// Files of RMT under its own names give the model that wrote them, and so do our own of it.
#include <gmock/gmock.h>

#include "engine/base/failure.h"
#include "engine/weights/export.h"
#include "engine/weights/load.h"
#include "tests/engine/train/recording.h"
#include "tests/engine/weights/published.h"

namespace locus::engine {
namespace {

using namespace test;
using ::testing::HasSubstr;

constexpr std::int64_t kRmtSide = 32, kRmtChannels = 3;
const std::vector<std::int64_t> kRmtDepths = {1, 2, 1, 1};

// Every parameter random, and the running statistics.
std::shared_ptr<Task> rmt_task(std::uint64_t seed) {
  const Json lines = {{"form", "decomposed"}}, grid = {{"form", "full"}};
  const Json priors = Json::array({{{"id", "cpe"}, {"options", {{"place", "every-block"}}}},
                                   {{"id", "rope-axial"}, {"options", {{"flavor", "rmt"}}}},
                                   {{"id", "manhattan-decay"}, {"stages", Json::array({lines, lines, grid, grid})}},
                                   {{"id", "lepe"}}});
  const Json configuration = {{"task", {{"id", "classification"}}},
                              {"model",
                               {{"id", "rmt"},
                                {"options",
                                 {{"dims", {4, 8, 8, 16}},
                                  {"depths", kRmtDepths},
                                  {"heads", {1, 2, 2, 2}},
                                  {"hidden", {6, 10, 12, 20}},
                                  {"pool_width", 12},
                                  {"layer_scale", {0.0, 0.0, 1e-6, 1e-6}}}}}},
                              {"priors", priors}};
  const Json facts = {{"channels", kRmtChannels}, {"extent", {kRmtSide, kRmtSide}}, {"classes", 5}};
  const RandomStreams random(seed);
  auto task = make_task({configuration, facts, random});
  const at::NoGradGuard no_gradient;
  for (const Module::Tensors& tensors : {task->named_parameters(), task->named_buffers()}) {
    for (const auto& entry : tensors) {
      Tensor value = entry.value();
      value.copy_(random.normal("test", entry.key(), 0, value.sizes(), 0, 0.5));
      if (entry.key().ends_with("running_var")) value.abs_().add_(0.5);
    }
  }
  return task;
}

// "layers.1.blocks.0." of the layer that is counted over the network.
std::string block_of(std::int64_t layer) {
  std::size_t stage = 0;
  while (layer >= kRmtDepths[stage]) layer -= kRmtDepths[stage++];
  return "layers." + std::to_string(stage) + ".blocks." + std::to_string(layer) + ".";
}

// The names of the published code.
Tensors as_rmt(const Task& task) {
  const std::map<std::string, std::string> parts = {
      {"norm1", "retention_layer_norm"},       {"norm2", "final_layer_norm"},
      {"attention.out", "retention.out_proj"}, {"mlp.in", "ffn.fc1"},
      {"mlp.conv", "ffn.dwconv.conv"},         {"mlp.out", "ffn.fc2"}};
  Tensors out;
  for (const auto& [name, tensor] : tensors_of(task)) {
    const auto at = split_name(name);
    const std::string& end = at.back();
    if (at[0] == "stem") {
      const std::int64_t place = 3 * std::stoll(at[1]) + (at[2] == "norm" ? 1 : 0);
      out["patch_embed.proj." + std::to_string(place) + "." + end] = tensor;
    } else if (at[0] == "pool") {
      out[(at[1] == "map" ? "proj." : "norm.") + end] = tensor;
    } else if (at[0] == "head") {
      out[name] = tensor;
    } else if (at[0] == "priors") {  // priors, id, stages, s, layers, l, convolution, end
      out[block_of(std::stoll(at[5])) + (at[1] == "cpe" ? "pos.conv." : "retention.lepe.conv.") + end] = tensor;
    } else if (at[2] == "entry") {
      const std::string stage = std::to_string(std::stoll(at[1]) - 1);
      out["layers." + stage + ".downsample." + (at[3] == "conv" ? "reduction." : "norm.") + end] = tensor;
    } else if (end == "scale1" || end == "scale2") {
      out["layers." + at[1] + ".blocks." + at[3] + ".gamma_" + end.substr(5)] = tensor.view({1, 1, 1, -1});
    } else if (at[5] == "qkv") {
      const auto maps = tensor.chunk(3);
      for (std::size_t i = 0; i < 3; ++i)
        out["layers." + at[1] + ".blocks." + at[3] + ".retention." + "qkv"[i] + "_proj." + end] = maps[i];
    } else {
      const std::string part = at[4] + (at.size() == 7 ? "." + at[5] : "");
      out["layers." + at[1] + ".blocks." + at[3] + "." + parts.at(part) + "." + end] = tensor;
    }
  }
  for (const char* norm : {"patch_embed.proj.1.", "layers.2.downsample.norm.", "norm."})
    out[std::string(norm) + "num_batches_tracked"] = at::ones({}, at::kLong);
  out["layers.0.Relpos.angle"] = out["layers.3.Relpos.decay"] = at::ones({2});
  return out;
}

Tensor rmt_logits(Task& task) { return logits_of(task, {.side = kRmtSide, .channels = kRmtChannels}); }

TEST(LoadedWeights, OfRmtUnderItsOwnNamesAndOursAreTheSameFunctionToTheBit) {
  const auto task = rmt_task(1);
  const std::pair<Tensors, const char*> files[] = {{as_rmt(*task), "rmt"},
                                                   {below(as_rmt(*task), "module."), "rmt"},
                                                   {below(as_rmt(*task), "model."), "rmt"},
                                                   {tensors_of(*task), "locus"}};
  for (const auto& [file, layout] : files) {
    const auto fresh = rmt_task(99);
    const LoadReport report = load_weights(*fresh, {kRmtChannels, {kRmtSide, kRmtSide}}, file, {.keep_head = true});
    EXPECT_EQ(report.weights.layout->id(), layout);
    EXPECT_TRUE(report.initial.empty()) << layout << ": " << report.initial.front();
    EXPECT_TRUE(same_bits(rmt_logits(*fresh), rmt_logits(*task))) << layout;
    const Tensors found = tensors_of(*fresh), expected = tensors_of(*task);
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [name, tensor] : expected) EXPECT_TRUE(at::equal(found.at(name), tensor)) << name;
  }
}

TEST(ExportedWeights, OfRmtLeadBackToItsFile) {
  const auto task = rmt_task(1), loaded = rmt_task(2);
  Tensors wanted = as_rmt(*task);
  load_weights(*loaded, {kRmtChannels, {kRmtSide, kRmtSide}}, wanted, {.keep_head = true});
  const Tensors file = layout_tensors(below(tensors_of(*loaded), "model."), "rmt", kRmtChannels, false);
  // What follows from the settings, and what counts batches, is not written.
  std::erase_if(wanted, [](const auto& entry) {
    return entry.first.ends_with("num_batches_tracked") || entry.first.starts_with("layers.0.Relpos") ||
           entry.first.starts_with("layers.3.Relpos");
  });
  ASSERT_EQ(file.size(), wanted.size());
  for (const auto& [name, tensor] : wanted) {
    ASSERT_TRUE(file.contains(name)) << name;
    EXPECT_TRUE(same_bits(file.at(name).contiguous(), tensor.contiguous())) << name;
  }
}

TEST(LoadedWeights, OfRmtWithoutRunningStatisticsAreRefused) {
  const auto task = rmt_task(1);
  Tensors file = as_rmt(*task);
  file.erase("layers.1.downsample.norm.running_var");
  try {
    load_weights(*rmt_task(2), {kRmtChannels, {kRmtSide, kRmtSide}}, file, {.keep_head = true});
    FAIL() << "not refused";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("lacks stages.2.entry.norm.running_var"));
  }
}

}  // namespace
}  // namespace locus::engine
