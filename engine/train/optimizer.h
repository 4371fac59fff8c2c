// What turns gradients into new weights, and the parameters it works on.
#pragma once

#include "engine/files/safetensors.h"

namespace locus::engine {

struct NamedParameter {
  std::string name;  // full, as in checkpoints
  Tensor parameter;
};

// Parameters that are treated alike. Hooks may change the numbers between steps.
struct ParameterGroup {
  std::vector<NamedParameter> parameters;
  double weight_decay = 0;
  double lr_scale = 1;  // of the rate each step is given
};

// State is kept per parameter, on its device. Not thread-safe.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Applies the gradients, each group at `rate` times its lr_scale, and drops them; a parameter without one stays as
  // it is. No host synchronization.
  void step(double rate) {
    begin(rate);
    finish();
  }
  // step() in two. The first counts it and puts down its numbers, the second applies the gradients. Where numbers lie on the
  // device (keep_numbers_on_device) the second only reads them there: what a device has recorded of it may follow another
  // begin(), and then written() must.
  void begin(double rate);
  void finish();
  // Says that the parameters have changed, to whoever keeps values derived from them.
  void written() const;
  // As on all devices but the CPU, where it is the default.
  void keep_numbers_on_device();
  // Drops the gradients and changes nothing else: a step that was not made.
  void skip();
  std::int64_t steps() const { return steps_; }  // applied so far
  std::vector<ParameterGroup>& groups() { return groups_; }
  const std::vector<ParameterGroup>& groups() const { return groups_; }
  std::vector<Tensor> states() const;  // of all parameters: the tensors themselves

  // The state as "optimizer.<state>.<parameter>"; the step count apart.
  void save(std::map<std::string, Tensor>& tensors) const;
  // Throws DataError on a missing tensor or one of another shape or type. Takes what it uses out of `tensors`.
  void load(std::map<std::string, Tensor>& tensors, std::int64_t steps);

 protected:
  // `states` names what is kept of every parameter, as zeros of its shape at first. A parameter must be in one group
  // at most.
  Optimizer(std::vector<ParameterGroup> groups, std::vector<std::string> states);

  // Float32 scalars on the device.
  struct Numbers {
    Tensor rate, step;
    std::vector<Tensor> factors;
  };
  // One group's parameters that have a gradient, at one step.
  struct Update {
    std::vector<Tensor> parameters, gradients;  // gradients are contiguous
    std::vector<std::vector<Tensor>> states;    // as named at construction, each beside `parameters`
    double rate, weight_decay;
    std::int64_t step;            // this one, from 1
    std::vector<double> factors;  // of the step
    Numbers there;  // the same on the device, to be read in place of these; undefined where they are not there
  };
  // What apply() needs that depends on the step's number alone. Nothing by default.
  virtual std::vector<double> factors(std::int64_t step) const;
  // Sees all groups of a step together, before apply() sees each. May change the gradients in place.
  virtual void prepare(std::vector<Update>& updates);
  // Writes parameters and states in place, without recording gradients. The caller raises the versions of both.
  virtual void apply(Update& update) = 0;
  // The same of all groups of a step at once, where an optimizer can; by default one after another.
  virtual void apply_all(std::vector<Update>& updates);

 private:
  std::vector<ParameterGroup> groups_;
  std::vector<std::string> state_names_;
  std::map<std::string, std::vector<Tensor>> states_;  // by parameter, in the order of state_names_
  std::int64_t steps_ = 0;
  double rate_ = 0;  // of the step begun last
  Tensor numbers_;   // on the device: the step, its factors, each group's rate; undefined: they are not kept there
};

// AdamW (Loshchilov and Hutter 2019, Algorithm 2): decoupled weight decay. States "exp_avg" and "exp_avg_sq".
class AdamW final : public Optimizer {
 public:
  struct Settings {
    double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  };
  AdamW(std::vector<ParameterGroup> groups, Settings settings);

 private:
  void apply(Update& update) override;
  void apply_all(std::vector<Update>& updates) override;
  Settings settings_;
};

// Stochastic gradient descent with momentum (Sutskever et al. 2013, in the form of PyTorch): g += decay p;
// b = momentum b + g; p -= rate b, or with Nesterov's momentum p -= rate (g + momentum b). State "momentum", none
// without momentum.
class Sgd final : public Optimizer {
 public:
  struct Settings {
    double momentum = 0.9;
    bool nesterov = false;
  };
  Sgd(std::vector<ParameterGroup> groups, Settings settings);

 private:
  void apply(Update& update) override;
  void apply_all(std::vector<Update>& updates) override;
  Settings settings_;
};

}  // namespace locus::engine
