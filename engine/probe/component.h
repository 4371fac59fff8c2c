// What can be run alone on given tensors, to be compared with published code: transforms, schedules, optimizers, losses.
#pragma once

#include <functional>

#include "engine/base/item.h"
#include "engine/base/registry.h"
#include "engine/data/transform.h"
#include "engine/files/safetensors.h"

namespace locus::engine {

using NamedTensors = std::map<std::string, Tensor>;

// A tensor that a component reads or writes.
struct ComponentTensor {
  std::string name;  // of draws without their "draws."; "NAME.*" stands for several
  std::string help;  // shape, type and meaning: "uint8 [C, H, W]: the image"
  bool optional = false;
};

// What a run is given besides tensors: {"options": {...}} of the component and, where it draws, "seed", "epoch" and "row" of
// those draws that are not given as tensors.
struct ComponentSpecification {
  Options options;
  Json json;
};

// Inputs, draws and outputs of one component.
struct Component {
  Item item;  // kind ("optimizer") and id ("lamb"), together unique; summary, options
  std::vector<ComponentTensor> inputs, draws, outputs;
  // Throws std::invalid_argument on options or tensors that do not fit, naming them. Thread-compatible.
  std::function<NamedTensors(const ComponentSpecification& specification, const NamedTensors& given)> run;
  std::string name() const;  // "optimizer:lamb"
};

// Every component, in the order of components.def. Made once; not thread-safe the first time.
const std::vector<Component>& all_components();
// By "KIND:ID". Throws std::invalid_argument that names the nearest.
const Component& component(std::string_view name);
// Runs it. Throws std::invalid_argument on an option or a tensor that is missing or not known, besides what it throws.
NamedTensors run_component(const Component& component, const Json& specification, const NamedTensors& given);
// What there is: for each its catalog entry with inputs, draws and outputs.
Json component_listing();

// The draws of a specification: a number given as "draws.NAME" (float64; [n] for attempts 0..n-1, [n] for a random order of n, or
// of the shape of the tensor that normals() asks for a part of), else the stream of (seed, epoch, row). Thread-compatible.
class GivenDraws final : public SampleDraws {
 public:
  GivenDraws(const Json& specification, const NamedTensors& given);
  double unit(std::string_view name, std::uint32_t attempt) const override;
  std::vector<double> units(std::string_view name, std::size_t count) const override;
  double normal(std::string_view name, std::uint32_t attempt) const override;
  Tensor normals(std::string_view name, at::IntArrayRef shape, std::int64_t first = 0) const override;

 private:
  const Tensor* find(std::string_view name) const;

  const NamedTensors& given_;
  RandomStreams random_;
  StreamDraws streams_;
};

}  // namespace locus::engine
