// What all backbones share: their priors, and the way from a stage configuration.
#include "engine/backbones/backbone.h"

#include "engine/backbones/items.h"

namespace locus::engine {
namespace {

bool contains(const Json& list, const Json& value) { return std::find(list.begin(), list.end(), value) != list.end(); }

// Whether a rule concerns a prior with these options: without "when" always.
bool concerns(const Json& rule, const Json& options) {
  if (!rule.contains("when")) return true;
  return contains(rule.at("when").at("values"), options.at(rule.at("when").at("option").get<std::string>()));
}

// Whether `entry`, with these options, excludes the other's id or one of its tags.
bool excludes(const Json& entry, const Json& options, const Json& other) {
  const auto shut_out = [&](const Json& list) {
    return std::any_of(list.begin(), list.end(), [&](const Json& what) {
      return what == other.at("id") || contains(other.at("provides"), what);
    });
  };
  if (shut_out(entry.at("excludes"))) return true;
  for (const Json& more : entry.value("excludes_when", Json::array())) {
    if (concerns(more, options) && shut_out(more.at("excludes"))) return true;
  }
  return false;
}

void check_pair(const Json& first, const Json& first_options, const Json& second, const Json& second_options) {
  const std::string pair = "priors " + first.at("id").get<std::string>() + " and " + second.at("id").get<std::string>();
  if (first.at("id") == second.at("id")) throw std::invalid_argument(pair + ": the same prior twice");
  if (excludes(first, first_options, second) || excludes(second, second_options, first))
    throw std::invalid_argument(pair + " exclude each other as they are set");
}

void check_requirements(const Json& entry, const Json& options, const PriorContext& context) {
  const std::string who = "prior " + entry.at("id").get<std::string>();
  const auto rank = context.reference.extent.size();
  if (!contains(entry.at("layouts").at("ranks"), rank))
    throw std::invalid_argument(who + " does not support grids of rank " + std::to_string(rank));
  const LayerInfo& info = context.layers.at(0);
  const std::map<std::string, std::int64_t> values = {{"dim", info.width},
                                                      {"heads", info.heads},
                                                      {"head_width", info.head_width()},
                                                      {"depth", info.layers},
                                                      {"prefix", context.layers.back().reference.prefix}};
  for (const Json& rule : entry.at("requires")) {
    if (!concerns(rule, options)) continue;
    const auto name = rule.at("value").get<std::string>();
    if (rule.at("rule") == "none") {
      if (values.at(name) == 0) continue;
      throw std::invalid_argument(who + ": " + name + " " + std::to_string(values.at(name)) +
                                  " where there may be none (" + rule.at("help").get<std::string>() + ")");
    }
    if (rule.at("rule") != "multiple-of")
      throw std::logic_error(who + ": a rule the engine does not know: " + rule.dump());
    const auto factor = rule.at("factor").get<std::int64_t>();
    if (values.at(name) % factor != 0) {
      throw std::invalid_argument(who + ": " + name + " " + std::to_string(values.at(name)) +
                                  " must be a multiple of " + std::to_string(factor) + " (" +
                                  rule.at("help").get<std::string>() + ")");
    }
  }
}

// "priors.violin.layers.0.alpha" -> {"violin", "layers.0.alpha"}; the id is empty for any other name.
std::pair<std::string_view, std::string_view> split_prior_name(std::string_view name) {
  constexpr std::string_view kPrefix = "priors.";
  if (!name.starts_with(kPrefix)) return {};
  name.remove_prefix(kPrefix.size());
  const std::size_t dot = name.find('.');
  return {name.substr(0, dot), name.substr(dot + 1)};
}

}  // namespace

void Backbone::build_priors(const BackboneContext& context, const PriorContext& prior_context) {
  const auto container = std::make_shared<torch::nn::Module>();
  for (const PriorChoice& choice : context.priors) {
    const PriorItem& item = prior_item(choice.id);
    const Options options(item.item.json(), choice.options);
    check_requirements(item.item.json(), options.json(), prior_context);
    for (const NamedPrior& earlier : priors_)
      check_pair(earlier.item->item.json(), earlier.options, item.item.json(), options.json());
    const auto prior = item.make(prior_context, options);
    prior->build_layers(prior_context.layers);
    std::vector<Hook> hooks = item.hooks();
    std::erase_if(hooks, [&](Hook hook) { return !prior->uses(hook); });
    priors_.push_back(
        {item.id(), std::move(hooks), container->register_module(item.id(), prior), &item, options.json()});
  }
  if (!priors_.empty()) register_module("priors", container);
}

std::int64_t Backbone::prefix_from(const std::vector<PriorChoice>& priors, std::int64_t depth) {
  std::int64_t from = 0;
  for (const PriorChoice& choice : priors) {
    const PriorItem& item = prior_item(choice.id);
    if (item.prefix_from != nullptr) from = std::max(from, item.prefix_from(Options(item.item.json(), choice.options)));
  }
  return std::min(from, depth - 1);
}

Pattern Backbone::pattern(const LayerInfo& info) const {
  for (const NamedPrior& named : priors_) {
    if (named.has(Hook::kPattern)) return named.prior->pattern(info);
  }
  return Pattern::kGlobal;
}

void Backbone::initialize_priors(const RandomStreams& random) {
  for (const NamedPrior& named : priors_) named.prior->initialize(Initializer(random, "priors." + named.id + "."));
}

std::vector<AuxLoss> Backbone::auxiliary_losses(const Features& features, const ForwardContext& context) const {
  std::vector<AuxLoss> losses;
  for (const NamedPrior& named : priors_) {
    if (!named.has(Hook::kLoss)) continue;
    losses.push_back(named.prior->loss(features.taps, features.layout, context));
    losses.back().prior = named.id;
  }
  return losses;
}

Decay Backbone::decay(std::string_view name, const Tensor& parameter) const {
  const auto [id, rest] = split_prior_name(name);
  for (const NamedPrior& named : priors_) {
    if (named.id == id) return named.prior->decay(rest, parameter);
  }
  return default_decay(name, parameter);
}

bool Backbone::training_only(std::string_view name) const {
  const auto [id, rest] = split_prior_name(name);
  for (const NamedPrior& named : priors_) {
    if (named.id == id) return named.prior->training_only(rest);
  }
  return false;
}

Registry<BackboneItem>& backbone_registry() {
  static Registry<BackboneItem> entries("backbone", {
#define LOCUS_BACKBONE(file) backbones::file(),
#include "engine/backbones/backbones.def"
#undef LOCUS_BACKBONE
                                                    });
  return entries;
}

std::shared_ptr<Backbone> make_backbone(const Json& stage_configuration, const InputFacts& input,
                                        const RandomStreams& random, const std::string& path) {
  BackboneContext context{.input = input, .priors = {}, .random = random, .path = path};
  for (const Json& prior : stage_configuration.at("priors")) {
    context.priors.push_back({prior.at("id").get<std::string>(), prior.value("options", Json::object())});
  }
  const Json& model = stage_configuration.at("model");
  const BackboneItem& item = backbone_item(model.at("id").get<std::string>());
  return item.make(context, Options(item.item.json(), model.value("options", Json::object())));
}

}  // namespace locus::engine
