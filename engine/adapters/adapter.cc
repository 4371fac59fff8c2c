// What adapters share, and the way from a stage configuration.
#include "engine/adapters/adapter.h"

#include <fnmatch.h>

#include <algorithm>

namespace locus::engine {

namespace adapters {
#define LOCUS_ADAPTER(name) AdapterItem name();
#include "engine/adapters/adapters.def"
#undef LOCUS_ADAPTER
}  // namespace adapters

namespace {

constexpr std::string_view kDropout = "dropout";  // purpose of the draws
constexpr std::string_view kJointMap = "attention.qkv";

// Shell patterns: a star stands for any text, dots included.
bool fits(const std::string& name, const std::string& pattern) {
  return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

bool fits_any(std::string_view name, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return fits(std::string(name), pattern); });
}

}  // namespace

Registry<AdapterItem>& adapter_registry() {
  static Registry<AdapterItem> entries("adapter", {
#define LOCUS_ADAPTER(name) adapters::name(),
#include "engine/adapters/adapters.def"
#undef LOCUS_ADAPTER
                                                  });
  return entries;
}

Adapter::Adapter(AdaptedLayer layer) : Linear(layer.in, layer.out, layer.with_bias), layer_(std::move(layer)) {
  if (layer_.out % layer_.parts != 0)
    throw std::logic_error(layer_.name + " has " + std::to_string(layer_.out) + " outputs, which are no " +
                           std::to_string(layer_.parts) + " equal parts");
}

void Adapter::start(const RandomStreams& random) {
  const at::NoGradGuard no_gradient;
  draw(random);
  rest();
}

void Adapter::merge() {
  if (is_merged()) throw std::logic_error(layer_.name + " is merged already");
  const at::NoGradGuard no_gradient;
  const Tensor whole = merged();
  base_ = weight.detach().clone();
  weight.copy_(whole);
}

void Adapter::unmerge() {
  if (!is_merged()) throw std::logic_error(layer_.name + " is not merged");
  const at::NoGradGuard no_gradient;
  weight.copy_(base_);
  base_.reset();
}

void Adapter::begin_forward(StepNumber step, bool training, const RandomStreams& random) {
  step_ = step;
  calls_ = 0;
  random_ = training ? &random : nullptr;
}

bool Adapter::decays(std::string_view) const { return true; }

Tensor Adapter::dropped(const Tensor& x, double rate) {
  if (rate == 0 || (random_ == nullptr && !given_draws_.defined())) return x;
  const std::string name = layer_.name + (calls_ == 0 ? "" : "." + std::to_string(calls_));
  ++calls_;
  const Tensor draw = given_draws_.defined() ? given_draws_ : random_->uniform(kDropout, name, step_.draw(), x.sizes());
  return x * draw.ge(rate).to(x.scalar_type()).div(1 - rate).to(x.device(), /*non_blocking=*/true);
}

void add_adapter_options(Item& item) {
  item.option(Option::list("targets", "string", Json::array({"*blocks.*"}),
                           "linear maps that are adapted, by shell patterns over their names in the backbone, such as "
                           "*.attention.qkv, *.attention.out, *.mlp.in and *.mlp.out; the default is every linear map "
                           "of the blocks")
                  .min_items(1)
                  .unique());
  item.option(Option::boolean("split_qkv", false,
                              "adapts the maps to queries, keys and values each by itself, not as the one map they are")
                  .neutral(false));
  item.option(Option::list("train", "string", Json::array({"head", "biases"}),
                           "what learns beside the adapters: the head, all biases, all of the norms. Everything else "
                           "stays as it starts, but for the priors that `priors` names")
                  .choices({"head", "biases", "norms"})
                  .unique());
  item.option(Option::list("priors", "string", Json::array({"*"}),
                           "priors whose parameters learn, by shell patterns over their ids; what fits no prior of the "
                           "model counts for nothing")
                  .unique());
  item.option(
      Option::text("exported", "whole",
                   "what a trained model is kept as: base and adapters, or the base's weights with the adapters "
                   "merged into them")
          .choices({"whole", "merged"})
          .neutral("whole"));
}

std::shared_ptr<Linear> AdapterChoice::linear(std::string_view name, std::int64_t in, std::int64_t out,
                                              bool with_bias) const {
  if (!fits_any(name, options_.texts("targets"))) return std::make_shared<Linear>(in, out, with_bias);
  const bool parted = options_.boolean("split_qkv") && name.ends_with(kJointMap);
  const auto made = item_.make({std::string(name), in, out, with_bias, parted ? 3 : 1}, options_);
  made->exports_merged = options_.text("exported") == "merged";
  return made;
}

void AdapterChoice::check_targets(const std::set<std::string>& layers) const {
  for (const std::string& pattern : options_.texts("targets")) {
    if (std::any_of(layers.begin(), layers.end(), [&](const std::string& name) { return fits(name, pattern); }))
      continue;
    std::string some;
    int named = 0;
    for (const std::string& name : layers) {
      if (++named > 8) break;
      some += (some.empty() ? "" : ", ") + name;
    }
    throw std::invalid_argument("adapter " + item_.id() + ": the target '" + pattern +
                                "' fits none of the backbone's " + std::to_string(layers.size()) +
                                " linear maps; name some of them: " + some + (named > 8 ? ", ..." : ""));
  }
}

bool AdapterChoice::trains(std::string_view what) const {
  const std::vector<std::string> train = options_.texts("train");
  return std::find(train.begin(), train.end(), what) != train.end();
}

bool AdapterChoice::trains_prior(std::string_view id) const { return fits_any(id, options_.texts("priors")); }

std::optional<AdapterChoice> adapter_choice(const Json& stage_configuration) {
  const auto found = stage_configuration.find("adapter");
  if (found == stage_configuration.end()) return std::nullopt;
  const AdapterItem& item = adapter_item(found->at("id").get<std::string>());
  Options options(item.item.json(), found->value("options", Json::object()));
  if (item.make == nullptr) return std::nullopt;
  return AdapterChoice(item, std::move(options));
}

}  // namespace locus::engine
