// Arguments and files of the probe.
#include "engine/probe/probe.h"

#include <algorithm>
#include <iostream>
#include <optional>

#include "engine/files/safetensors.h"
#include "engine/probe/component.h"
#include "worker/trainer/arguments.h"
#include "worker/trainer/probe.h"

namespace locus {
using namespace engine;
namespace {

at::ScalarType parse_type(const std::string& name) {
  if (name == "float64") return at::kDouble;
  if (name == "float32") return at::kFloat;
  if (name == "bfloat16") return at::kBFloat16;
  throw std::invalid_argument("--dtype must be float64, float32 or bfloat16, not '" + name + "'");
}

// Which layers run: "3", counted over the network, or "2.3", the layer of a stage.
struct Place {
  std::optional<std::int64_t> stage;
  std::int64_t layer = 0;
};

Place place_of(const NamedArguments& arguments, ProbeLevel level) {
  const bool whole_stage = level == ProbeLevel::kStage;
  if (whole_stage && arguments.has("--layer"))
    throw std::invalid_argument("level stage takes --network-stage, not --layer");
  if (!whole_stage && arguments.has("--network-stage"))
    throw std::invalid_argument("--network-stage is of level stage; a layer of a stage is --layer STAGE.LAYER");
  if (whole_stage) return {arguments.integer("--network-stage", 0), 0};
  if (arguments.text("--layer", "").find('.') == std::string::npos) return {{}, arguments.integer("--layer", 0)};
  const auto [stage, layer] = arguments.pair("--layer", '.', {0, 0});
  return {stage, layer};
}

std::vector<std::int64_t> grid_of(const NamedArguments& arguments, const std::string& name) {
  const auto [rows, columns] = parse_pair(arguments.required(name), 'x', name);
  return {rows, columns};
}

ProbeRequest probe_request_of(const NamedArguments& arguments) {
  const ProbeLevel level = parse_probe_level(arguments.text("--level", "attention"));
  const Place place = place_of(arguments, level);
  ProbeRequest out{.host = {.specification = read_json_file(arguments.required("--spec")),
                            .grid = {},
                            .path = arguments.text("--path", "auto"),
                            .seed = static_cast<std::uint64_t>(arguments.integer("--seed", 0)),
                            .least_layers = std::max<std::int64_t>(place.layer + 1, 1)},
                   .level = level,
                   .layer = place.layer,
                   .stage = place.stage,
                   .type = parse_type(arguments.text("--dtype", "float64")),
                   .step = arguments.integer("--step", 0),
                   .training = arguments.has("--training")};
  if (out.step < 0) throw std::invalid_argument("--step counts the steps done: it is at least 0");
  if (arguments.has("--prefix")) out.host.prefix = arguments.integer("--prefix", 0);
  if (arguments.has("--layers")) out.host.layers = arguments.integer("--layers", 1);
  if (!arguments.has("--points")) {
    out.host.grid = grid_of(arguments, "--grid");
    if (arguments.has("--reference")) out.host.reference = grid_of(arguments, "--reference");
    return out;
  }
  for (const char* other : {"--grid", "--reference"}) {
    if (arguments.has(other))
      throw std::invalid_argument("points lie on no grid: --points leaves no room for " + std::string(other));
  }
  out.host.point_axes = arguments.integer("--points", 0);
  if (out.host.point_axes < 1) throw std::invalid_argument("--points says how many axes coordinates have: at least 1");
  return out;
}

// One transform, schedule, optimizer or loss alone, on given tensors and draws.
void run_alone(const NamedArguments& arguments) {
  for (const char* other : {"--level", "--grid", "--reference", "--points", "--prefix", "--layer", "--layers",
                            "--network-stage", "--dtype", "--path", "--seed", "--step", "--training"}) {
    if (arguments.has(other)) throw std::invalid_argument(std::string(other) + " is of priors, not of a --component");
  }
  if (arguments.has("--init")) throw std::invalid_argument("--init is of priors: a component has no parameters");
  const Component& found = component(arguments.required("--component"));
  const Json specification = arguments.has("--spec") ? read_json_file(arguments.required("--spec")) : Json::object();
  const NamedTensors given =
      arguments.has("--in") ? read_safetensors(arguments.required("--in")).tensors : NamedTensors{};
  const std::string out = arguments.required("--out");
  write_safetensors(out, {run_component(found, specification, given), {}});
}

void run(const NamedArguments& arguments) {
  if (arguments.has("--list")) {
    const Json specification = arguments.has("--spec") ? read_json_file(arguments.required("--spec")) : Json::object();
    Json listing = probe_listing(specification);
    listing["components"] = component_listing();
    std::cout << listing.dump(2) << "\n";
    return;
  }
  if (arguments.has("--component")) return run_alone(arguments);
  const ProbeRequest request = probe_request_of(arguments);
  const std::string out = arguments.required("--out");
  if (arguments.has("--init") == arguments.has("--in"))
    throw std::invalid_argument("either --in FILE or --init is needed");
  Probe probe(request);
  if (arguments.has("--init")) {
    write_safetensors(out, {probe.initial(), {}});
    return;
  }
  const NamedTensors found = probe.run(read_safetensors(arguments.required("--in")).tensors);
  write_safetensors(out, {found, {{"path", probe.path()}}});
}

}  // namespace

int run_probe(std::span<const std::string> arguments) {
  try {
    run(NamedArguments(arguments,
                       {"--spec", "--level", "--grid", "--reference", "--points", "--prefix", "--layer", "--layers",
                        "--network-stage", "--dtype", "--path", "--seed", "--step", "--in", "--out", "--component"},
                       {"--init", "--list", "--training"}));
    return 0;
  } catch (const std::exception& error) {
    return refuse_arguments("probe", error.what(), kProbeUsage);
  }
}

}  // namespace locus
