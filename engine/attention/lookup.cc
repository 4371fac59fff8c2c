// Lookups on the CPU: one pass over the logits, and one over their gradient.
#include "engine/attention/lookup.h"

#include <torch/csrc/autograd/custom_function.h>

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

namespace locus::engine {
namespace {

// Sizes and strides of one lookup: entry (b, h, i, j) reads row i (or j, by key) of values.
struct Walk {
  Walk(const at::IntArrayRef& logits, const at::IntArrayRef& values, bool key)
      : batch(logits[0]), heads(logits[1]), tokens(logits[2]), rows(values[3]), by_key(key) {
    const std::int64_t per_head = values[2] * rows;
    token_stride = values[2] == 1 ? 0 : rows;
    head_stride = per_head;
    batch_stride = values[0] == 1 ? 0 : heads * per_head;
  }

  // Calls entry(logits offset, values offset) for every pair of one head, samples in order.
  template <typename Entry>
  void head(std::int64_t h, const std::int64_t* index, Entry entry) const {
    for (std::int64_t b = 0; b < batch; ++b) {
      const std::int64_t at_values = b * batch_stride + h * head_stride;
      std::int64_t at_logits = (b * heads + h) * tokens * tokens;
      for (std::int64_t i = 0; i < tokens; ++i) {
        for (std::int64_t j = 0; j < tokens; ++j, ++at_logits) {
          const std::int64_t row = by_key ? j : i, bucket = by_key ? index[j * tokens + i] : index[i * tokens + j];
          entry(at_logits, at_values + row * token_stride + bucket);
        }
      }
    }
  }

  std::int64_t batch, heads, tokens, rows, token_stride = 0, head_stride = 0, batch_stride = 0;
  bool by_key;
};

// Every head is one task, so that sums over the batch run in one order.
class AddLookup : public torch::autograd::Function<AddLookup> {
 public:
  // values [B|1, H, T|1, R]
  static Tensor forward(torch::autograd::AutogradContext* context, Tensor logits, const Tensor& values,
                        const Tensor& index, bool by_key) {
    const Tensor table = values.contiguous(), at = index.contiguous();
    context->saved_data["index"] = at;
    context->saved_data["by_key"] = by_key;
    context->saved_data["sizes"] = table.sizes().vec();
    context->mark_dirty({logits});
    const Walk walk(logits.sizes(), table.sizes(), by_key);
    AT_DISPATCH_FLOATING_TYPES(logits.scalar_type(), "add_lookup", [&] {
      scalar_t* out = logits.mutable_data_ptr<scalar_t>();
      const scalar_t* in = table.const_data_ptr<scalar_t>();
      const auto* buckets = at.const_data_ptr<std::int64_t>();
      at::parallel_for(0, walk.heads, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t h = begin; h < end; ++h)
          walk.head(h, buckets, [&](std::int64_t l, std::int64_t v) { out[l] += in[v]; });
      });
    });
    return logits;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    const Tensor grad = grads[0].contiguous(), at = context->saved_data["index"].toTensor();
    const std::vector<std::int64_t> sizes = context->saved_data["sizes"].toIntVector();
    Tensor table = at::zeros(sizes, grad.options());
    const Walk walk(grad.sizes(), sizes, context->saved_data["by_key"].toBool());
    AT_DISPATCH_FLOATING_TYPES(grad.scalar_type(), "add_lookup_backward", [&] {
      const scalar_t* in = grad.const_data_ptr<scalar_t>();
      scalar_t* out = table.mutable_data_ptr<scalar_t>();
      const auto* buckets = at.const_data_ptr<std::int64_t>();
      at::parallel_for(0, walk.heads, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t h = begin; h < end; ++h)
          walk.head(h, buckets, [&](std::int64_t l, std::int64_t v) { out[v] += in[l]; });
      });
    });
    return {grads[0], table, Tensor(), Tensor()};
  }
};

// One head's share for every head, in the type of the logits.
Tensor for_heads(const Tensor& values, const Tensor& logits) {
  return values.to(logits.scalar_type()).expand({-1, logits.size(1), -1, -1});
}

}  // namespace

bool can_look_up(const Tensor& logits, const Form& form) {
  const bool type = logits.scalar_type() == at::kFloat || logits.scalar_type() == at::kDouble;
  return logits.is_cpu() && type &&
         (std::holds_alternative<RelativeTable>(form) || std::holds_alternative<Bucketed>(form));
}

Tensor add_lookups(Tensor logits, const Form& form) {
  logits = logits.contiguous();
  if (const auto* relative = std::get_if<RelativeTable>(&form)) {
    return AddLookup::apply(logits, for_heads(relative->table.unsqueeze(2), logits), relative->index, false);
  }
  for (const Bucketed::Lookup& lookup : std::get<Bucketed>(form).lookups)
    logits = AddLookup::apply(logits, for_heads(lookup.values, logits), lookup.index, lookup.by_key);
  return logits;
}

}  // namespace locus::engine
