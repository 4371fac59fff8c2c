// Adapters: linear layers whose weight stays as it is while a few parameters beside it learn.
#pragma once

#include <set>

#include "engine/base/item.h"
#include "engine/base/random.h"
#include "engine/base/registry.h"
#include "engine/base/step_number.h"
#include "engine/layers/linear.h"

namespace locus::engine {

// The linear layer that an adapter takes the place of.
struct AdaptedLayer {
  std::string name;  // full, within the backbone: "blocks.0.attention.qkv"
  std::int64_t in = 1, out = 1;
  bool with_bias = true;
  std::int64_t parts = 1;  // maps side by side in the rows of the weight, each adapted by itself; divides `out`
};

// y = x W'^T + b, where W' = merged() is made of the layer's own "weight" W [out, in] and of parameters that the adapter
// has beside "weight" and "bias". Whether W and b learn is not its business. Not thread-safe.
class Adapter : public Linear {
 public:
  explicit Adapter(AdaptedLayer layer);

  // Draws what starts at random, by the layer's name, and rests. Call when W has the values that training starts from.
  void start(const RandomStreams& random);
  // Makes W' = W by the adapter's parameters, W as it is now.
  virtual void rest() = 0;
  // W' [out, in], a new tensor of W's type and device, without gradients.
  virtual Tensor merged() const = 0;

  // Puts W' in the place of W, so that forward() is a plain linear layer, and W back, to the bit. A merged layer does not
  // train. Throws std::logic_error on a layer that is merged already, or that is not.
  void merge();
  void unmerge();
  bool is_merged() const { return base_.defined(); }

  Tensor forward(const Tensor& x) final { return is_merged() ? Linear::forward(x) : adapted(x); }
  // Tells that a forward of the network begins, by whose step dropout draws. `random` must outlive the forward.
  void begin_forward(StepNumber step, bool training, const RandomStreams& random);
  // The same for a forward that trains and whose dropout draws are given: uniform numbers of the shape of every input.
  void drop_by(Tensor draws) { given_draws_ = std::move(draws); }

  // Whether exported models hold W' as the weight and nothing of the adapter.
  bool exports_merged = false;
  // By a parameter's own name ("lora_a"): whether weight decay may pull on it, where the shape lets it.
  virtual bool decays(std::string_view parameter) const;
  const AdaptedLayer& layer() const { return layer_; }

 protected:
  virtual void draw(const RandomStreams& random) = 0;
  virtual Tensor adapted(const Tensor& x) = 0;
  // x with every number dropped at `rate` and the others divided by 1 - rate, while the network trains; else x itself.
  // Named by layer, step and how often the layer was asked within this forward.
  Tensor dropped(const Tensor& x, double rate);

 private:
  AdaptedLayer layer_;
  Tensor base_;  // W while the layer is merged
  StepNumber step_ = 0;
  std::int64_t calls_ = 0;
  const RandomStreams* random_ = nullptr;  // null: not training
  Tensor given_draws_;
};

struct AdapterItem {
  Item item;  // kind "adapter"
  // Null: the item adapts nothing. Throws std::invalid_argument on options that do not fit the layer.
  std::shared_ptr<Adapter> (*make)(const AdaptedLayer& layer, const Options& options);
  std::string id() const { return item.json().at("id"); }
};
Registry<AdapterItem>& adapter_registry();  // first, every line of adapters.def
inline const std::deque<AdapterItem>& adapter_items() { return adapter_registry().all(); }
inline const AdapterItem& adapter_item(std::string_view id) { return adapter_registry().find(id); }

// What every adapter is asked: which layers it takes the place of, what else learns, how the model is exported.
void add_adapter_options(Item& item);

// What a stage configuration's "adapter" asks for. Immutable; thread-compatible.
class AdapterChoice {
 public:
  AdapterChoice(const AdapterItem& item, Options options) : item_(item), options_(std::move(options)) {}

  // The layer of that full name: adapted where a target names it, else plain.
  std::shared_ptr<Linear> linear(std::string_view name, std::int64_t in, std::int64_t out, bool with_bias) const;
  // `layers` are those that the backbone asked for. Throws std::invalid_argument naming a target that none of them fits.
  void check_targets(const std::set<std::string>& layers) const;
  // Whether `what` ("head", "biases", "norms") learns beside the adapters.
  bool trains(std::string_view what) const;
  bool trains_prior(std::string_view id) const;

 private:
  const AdapterItem& item_;
  Options options_;
};

// Nothing where the configuration has no adapter, or one that adapts nothing. Throws std::invalid_argument naming what is
// wrong.
std::optional<AdapterChoice> adapter_choice(const Json& stage_configuration);

}  // namespace locus::engine
