// Builds the model and finds its parts.
#include "engine/probe/host.h"

namespace locus::engine {
namespace {

// The module of that type and full name below `root`; a name that does not exist is a defect.
template <typename Module>
std::shared_ptr<Module> part(const torch::nn::Module& root, const std::string& name) {
  for (const auto& entry : root.named_modules("", /*include_self=*/false)) {
    if (entry.key() != name) continue;
    if (auto found = std::dynamic_pointer_cast<Module>(entry.value())) return found;
  }
  throw std::logic_error("the model has no part '" + name + "'");
}

std::int64_t patch_of(const Json& model_options) { return model_options.at("patch").get<std::int64_t>(); }

// The model's options with what the request decides.
Json model_options(const HostRequest& request) {
  Json options = request.specification.at("model").value("options", Json::object());
  for (const char* name : {"depth", "pool", "registers"}) {
    if (options.contains(name)) {
      throw std::invalid_argument("model option '" + std::string(name) +
                                  "' is decided by the number of layers and prefix tokens: leave it out");
    }
  }
  if (!options.contains("patch")) options["patch"] = 4;
  options["depth"] = request.layers;
  options["pool"] = request.prefix > 0 ? "cls" : "mean";
  options["registers"] = std::max<std::int64_t>(request.prefix - 1, 0);
  return options;
}

}  // namespace

Host::Host(const HostRequest& request)
    : channels_(request.specification.value("channels", 3)), layers_(request.layers) {
  if (request.grid.size() != 2 || request.grid[0] < 1 || request.grid[1] < 1 || request.prefix < 0 ||
      request.layers < 1)
    throw std::invalid_argument("a model needs a grid of rows and columns, layers, and no less than no prefix");
  for (const char* key : {"model", "priors"}) {
    if (!request.specification.contains(key))
      throw std::invalid_argument("the specification has no \"" + std::string(key) + "\"");
  }
  const Json options = model_options(request);
  const std::int64_t patch = patch_of(options);
  image_extent_ = {request.grid[0] * patch, request.grid[1] * patch};
  layout_ = {request.grid, request.prefix};
  const Json& priors = request.specification.at("priors");
  if (!priors.empty()) prior_options_ = priors[0].value("options", Json::object());
  const std::string model = request.specification.at("model").value("id", "vit");
  heads_ = Options(backbone_item(model).item.json(), options).integer("heads");
  const Json configuration = {
      {"task", {{"id", "classification"}}}, {"model", {{"id", model}, {"options", options}}}, {"priors", priors}};
  const Json facts = {
      {"channels", channels_}, {"extent", image_extent_}, {"classes", request.specification.value("classes", 10)}};
  build(configuration, facts, request.seed, request.path);
}

Host::Host(const Json& configuration, const Json& facts)
    : channels_(facts.at("channels").get<std::int64_t>()), layers_(0) {
  const Json& model = configuration.at("model");
  const Options options(backbone_item(model.at("id").get<std::string>()).item.json(),
                        model.value("options", Json::object()));
  layers_ = options.integer("depth"), heads_ = options.integer("heads");
  image_extent_ = facts.at("extent").get<std::vector<std::int64_t>>();
  const std::int64_t patch = options.integer("patch");
  layout_.prefix = options.integer("registers") + (options.text("pool") == "cls" ? 1 : 0);
  for (const std::int64_t pixels : image_extent_) layout_.extent.push_back(pixels / patch);
  const Json& priors = configuration.at("priors");
  if (!priors.empty()) prior_options_ = priors[0].value("options", Json::object());
  build(configuration, facts, configuration.at("seed").get<std::uint64_t>(), "auto");
}

void Host::build(const Json& configuration, const Json& facts, std::uint64_t seed, const std::string& path) {
  const RandomStreams random(seed);
  task_ = make_task({configuration, facts, random, path});
  backbone_ = part<Backbone>(*task_, "backbone");
}

Block& Host::block(std::int64_t layer) const { return *part<Block>(*backbone_, "blocks." + std::to_string(layer)); }
Attention& Host::attention(std::int64_t layer) const {
  return *part<Attention>(*backbone_, "blocks." + std::to_string(layer) + ".attention");
}
Linear& Host::head() const { return *part<Linear>(*task_, "head"); }

LayerInfo Host::layer_info(std::int64_t layer) const {
  LayerInfo info;
  info.layer = layer, info.layers = layers_;
  info.width = width(), info.heads = heads_;
  info.reference = layout_;
  return info;
}

void Host::begin_forward(const ForwardContext& context) const {
  for (const auto& named : backbone_->priors()) named.prior->begin_forward(layout_, context);
}

}  // namespace locus::engine
