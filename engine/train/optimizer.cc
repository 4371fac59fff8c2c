// On the CPU all parameters are updated in one pass of our own, elsewhere by ATen's fused kernels.
#include "engine/train/optimizer.h"

#include <algorithm>

#include "engine/fused/updates.h"

namespace locus::engine {
namespace {

constexpr const char* kOptimizerPrefix = "optimizer.";

std::string state_name(const std::string& state, const std::string& parameter) {
  return kOptimizerPrefix + state + "." + parameter;
}

// As one pass takes it.
fused::UpdateList list_of(std::span<const Tensor> parameters, std::span<const Tensor> gradients,
                          const std::vector<std::vector<Tensor>>& states, double rate, double weight_decay) {
  return {parameters,
          gradients,
          states.empty() ? std::span<const Tensor>() : std::span<const Tensor>(states[0]),
          states.size() < 2 ? std::span<const Tensor>() : std::span<const Tensor>(states[1]),
          rate,
          weight_decay};
}

// Of all groups, in their order; nothing where one of them cannot be updated so.
template <typename Updates>
std::vector<fused::UpdateList> lists_of(const Updates& updates) {
  std::vector<fused::UpdateList> out;
  std::vector<Tensor> all;
  for (const auto& update : updates) {
    for (const auto* tensors : {&update.parameters, &update.gradients})
      all.insert(all.end(), tensors->begin(), tensors->end());
    for (const auto& state : update.states) all.insert(all.end(), state.begin(), state.end());
    out.push_back(list_of(update.parameters, update.gradients, update.states, update.rate, update.weight_decay));
  }
  const bool there = !updates.empty() && updates.front().there.rate.defined();
  if (there || !fused::updates(all)) out.clear();
  return out;
}

}  // namespace

Optimizer::Optimizer(std::vector<ParameterGroup> groups, std::vector<std::string> states)
    : groups_(std::move(groups)), state_names_(std::move(states)) {
  for (const ParameterGroup& group : groups_) {
    for (const NamedParameter& named : group.parameters) {
      const auto [kept, fresh] = states_.try_emplace(named.name);
      if (!fresh) throw std::logic_error("the parameter '" + named.name + "' is in two groups of one optimizer");
      for (std::size_t i = 0; i < state_names_.size(); ++i)
        kept->second.push_back(at::zeros_like(named.parameter, at::MemoryFormat::Contiguous).detach());
    }
  }
  const auto first = std::find_if(groups_.begin(), groups_.end(), [](const auto& g) { return !g.parameters.empty(); });
  if (first != groups_.end() && !first->parameters.front().parameter.is_cpu()) keep_numbers_on_device();
}

void Optimizer::keep_numbers_on_device() {
  for (const ParameterGroup& group : groups_) {
    if (group.parameters.empty()) continue;
    const auto options = group.parameters.front().parameter.options().dtype(at::kFloat).requires_grad(false);
    numbers_ = at::zeros({0}, options);
    return;
  }
}

std::vector<double> Optimizer::factors(std::int64_t) const { return {}; }

void Optimizer::begin(double rate) {
  ++steps_;
  rate_ = rate;
  if (!numbers_.defined()) return;
  std::vector<double> row = factors(steps_);
  row.insert(row.begin(), static_cast<double>(steps_));
  for (const ParameterGroup& group : groups_) row.push_back(rate * group.lr_scale);
  const Tensor values = at::tensor(row, at::kFloat);
  // Whoever recorded an update reads them where they lie.
  if (numbers_.numel() != values.numel()) numbers_ = at::empty_like(values, numbers_.options());
  numbers_.copy_(values, /*non_blocking=*/true);
}

void Optimizer::finish() {
  at::NoGradGuard no_gradient;
  std::vector<Update> updates;
  const std::vector<double> of_step = factors(steps_);
  const std::vector<Tensor> there = numbers_.defined() ? numbers_.unbind() : std::vector<Tensor>();
  const auto rates = there.end() - static_cast<std::ptrdiff_t>(there.empty() ? 0 : groups_.size());
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const ParameterGroup& group = groups_[g];
    Update update{{}, {}, {}, rate_ * group.lr_scale, group.weight_decay, steps_, of_step, {}};
    if (!there.empty())
      update.there = {rates[static_cast<std::ptrdiff_t>(g)], there.front(), {there.begin() + 1, rates}};
    update.states.resize(state_names_.size());
    for (const NamedParameter& named : group.parameters) {
      const Tensor& gradient = named.parameter.grad();
      if (!gradient.defined()) continue;
      update.parameters.push_back(named.parameter);
      update.gradients.push_back(gradient.contiguous());
      const std::vector<Tensor>& states = states_.at(named.name);
      for (std::size_t i = 0; i < states.size(); ++i) update.states[i].push_back(states[i]);
    }
    if (!update.parameters.empty()) updates.push_back(std::move(update));
  }
  prepare(updates);
  apply_all(updates);
  for (Update& update : updates) {
    // Fused kernels do not tell that they wrote; whoever keeps values derived from parameters relies on it.
    for (const Tensor& parameter : update.parameters) {
      parameter.unsafeGetTensorImpl()->bump_version();
      parameter.mutable_grad().reset();
    }
  }
}

void Optimizer::written() const {
  for (const ParameterGroup& group : groups_) {
    for (const NamedParameter& named : group.parameters) named.parameter.unsafeGetTensorImpl()->bump_version();
  }
}

void Optimizer::skip() {
  for (const ParameterGroup& group : groups_) {
    for (const NamedParameter& named : group.parameters) named.parameter.mutable_grad().reset();
  }
}

std::vector<Tensor> Optimizer::states() const {
  std::vector<Tensor> out;
  for (const auto& [name, states] : states_) out.insert(out.end(), states.begin(), states.end());
  return out;
}

void Optimizer::prepare(std::vector<Update>&) {}

void Optimizer::apply_all(std::vector<Update>& updates) {
  for (Update& update : updates) apply(update);
}

void Optimizer::save(std::map<std::string, Tensor>& tensors) const {
  for (const auto& [name, states] : states_) {
    for (std::size_t i = 0; i < states.size(); ++i) tensors[state_name(state_names_[i], name)] = states[i];
  }
}

void Optimizer::load(std::map<std::string, Tensor>& tensors, std::int64_t steps) {
  for (const auto& [name, states] : states_) {
    for (std::size_t i = 0; i < states.size(); ++i) take_tensor(tensors, state_name(state_names_[i], name), states[i]);
  }
  steps_ = steps;
}

AdamW::AdamW(std::vector<ParameterGroup> groups, Settings settings)
    : Optimizer(std::move(groups), {"exp_avg", "exp_avg_sq"}), settings_(settings) {}

void AdamW::apply_all(std::vector<Update>& updates) {
  const std::vector<fused::UpdateList> lists = lists_of(updates);
  if (lists.empty()) return Optimizer::apply_all(updates);
  fused::adamw(lists, {settings_.beta1, settings_.beta2, settings_.epsilon, updates.front().step});
}

void AdamW::apply(Update& update) {
  const auto with = [&](const Tensor& count, const auto& rate) {
    const std::vector<Tensor> counts(update.parameters.size(), count);
    at::_fused_adamw_(update.parameters, update.gradients, update.states[0], update.states[1], /*max_exp_avg_sqs=*/{},
                      counts, rate, settings_.beta1, settings_.beta2, update.weight_decay, settings_.epsilon,
                      /*amsgrad=*/false, /*maximize=*/false);
  };
  if (update.there.rate.defined()) return with(update.there.step, update.there.rate);
  with(at::full({}, static_cast<double>(update.step), update.parameters.front().options().dtype(at::kFloat)),
       update.rate);
}

Sgd::Sgd(std::vector<ParameterGroup> groups, Settings settings)
    : Optimizer(std::move(groups),
                settings.momentum > 0 ? std::vector<std::string>{"momentum"} : std::vector<std::string>{}),
      settings_(settings) {}

void Sgd::apply_all(std::vector<Update>& updates) {
  const std::vector<fused::UpdateList> lists = lists_of(updates);
  if (lists.empty()) return Optimizer::apply_all(updates);
  fused::sgd(lists, settings_.momentum, settings_.nesterov);
}

void Sgd::apply(Update& update) {
  // Buffers start as zeros, which makes the first step like any other.
  const auto at_rate = [&](const auto& rate) {
    at::_fused_sgd_(update.parameters, update.gradients,
                    settings_.momentum > 0 ? at::TensorList(update.states[0]) : at::TensorList(), update.weight_decay,
                    settings_.momentum, rate, /*dampening=*/0.0, settings_.nesterov, /*maximize=*/false,
                    /*is_first_step=*/false);
  };
  update.there.rate.defined() ? at_rate(update.there.rate) : at_rate(update.rate);
}

}  // namespace locus::engine
