// Decoders: on maps that are given, with parameters that are given, and their gradients.
#include "engine/decoders/decoder.h"

#include "engine/data/transform.h"
#include "engine/probe/components/components.h"
#include "engine/probe/components/given.h"

namespace locus::engine::components {
namespace {

constexpr std::string_view kMapPrefix = "map.";
constexpr const char *kMapGradient = "gradient", *kAuxiliaryGradient = "gradient.auxiliary";

// "map.0", "map.1", ... in order, those that learn or not.
std::vector<Tensor> maps_of(const NamedTensors& given, at::ScalarType type, bool learn) {
  std::vector<Tensor> out;
  for (std::size_t i = 0; given.contains(std::string(kMapPrefix) + std::to_string(i)); ++i) {
    const Tensor& map = given.at(std::string(kMapPrefix) + std::to_string(i));
    if (map.dim() != 4)
      throw std::invalid_argument("map." + std::to_string(i) + " has the shape " + c10::str(map.sizes()) +
                                  ", not [B, width, rows, columns]");
    out.push_back(map.to(type).detach().clone().set_requires_grad(learn));
  }
  if (out.empty() || out.size() != named(given, kMapPrefix).size())
    throw std::invalid_argument("maps are called map.0, map.1 and so on, without a gap");
  return out;
}

// Parameters and buffers take the values given, those not given as they start from the seed.
void fill_module(const Module& module, const NamedTensors& values) {
  const at::NoGradGuard no_gradient;
  Module::Tensors parameters = module.named_parameters(), buffers = module.named_buffers();
  for (const auto& [name, value] : values) {
    Tensor* const own = parameters.contains(name) ? &parameters[name]
                        : buffers.contains(name)  ? &buffers[name]
                                                  : nullptr;
    if (own == nullptr || own->sizes() != value.sizes()) {
      throw std::invalid_argument("the decoder has no tensor '" + name + "' of the shape " + c10::str(value.sizes()) +
                                  (own ? "; its own is " + c10::str(own->sizes()) : ""));
    }
    own->copy_(value);
  }
}

NamedTensors run_decoder(const DecoderItem& item, const ComponentSpecification& specification,
                         const NamedTensors& given) {
  const Json& json = specification.json;
  const at::ScalarType type = given.begin()->second.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const bool learn = given.contains(kMapGradient);
  std::vector<Tensor> maps = maps_of(given, type, learn);
  DecoderContext context{.widths = {},
                         .hierarchical = json.value("hierarchical", false),
                         .outputs = json.value("outputs", std::int64_t{1})};
  for (const Tensor& map : maps) context.widths.push_back(map.size(1));
  const auto decoder = item.make(context, specification.options);
  const RandomStreams random(json.value("seed", std::uint64_t{0}),
                             [&](std::string_view, std::string_view name, const Tensor& drawn) {
                               const auto set = given.find("draws." + std::string(name));
                               return set == given.end() ? drawn : set->second.to(drawn.scalar_type());
                             });
  decoder->start(Initializer(random, "decoder."));
  decoder->to(type);
  fill_module(*decoder, named(given, kParameter));
  const Extent usual{16 * maps[0].size(2), 16 * maps[0].size(3)};
  const Decoded out = decoder->forward(maps, json.value("image", usual), {0, 1, json.value("training", false), random});
  NamedTensors result = {{"map", out.map.detach()}};
  if (out.auxiliary.defined()) result["auxiliary"] = out.auxiliary.detach();
  for (const auto& buffer : decoder->named_buffers()) result["buffer." + buffer.key()] = buffer.value().clone();
  if (!learn) return result;
  Tensor value = (out.map * given.at(kMapGradient).to(type)).sum();
  if (const auto beside = given.find(kAuxiliaryGradient); beside != given.end() && out.auxiliary.defined())
    value = value + (out.auxiliary * beside->second.to(type)).sum();
  value.backward();
  for (std::size_t i = 0; i < maps.size(); ++i)
    result[std::string(kGradient) + std::string(kMapPrefix) + std::to_string(i)] = maps[i].grad();
  for (const auto& parameter : decoder->named_parameters()) {
    if (parameter.value().grad().defined()) result[std::string(kGradient) + parameter.key()] = parameter.value().grad();
  }
  return result;
}

Component component_of(const DecoderItem& item) {
  return {.item = item.item,
          .inputs = {{"map.*", "float [B, width, rows, columns]: map.0, map.1, ... that it reads, finest first"},
                     {"parameter.*", "by name: parameters and buffers; others start from the seed", true},
                     {kMapGradient, "of `map`: asks for gradients", true},
                     {kAuxiliaryGradient, "of `auxiliary`, beside that", true}},
          .draws = {{"decoder", "float [B, width]: channels below the rate are dropped, in training", true},
                    {"auxiliary", "float [B, width]: those of a second head", true}},
          .outputs = {{"map", "float [B, outputs, rows, columns]"},
                      {"auxiliary", "the same of a second head, in training"},
                      {"buffer.*", "afterwards"},
                      {"gradient.*", "by map and parameter"}},
          .run = [&item](const ComponentSpecification& specification, const NamedTensors& given) {
            return run_decoder(item, specification, given);
          }};
}

}  // namespace

std::vector<Component> decoder() {
  std::vector<Component> out;
  for (const DecoderItem& item : decoder_items()) out.push_back(component_of(item));
  return out;
}

}  // namespace locus::engine::components
