// Adapters: one adapted linear layer with given weights: its result, its gradients and what it merges to.
#include "engine/adapters/adapter.h"

#include "engine/probe/components/components.h"

namespace locus::engine::components {
namespace {

const std::vector<ComponentTensor> kInputs = {
    {"x", "float [..., in]: what the layer is given"},
    {"weight", "float [out, in]: the frozen weight, whose type all others have"},
    {"bias", "float [out]; absent: none", /*optional=*/true},
    {"lora_a", "float [r, in]; with split_qkv [3 r, in], the three below each other"},
    {"lora_b", "float [out, r]"},
    {"magnitude", "float [out], with norm columns [1, in] or [3, in]; absent: the lengths of the weight", true},
    {"gradient", "float [..., out]: of some loss in y; absent: no gradients are computed", true}};

void check_shape(const std::string& name, const Tensor& given, at::IntArrayRef needed) {
  if (given.sizes() == needed) return;
  throw std::invalid_argument("the tensor '" + name + "' is " + c10::str(given.sizes()) + " where " + c10::str(needed) +
                              " is needed");
}

void fill(const Tensor& parameter, const std::string& name, const Tensor& given) {
  check_shape(name, given, parameter.sizes());
  const at::NoGradGuard no_gradient;
  parameter.copy_(given);
}

std::shared_ptr<Adapter> built(const AdapterItem& item, const Options& options, const NamedTensors& given) {
  const Tensor& weight = given.at("weight");
  if (weight.dim() != 2) throw std::invalid_argument("the tensor 'weight' must have two axes, [out, in]");
  const std::int64_t parts = options.boolean("split_qkv") ? 3 : 1;
  if (weight.size(0) % parts != 0)
    throw std::invalid_argument("split_qkv needs a weight whose rows are three maps, not " +
                                std::to_string(weight.size(0)) + " rows");
  auto layer = item.make({"layer", weight.size(1), weight.size(0), given.contains("bias"), parts}, options);
  layer->to(weight.scalar_type());
  auto parameters = layer->named_parameters();
  fill(parameters["weight"], "weight", weight);
  if (given.contains("magnitude") && !parameters.contains("magnitude"))
    throw std::invalid_argument("adapter:" + item.id() + " has no magnitude; leave the tensor out");
  layer->rest();
  for (auto& parameter : parameters) {
    if (const auto found = given.find(parameter.key()); found != given.end())
      fill(parameter.value(), parameter.key(), found->second);
  }
  return layer;
}

NamedTensors run(const AdapterItem& item, const ComponentSpecification& specification, const NamedTensors& given) {
  const auto layer = built(item, specification.options, given);
  const bool gradients = given.contains("gradient");
  const Tensor x = given.at("x").to(layer->weight.scalar_type()).detach().clone().requires_grad_(gradients);
  if (const auto draws = given.find("draws.dropout"); draws != given.end()) {
    check_shape("draws.dropout", draws->second, x.sizes());
    layer->drop_by(draws->second);
  }
  const RandomStreams random(specification.json.value("seed", std::uint64_t{0}));
  if (!given.contains("draws.dropout"))
    layer->begin_forward(specification.json.value("step", std::int64_t{0}), /*training=*/true, random);
  const Tensor y = layer->forward(x);
  NamedTensors out = {{"y", y.detach()}, {"merged", layer->merged()}};
  if (!gradients) return out;
  check_shape("gradient", given.at("gradient"), y.sizes());
  y.backward(given.at("gradient").to(y.scalar_type()));
  out["gradient.x"] = x.grad();
  for (const auto& parameter : layer->named_parameters()) {
    if (parameter.value().grad().defined()) out["gradient." + parameter.key()] = parameter.value().grad();
  }
  return out;
}

Component component_of(const AdapterItem& item) {
  return {
      .item = item.item,
      .inputs = kInputs,
      .draws = {{"dropout", "float of x's shape, uniform in [0, 1); absent: of seed and step, named 'layer'", true}},
      .outputs = {{"y", "float [..., out]: the layer's result"},
                  {"merged", "float [out, in]: the weight that does the same"},
                  {"gradient.*", "by x, weight, bias, lora_a, lora_b and a magnitude that learns"}},
      .run = [&item](const ComponentSpecification& specification, const NamedTensors& given) {
        return run(item, specification, given);
      }};
}

}  // namespace

std::vector<Component> adapter() {
  std::vector<Component> out;
  for (const AdapterItem& item : adapter_items()) {
    if (item.make != nullptr) out.push_back(component_of(item));
  }
  return out;
}

}  // namespace locus::engine::components
