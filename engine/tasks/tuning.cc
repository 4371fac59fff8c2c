// Walks over adapters and backbones of a task.
#include "engine/tasks/tuning.h"

namespace locus::engine {
namespace {

using NamedAdapters = std::vector<std::pair<std::string, std::shared_ptr<Adapter>>>;

NamedAdapters adapters_of(const Task& task) {
  NamedAdapters out;
  for (const auto& entry : task.named_modules()) {
    if (auto adapter = std::dynamic_pointer_cast<Adapter>(entry.value())) out.emplace_back(entry.key(), adapter);
  }
  return out;
}

// "backbone." of each, with what it starts.
std::vector<std::pair<std::string, std::shared_ptr<Backbone>>> backbones_of(const Task& task) {
  std::vector<std::pair<std::string, std::shared_ptr<Backbone>>> out;
  for (const auto& entry : task.named_modules()) {
    if (auto backbone = std::dynamic_pointer_cast<Backbone>(entry.value()))
      out.emplace_back(entry.key() + ".", backbone);
  }
  return out;
}

// The names of those parameters of a backbone that learn.
std::set<std::string> learning(const AdapterChoice& choice, const Backbone& backbone) {
  std::set<std::string> norms;
  for (const auto& entry : backbone.named_modules()) {
    if (const auto norm = std::dynamic_pointer_cast<Norm>(entry.value())) {
      for (const auto& parameter : norm->named_parameters()) norms.insert(entry.key() + "." + parameter.key());
    }
  }
  std::set<std::string> out;
  for (const auto& parameter : backbone.named_parameters()) {
    const std::string& name = parameter.key();
    const std::string prior = backbone.prior_of(name);
    const bool learns = backbone.adapter_of(name) != nullptr || (!prior.empty() && choice.trains_prior(prior)) ||
                        (prior.empty() && name.ends_with(".bias") && choice.trains("biases")) ||
                        (norms.contains(name) && choice.trains("norms"));
    if (learns) out.insert(name);
  }
  return out;
}

}  // namespace

void start_adapters(const Task& task, const RandomStreams& random) {
  for (const auto& [name, adapter] : adapters_of(task)) adapter->start(random);
}

void hold_base(Task& task, const Json& configuration) {
  const std::optional<AdapterChoice> choice = adapter_choice(configuration);
  if (!choice) return;
  std::set<std::string> learns;
  for (const auto& [prefix, backbone] : backbones_of(task)) {
    for (const std::string& name : learning(*choice, *backbone)) learns.insert(prefix + name);
  }
  const auto within = within_backbones(task);
  task.hold([&](const std::string& name) { return within(name) ? !learns.contains(name) : !choice->trains("head"); });
}

std::map<std::string, Tensor> merged_weights(const Task& task) {
  std::map<std::string, Tensor> out;
  for (const auto& [name, adapter] : adapters_of(task)) {
    if (adapter->exports_merged) out.emplace(name + ".weight", adapter->merged());
  }
  return out;
}

void rest_merged_adapters(const Task& task) {
  for (const auto& [name, adapter] : adapters_of(task)) {
    if (adapter->exports_merged) adapter->rest();
  }
}

std::function<bool(const std::string&)> within_backbones(const Task& task) {
  std::vector<std::string> prefixes;
  for (const auto& [prefix, backbone] : backbones_of(task)) prefixes.push_back(prefix);
  return [prefixes](const std::string& name) {
    return std::any_of(prefixes.begin(), prefixes.end(), [&](const std::string& p) { return name.starts_with(p); });
  };
}

}  // namespace locus::engine
