// The tree of parameters, buffers and parts that a model is.
//
// The part of LibTorch's nn::Module that the engine uses, under the same names and in the same order. Its header
// instantiates templates in every file that sees it, for longer than most files of ours take to compile.
#pragma once

#include <torch/ordered_dict.h>

#include "engine/base/torch.h"

namespace locus::engine {

// Full names are "<part>.<part>.<name>"; a module's own tensors come before those of its parts, each in the order of
// registration. Not thread-safe.
class Module {
 public:
  using Tensors = torch::OrderedDict<std::string, Tensor>;
  using Modules = torch::OrderedDict<std::string, std::shared_ptr<Module>>;

  virtual ~Module() = default;
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  std::vector<Tensor> parameters() const;
  Tensors named_parameters() const;
  std::vector<Tensor> buffers() const;
  Tensors named_buffers() const;
  Modules named_modules() const;  // parts and parts of parts, each before its own

  // Moves parameters and buffers, which stay the tensors they are. Values of floating tensors alone change type.
  void to(at::Device device);
  void to(at::ScalarType type);

  // Whether the module trains, for it and all its parts: dropout, batch statistics.
  void train(bool on = true);
  void eval() { train(false); }
  bool is_training() const { return training_; }
  void zero_grad();  // drops the gradients

  // Each returns what was registered. Throws std::logic_error on a name that is taken, empty or has a dot. A parameter
  // may be undefined: then it is left out everywhere.
  Tensor register_parameter(const std::string& name, const Tensor& tensor, bool requires_grad = true);
  Tensor register_buffer(const std::string& name, const Tensor& tensor);
  template <typename Part>
  std::shared_ptr<Part> register_module(const std::string& name, std::shared_ptr<Part> part) {
    add_part(name, part);
    return part;
  }

 private:
  void check_name(const std::string& name) const;
  void add_part(const std::string& name, std::shared_ptr<Module> part);
  // Calls `visit` with the full name of every tensor of one kind, in order.
  void each(Tensors Module::*kind, const std::string& prefix,
            const std::function<void(const std::string&, const Tensor&)>& visit) const;
  void collect(const std::string& prefix, Modules& out) const;
  void convert(std::optional<at::Device> device, std::optional<at::ScalarType> type);

  Tensors parameters_, buffers_;
  Modules parts_;
  bool training_ = true;
};

}  // namespace locus::engine
