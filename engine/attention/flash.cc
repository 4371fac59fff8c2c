// Blocked attention as one differentiable function.
#include "engine/attention/flash.h"

#include <torch/csrc/autograd/custom_function.h>

#include <ATen/Parallel.h>

#include "engine/attention/flash_plan.h"
#include "engine/base/whole_rows.h"

namespace locus::engine {
namespace {

cpu::Element element_of(at::ScalarType type) {
  if (type == at::kDouble) return cpu::Element::kFloat64;
  return type == at::kFloat ? cpu::Element::kFloat32 : cpu::Element::kBFloat16;
}

cpu::Rows rows_of(const Tensor& t) {
  return {t.data_ptr(), element_of(t.scalar_type()), t.stride(0), t.stride(1), t.stride(2)};
}

// [B, H, T, d] with the heads of a token side by side.
Tensor by_token(at::IntArrayRef sizes, const at::TensorOptions& options) {
  const std::int64_t heads = sizes[1], tokens = sizes[2], width = sizes[3];
  return at::empty_strided(sizes, {tokens * heads * width, width, heads * width, 1}, options);
}

// A problem with what its pointers point to.
class Problem {
 public:
  Problem(at::TensorList inputs, const FlashPlan& plan) : inputs_(inputs), plan_(plan), terms_(plan.terms) {
    problem_.batch = inputs[0].size(0), problem_.heads = inputs[0].size(1);
    problem_.tokens = inputs[0].size(2), problem_.width = inputs[0].size(3);
    problem_.scale = plan.scale, problem_.hidden = plan.hidden;
    problem_.q = rows_of(inputs[0]), problem_.k = rows_of(inputs[1]), problem_.v = rows_of(inputs[2]);
    tables_ = plan.tables;
    each([&](cpu::Parameter& p, const PlannedParameter& planned) {
      const Tensor& t = inputs_[static_cast<std::size_t>(planned.input)];
      p.data = t.const_data_ptr();
      p.by_sample = t.size(0) > 1;
      p.batch = t.size(0) > 1 ? t.stride(0) : 0;
      p.head = t.size(1) > 1 ? t.stride(1) : 0;
    });
    problem_.terms = terms_.data(), problem_.term_count = static_cast<int>(terms_.size());
    problem_.tables = tables_.data(), problem_.table_count = static_cast<int>(tables_.size());
    if (plan.region.defined()) {
      problem_.region = plan.region.const_data_ptr<std::int8_t>();
      problem_.windows = plan.region.size(0);
    }
  }

  cpu::Problem& get() { return problem_; }

  void divide(const std::function<bool(std::int64_t input)>& wanted) {
    bool dense = false;
    for (std::size_t n = 0; n < terms_.size(); ++n) {
      const cpu::Parameter& values = terms_[n].parameter[0];
      dense =
          dense || (terms_[n].kind == cpu::Kind::kDense && !values.by_sample && wanted(plan_.parameters[n][0].input));
    }
    divide_work(problem_, dense);
  }

  // Room for the gradients of the parameters that are wanted, by input.
  void add_gradients(const std::function<bool(std::int64_t input)>& wanted) {
    parts_.resize(inputs_.size());
    each([&](cpu::Parameter& p, const PlannedParameter& planned) {
      if (!wanted(planned.input)) return;
      const Tensor& t = inputs_[static_cast<std::size_t>(planned.input)];
      const std::int64_t count = t[0][0].numel(), outer = p.by_sample ? problem_.batch : problem_.groups;
      const std::int64_t ranges = planned.rows_alone ? 1 : problem_.ranges;
      Tensor& parts = parts_[static_cast<std::size_t>(planned.input)];
      parts = at::zeros({ranges, outer, problem_.heads, count}, t.options());
      p.gradient = parts.mutable_data_ptr();
      p.gradient_range = ranges > 1 ? parts.stride(0) : 0;
      p.gradient_outer = parts.stride(1), p.gradient_head = parts.stride(2);
    });
  }
  Tensor gradient(std::size_t input) const {
    const Tensor& t = inputs_[input];
    return sum_parts(parts_[input], t.size(0) > 1, t.size(1) > 1).view(t.sizes());
  }
  bool has_gradient(std::size_t input) const { return parts_[input].defined(); }

  // Every unit, by whatever threads there are.
  void run(std::size_t (*bytes)(const cpu::Problem&), void (*unit)(const cpu::Problem&, std::int64_t, void*)) const {
    const auto size = static_cast<std::int64_t>(bytes(problem_));
    at::parallel_for(0, problem_.units(), 1, [&](std::int64_t begin, std::int64_t end) {
      const Tensor room = at::empty({size}, at::kByte);
      for (std::int64_t n = begin; n < end; ++n) unit(problem_, n, room.data_ptr());
    });
  }

 private:
  template <typename Visit>
  void each(Visit visit) {
    for (std::size_t n = 0; n < terms_.size(); ++n) {
      for (std::size_t k = 0; k <= cpu::kParametersMost; ++k) {
        const PlannedParameter& planned = plan_.parameters[n][k];
        if (planned.input >= 0) visit(k < cpu::kParametersMost ? terms_[n].parameter[k] : terms_[n].share, planned);
      }
    }
    for (std::size_t n = 0; n < tables_.size(); ++n) visit(tables_[n].table, plan_.table_parameters[n]);
  }

  at::TensorList inputs_;
  const FlashPlan& plan_;
  std::vector<cpu::Term> terms_;
  std::vector<cpu::Table> tables_;
  std::vector<Tensor> parts_;
  cpu::Problem problem_;
};

struct Attended {
  Tensor out, kept;
};

Attended attend(at::TensorList inputs, const FlashPlan& plan) {
  const Tensor &q = inputs[0], &v = inputs[2];
  Problem problem(inputs, plan);
  problem.divide([](std::int64_t) { return false; });
  Attended result{by_token(v.sizes(), v.options()),
                  at::empty({q.size(0), q.size(1), q.size(2), 2}, q.options().dtype(plan.type))};
  problem.get().out = rows_of(result.out);
  problem.get().kept = result.kept.mutable_data_ptr();
  problem.run(plan.kernels->forward_bytes, plan.kernels->forward);
  return result;
}

class CpuFlashFunction : public torch::autograd::Function<CpuFlashFunction> {
 public:
  struct Held : torch::CustomClassHolder {
    explicit Held(FlashPlan held) : plan(std::move(held)) {}
    FlashPlan plan;
  };

  static Tensor forward(torch::autograd::AutogradContext* context, at::TensorList inputs,
                        const c10::intrusive_ptr<Held>& held) {
    auto [out, kept] = attend(inputs, held->plan);
    std::vector<Tensor> saved = inputs.vec();
    saved.push_back(kept);
    context->save_for_backward(std::move(saved));
    context->saved_data["plan"] = c10::IValue::make_capsule(held);
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    std::vector<Tensor> inputs = context->get_saved_variables();
    const Tensor kept = inputs.back();
    inputs.pop_back();
    const auto held = c10::static_intrusive_pointer_cast<Held>(context->saved_data["plan"].toCapsule());
    const auto wanted = [&](std::int64_t input) {
      return input >= 0 && context->needs_input_grad(static_cast<std::size_t>(input));
    };
    Problem problem(inputs, held->plan);
    problem.divide(wanted);
    problem.add_gradients(wanted);
    cpu::Problem& p = problem.get();
    const Tensor d_out = with_whole_rows(grads[0]);
    p.d_out = rows_of(d_out);
    p.kept = kept.data_ptr();

    torch::autograd::variable_list out(inputs.size() + 1);
    for (std::size_t n = 0; n < 3; ++n) out[n] = by_token(inputs[n].sizes(), inputs[n].options());
    Tensor parts[2];  // of k and v, by ranges of queries
    for (std::size_t n = 0; n < 2 && p.ranges > 1; ++n) {
      parts[n] = at::empty({p.ranges, p.batch, p.heads, p.tokens * p.width}, kept.options());
      p.d_range = parts[n].stride(0);
    }
    const auto by_range = [&](const Tensor& t) {
      return cpu::Rows{t.data_ptr(), element_of(t.scalar_type()), t.stride(1), t.stride(2), p.width};
    };
    p.d_q = rows_of(out[0]);
    p.d_k = p.ranges > 1 ? by_range(parts[0]) : rows_of(out[1]);
    p.d_v = p.ranges > 1 ? by_range(parts[1]) : rows_of(out[2]);
    problem.run(held->plan.kernels->backward_bytes, held->plan.kernels->backward);
    for (std::size_t n = 0; n < 2 && p.ranges > 1; ++n)
      out[n + 1].copy_(sum_parts(parts[n], true, true).view(inputs[n + 1].sizes()));
    for (std::size_t n = 3; n < inputs.size(); ++n) {
      if (problem.has_gradient(n)) out[n] = problem.gradient(n);
    }
    return out;
  }
};

bool fits(const Tensor& t) {
  const at::ScalarType type = t.scalar_type();
  return t.is_cpu() && (type == at::kFloat || type == at::kDouble || type == at::kBFloat16 || type == at::kHalf);
}

bool is_half(const Tensor& t) { return t.scalar_type() == at::kHalf; }

std::size_t terms_of(const Scores& s) {
  std::size_t count = s.scales.size() + s.sum_scales.size() + s.probability_terms.size();
  for (const BiasTerm* bias : s.biases) {
    const auto* bucketed = std::get_if<Bucketed>(&bias->form());
    count += bucketed != nullptr ? bucketed->lookups.size() : 1;
  }
  return count;
}

}  // namespace

bool flash_supports(const Scores& s) {
  return fits(s.q) && fits(s.k) && fits(s.v) && !s.hooked() && s.q.sizes() == s.v.sizes() &&
         terms_of(s) <= cpu::kTermsMost && s.value_tables.size() <= cpu::kTablesMost;
}

Tensor run_flash(const Scores& scores) {
  if (is_half(scores.q) || is_half(scores.k) || is_half(scores.v)) {  // of which processors have no products: widened
    const Tensor q = scores.q.to(at::kFloat), k = scores.k.to(at::kFloat), v = scores.v.to(at::kFloat);
    const Scores wide{.q = q,
                      .k = k,
                      .v = v,
                      .scale = scores.scale,
                      .scales = scores.scales,
                      .biases = scores.biases,
                      .sum_scales = scores.sum_scales,
                      .probabilities = {},  // nobody sees P here
                      .from_probabilities = {},
                      .region = scores.region,
                      .hidden = scores.hidden,
                      .probability_terms = scores.probability_terms,
                      .value_tables = scores.value_tables};
    return run_flash(wide).to(scores.v.scalar_type());
  }
  return run_flash_on(cpu::attention_kernels(flash_type(scores) == at::kDouble), scores);
}

Tensor run_flash_on(const cpu::AttentionKernels& kernels, const Scores& scores) {
  FlashCall call = plan_flash(scores);
  call.plan.kernels = &kernels;
  bool gradients = false;
  for (const Tensor& input : call.inputs) gradients = gradients || input.requires_grad();
  if (!gradients || !at::GradMode::is_enabled()) return attend(call.inputs, call.plan).out;
  return CpuFlashFunction::apply(at::TensorList(call.inputs),
                                 c10::make_intrusive<CpuFlashFunction::Held>(std::move(call.plan)));
}

}  // namespace locus::engine
