// Walks over the tree; the registries keep the order.
#include "engine/layers/module.h"

namespace locus::engine {

void Module::each(Tensors Module::*kind, const std::string& prefix,
                  const std::function<void(const std::string&, const Tensor&)>& visit) const {
  for (const auto& item : this->*kind) {
    if (item.value().defined()) visit(prefix + item.key(), item.value());
  }
  for (const auto& part : parts_) part.value()->each(kind, prefix + part.key() + ".", visit);
}

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> out;
  each(&Module::parameters_, "", [&](const std::string&, const Tensor& tensor) { out.push_back(tensor); });
  return out;
}

Module::Tensors Module::named_parameters() const {
  Tensors out;
  each(&Module::parameters_, "", [&](const std::string& name, const Tensor& tensor) { out.insert(name, tensor); });
  return out;
}

std::vector<Tensor> Module::buffers() const {
  std::vector<Tensor> out;
  each(&Module::buffers_, "", [&](const std::string&, const Tensor& tensor) { out.push_back(tensor); });
  return out;
}

Module::Tensors Module::named_buffers() const {
  Tensors out;
  each(&Module::buffers_, "", [&](const std::string& name, const Tensor& tensor) { out.insert(name, tensor); });
  return out;
}

void Module::collect(const std::string& prefix, Modules& out) const {
  for (const auto& part : parts_) {
    const std::string name = prefix.empty() ? part.key() : prefix + "." + part.key();
    out.insert(name, part.value());
    part.value()->collect(name, out);
  }
}

Module::Modules Module::named_modules() const {
  Modules out;
  collect("", out);
  return out;
}

void Module::convert(std::optional<at::Device> device, std::optional<at::ScalarType> type) {
  const at::NoGradGuard no_gradient;
  const auto convert_one = [&](const std::string&, const Tensor& tensor) {
    const at::ScalarType wanted = type && tensor.is_floating_point() ? *type : tensor.scalar_type();
    tensor.set_data(tensor.to(device.value_or(tensor.device()), wanted));
  };
  each(&Module::parameters_, "", convert_one);
  each(&Module::buffers_, "", convert_one);
}

void Module::to(at::Device device) { convert(device, std::nullopt); }
void Module::to(at::ScalarType type) { convert(std::nullopt, type); }

void Module::train(bool on) {
  training_ = on;
  for (const auto& part : parts_) part.value()->train(on);
}

void Module::zero_grad() {
  for (const Tensor& parameter : parameters()) parameter.mutable_grad().reset();
}

void Module::check_name(const std::string& name) const {
  if (name.empty() || name.find('.') != std::string::npos)
    throw std::logic_error("'" + name + "' is no name of a parameter, buffer or part: none is empty or has a dot");
  if (parameters_.contains(name) || buffers_.contains(name) || parts_.contains(name))
    throw std::logic_error("the name '" + name + "' is taken in this module");
}

Tensor Module::register_parameter(const std::string& name, const Tensor& tensor, bool requires_grad) {
  check_name(name);
  if (tensor.defined()) tensor.set_requires_grad(requires_grad);
  parameters_.insert(name, tensor);
  return tensor;
}

Tensor Module::register_buffer(const std::string& name, const Tensor& tensor) {
  check_name(name);
  buffers_.insert(name, tensor);
  return tensor;
}

void Module::add_part(const std::string& name, std::shared_ptr<Module> part) {
  check_name(name);
  parts_.insert(name, std::move(part));
}

}  // namespace locus::engine
