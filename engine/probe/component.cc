// The table of components, and what is common to running one.
#include "engine/probe/component.h"

#include "engine/probe/components/components.h"

namespace locus::engine {
namespace {

constexpr std::string_view kDrawsPrefix = "draws.";

bool stands_for(const ComponentTensor& tensor, std::string_view name) {
  if (!tensor.name.ends_with('*')) return tensor.name == name;
  return name.starts_with(std::string_view(tensor.name).substr(0, tensor.name.size() - 1));
}

Json listed(const std::vector<ComponentTensor>& tensors) {
  Json out = Json::array();
  for (const ComponentTensor& tensor : tensors)
    out.push_back({{"name", tensor.name}, {"help", tensor.help}, {"optional", tensor.optional}});
  return out;
}

std::string names_of(const std::vector<ComponentTensor>& tensors) {
  std::string out;
  for (const ComponentTensor& tensor : tensors) out += (out.empty() ? "" : ", ") + tensor.name;
  return out.empty() ? "none" : out;
}

double number_at(const Tensor& given, std::string_view name, std::uint32_t attempt) {
  const Tensor flat = given.to(at::kDouble).flatten();
  if (attempt >= flat.numel()) {
    throw std::invalid_argument("draws." + std::string(name) + " has " + std::to_string(flat.numel()) +
                                " numbers, and attempt " + std::to_string(attempt + 1) + " asks for one more");
  }
  return flat[attempt].item<double>();
}

}  // namespace

std::string Component::name() const {
  return item.json().at("kind").get<std::string>() + ":" + item.json().at("id").get<std::string>();
}

const std::vector<Component>& all_components() {
  static const std::vector<Component> all = [] {
    std::vector<Component> out;
#define LOCUS_COMPONENTS(name) \
  for (Component & one : components::name()) out.push_back(std::move(one));
#include "engine/probe/components.def"
#undef LOCUS_COMPONENTS
    return out;
  }();
  return all;
}

const Component& component(std::string_view name) {
  std::vector<std::string> known;
  for (const Component& one : all_components()) {
    known.push_back(one.name());
    if (known.back() == name) return one;
  }
  const auto nearest = nearest_name(name, known);
  throw std::invalid_argument("there is no component '" + std::string(name) + "'" +
                              (nearest ? "; did you mean '" + *nearest + "'?" : "; --list names all of them"));
}

NamedTensors run_component(const Component& component, const Json& specification, const NamedTensors& given) {
  for (const auto& [name, tensor] : given) {
    const bool draw = name.starts_with(kDrawsPrefix);
    const auto& table = draw ? component.draws : component.inputs;
    const std::string plain = draw ? name.substr(kDrawsPrefix.size()) : name;
    if (std::none_of(table.begin(), table.end(), [&](const ComponentTensor& t) { return stands_for(t, plain); })) {
      throw std::invalid_argument(component.name() + " reads no tensor '" + name +
                                  "'; inputs: " + names_of(component.inputs) + "; draws: " + names_of(component.draws));
    }
  }
  for (const ComponentTensor& input : component.inputs) {
    if (!input.optional &&
        std::none_of(given.begin(), given.end(), [&](const auto& entry) { return stands_for(input, entry.first); })) {
      throw std::invalid_argument(component.name() + " needs the tensor '" + input.name + "': " + input.help);
    }
  }
  const Options options(component.item.json(), specification.value("options", Json::object()));
  return component.run({options, specification}, given);
}

Json component_listing() {
  Json out = Json::array();
  for (const Component& one : all_components()) {
    Json entry = one.item.json();
    entry["inputs"] = listed(one.inputs);
    entry["draws"] = listed(one.draws);
    entry["outputs"] = listed(one.outputs);
    out.push_back(std::move(entry));
  }
  return out;
}

GivenDraws::GivenDraws(const Json& specification, const NamedTensors& given)
    : given_(given),
      random_(specification.value("seed", std::uint64_t{0})),
      streams_(random_, specification.value("epoch", std::int64_t{0}), specification.value("row", std::int64_t{0})) {}

const Tensor* GivenDraws::find(std::string_view name) const {
  const auto found = given_.find(std::string(kDrawsPrefix) + std::string(name));
  return found == given_.end() ? nullptr : &found->second;
}

double GivenDraws::unit(std::string_view name, std::uint32_t attempt) const {
  const Tensor* given = find(name);
  return given ? number_at(*given, name, attempt) : streams_.unit(name, attempt);
}

double GivenDraws::normal(std::string_view name, std::uint32_t attempt) const {
  const Tensor* given = find(name);
  return given ? number_at(*given, name, attempt) : streams_.normal(name, attempt);
}

std::vector<double> GivenDraws::units(std::string_view name, std::size_t count) const {
  const Tensor* given = find(name);
  if (given == nullptr) return streams_.units(name, count);
  std::vector<double> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = number_at(*given, name, static_cast<std::uint32_t>(i));
  return out;
}

Tensor GivenDraws::normals(std::string_view name, at::IntArrayRef shape, std::int64_t first) const {
  const Tensor* given = find(name);
  if (given == nullptr) return streams_.normals(name, shape, first);
  const std::int64_t count = c10::multiply_integers(shape);
  if (first + count > given->numel()) {
    throw std::invalid_argument("draws." + std::string(name) + " has the shape " + c10::str(given->sizes()) +
                                ", and number " + std::to_string(first + count) + " is asked for");
  }
  return given->flatten().slice(0, first, first + count).to(at::kFloat).view(shape);
}

}  // namespace locus::engine
