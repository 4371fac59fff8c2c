// Tiny models, and files of their weights as published code would have written them: names and shapes written out once
// more, without the tables of engine/weights.
#pragma once

#include <gtest/gtest.h>

#include "engine/files/safetensors.h"
#include "engine/tasks/task.h"
#include "tests/engine/support/models.h"

namespace locus::engine::test {

using Tensors = std::map<std::string, Tensor>;

struct Tiny {
  std::int64_t side = 12, patch = 4, registers = 0, classes = 5, channels = 3;
  std::string rows = "with-class", pool = "cls";  // rows "": no position table
  bool qkv_bias = true;
  Json more = Json::array();    // priors
  Json model = Json::object();  // further options
  Json task = Json::object();
};

inline Json tiny_configuration(const Tiny& tiny) {
  Json options = {{"dim", 8},
                  {"depth", 2},
                  {"heads", 2},
                  {"patch", tiny.patch},
                  {"pool", tiny.pool},
                  {"registers", tiny.registers},
                  {"qkv_bias", tiny.qkv_bias}};
  options.update(tiny.model);
  Json priors = Json::array();
  if (!tiny.rows.empty()) priors.push_back({{"id", "learned-absolute"}, {"options", {{"rows", tiny.rows}}}});
  for (const Json& prior : tiny.more) priors.push_back(prior);
  return {{"task", {{"id", "classification"}, {"options", tiny.task}}},
          {"model", {{"id", "vit"}, {"options", options}}},
          {"priors", priors}};
}

// Every parameter random, those that start at 0 or 1, too.
inline std::shared_ptr<Task> tiny_task(const Tiny& tiny, std::uint64_t seed) {
  const Json facts = {{"channels", tiny.channels}, {"extent", {tiny.side, tiny.side}}, {"classes", tiny.classes}};
  const RandomStreams random(seed);
  const Json configuration = tiny_configuration(tiny);
  auto task = make_task({configuration, facts, random});
  const at::NoGradGuard no_gradient;
  for (const auto& entry : task->named_parameters())
    entry.value().copy_(random.normal("test", entry.key(), 0, entry.value().sizes(), 0, 0.5));
  return task;
}

inline Tensor logits_of(Task& task, const Tiny& tiny) {
  const at::NoGradGuard no_gradient;
  task.eval();
  const Tensor images = RandomStreams(3).normal("test", "images", 0, {2, tiny.channels, tiny.side, tiny.side});
  return task.predict({{"image", images}}, test_context(false));
}

inline Tensors parameters_of(const Task& task) {
  Tensors out;
  for (const auto& entry : task.named_parameters()) {
    std::string name = entry.key();
    if (name.starts_with("backbone.")) name.erase(0, 9);
    out[name] = entry.value().detach().clone();
  }
  return out;
}

// Parameters and buffers without "backbone.".
inline Tensors tensors_of(const Task& task) {
  Tensors out = parameters_of(task);
  for (const auto& entry : task.named_buffers()) {
    std::string name = entry.key();
    if (name.starts_with("backbone.")) name.erase(0, 9);
    out[name] = entry.value().clone();
  }
  return out;
}

// The parts of a name between its dots.
inline std::vector<std::string> split_name(const std::string& name) {
  std::vector<std::string> out = {""};
  for (const char c : name) {
    if (c == '.') {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

inline void replace(std::string& text, const std::string& from, const std::string& to) {
  if (const auto at = text.find(from); at != std::string::npos) text.replace(at, from.size(), to);
}

// timm's names: of DeiT, DINO, DINOv2 and MAE, too.
inline Tensors as_timm(const Task& task, std::int64_t patch) {
  Tensors out;
  for (const auto& [ours, tensor] : parameters_of(task)) {
    std::string name = ours;
    Tensor value = tensor;
    replace(name, "attention.qkv", "attn.qkv");
    replace(name, "attention.out", "attn.proj");
    replace(name, "mlp.in", "mlp.fc1");
    replace(name, "mlp.out", "mlp.fc2");
    if (ours == "embed.weight") value = tensor.view({tensor.size(0), tensor.size(1) / patch / patch, patch, patch});
    if (ours.starts_with("embed.")) name = "patch_embed.proj." + ours.substr(6);
    if (ours == "class_token") name = "cls_token";
    if (ours == "registers") name = "reg_token";
    if (ours == "priors.learned-absolute.table") name = "pos_embed";
    if (name == "cls_token" || name == "reg_token" || name == "pos_embed") value = tensor.unsqueeze(0);
    out[name] = value;
  }
  return out;
}

inline void rename(Tensors& tensors, const std::string& from, const std::string& to) {
  auto node = tensors.extract(from);
  ASSERT_FALSE(node.empty()) << from;
  node.key() = to;
  tensors.insert(std::move(node));
}

inline Tensors below(const Tensors& tensors, const std::string& prefix) {
  Tensors out;
  for (const auto& [name, tensor] : tensors) out[prefix + name] = tensor;
  return out;
}

// transformers' names on disk. `family`: vit, deit, dinov2 or dinov3.
inline Tensors as_huggingface(const Task& task, std::int64_t patch, const std::string& family) {
  Tensors out;
  const bool third = family == "dinov3", old = family == "vit" || family == "deit";
  for (const auto& [given, tensor] : as_timm(task, patch)) {
    std::string name = given;
    const bool bias = name.ends_with(".bias");
    const std::string end = bias ? ".bias" : ".weight";
    if (name.starts_with("blocks.")) {
      const std::string block = (third ? "layer." : family + ".encoder.layer.") + name.substr(7, 2);
      const std::string part = name.substr(9, name.rfind('.') - 9);
      if (part == "attn.qkv") {
        const auto parts = tensor.chunk(3);
        const char* plain[] = {"query", "key", "value"};
        const char* short_names[] = {"q", "k", "v"};
        for (std::size_t i = 0; i < 3; ++i) {
          if (third && bias && i == 1) continue;
          out[block +
              (third ? std::string("attention.") + short_names[i] + "_proj"
                     : std::string("attention.attention.") + plain[i]) +
              end] = parts[i];
        }
        continue;
      }
      std::map<std::string, std::string> names = {{"attn.proj", third ? "attention.o_proj" : "attention.output.dense"},
                                                  {"norm1", old ? "layernorm_before" : "norm1"},
                                                  {"norm2", old ? "layernorm_after" : "norm2"},
                                                  {"mlp.fc1", old     ? "intermediate.dense"
                                                              : third ? "mlp.up_proj"
                                                                      : "mlp.fc1"},
                                                  {"mlp.gate", "mlp.gate_proj"},
                                                  {"mlp.fc2", old     ? "output.dense"
                                                              : third ? "mlp.down_proj"
                                                                      : "mlp.fc2"}};
      out[block + names.at(part) + end] = tensor;
      continue;
    }
    if (name == "cls_token") name = "embeddings.cls_token";
    if (name == "pos_embed") name = "embeddings.position_embeddings";
    if (name == "reg_token") name = family == "deit" ? "embeddings.distillation_token" : "embeddings.register_tokens";
    if (name.starts_with("patch_embed.proj"))
      name = (third ? "embeddings.patch_embeddings" : "embeddings.patch_embeddings.projection") + end;
    if (name.starts_with("norm.") && !third) name = "layernorm" + end;
    if (name.starts_with("head.")) {
      out["classifier" + end] = tensor;
      continue;
    }
    out[(third ? "" : family + ".") + name] = tensor;
  }
  return out;
}

}  // namespace locus::engine::test
