// Arguments and files of the probe.
#include "engine/probe/probe.h"

#include <iostream>

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

ProbeRequest probe_request_of(const NamedArguments& arguments) {
  const std::string grid = arguments.required("--grid");
  const auto [rows, columns] = parse_pair(grid, 'x', "--grid");
  const std::int64_t layer = arguments.integer("--layer", 0);
  return {.host = {.specification = read_json_file(arguments.required("--spec")),
                   .grid = {rows, columns},
                   .prefix = arguments.integer("--prefix", 0),
                   .layers = arguments.integer("--layers", layer + 1),
                   .path = arguments.text("--path", "auto"),
                   .seed = static_cast<std::uint64_t>(arguments.integer("--seed", 0))},
          .level = parse_probe_level(arguments.text("--level", "attention")),
          .layer = layer,
          .type = parse_type(arguments.text("--dtype", "float64"))};
}

// One transform, schedule, optimizer or loss alone, on given tensors and draws.
void run_alone(const NamedArguments& arguments) {
  for (const char* other : {"--level", "--grid", "--prefix", "--layer", "--layers", "--dtype", "--path", "--seed"}) {
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
                       {"--spec", "--level", "--grid", "--prefix", "--layer", "--layers", "--dtype", "--path", "--seed",
                        "--in", "--out", "--component"},
                       {"--init", "--list"}));
    return 0;
  } catch (const std::exception& error) {
    return refuse_arguments("probe", error.what(), kProbeUsage);
  }
}

}  // namespace locus
