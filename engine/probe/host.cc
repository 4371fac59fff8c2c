// Builds the model and finds its parts.
#include "engine/probe/host.h"

#include <algorithm>

namespace locus::engine {
namespace {

// The module of that type and full name below `root`; a name that does not exist is a defect.
template <typename Part>
std::shared_ptr<Part> part(const Module& root, const std::string& name) {
  for (const auto& entry : root.named_modules()) {
    if (entry.key() != name) continue;
    if (auto found = std::dynamic_pointer_cast<Part>(entry.value())) return found;
  }
  throw std::logic_error("the model has no part '" + name + "'");
}

bool takes(const Item& model, const char* option) {
  const Json& options = model.json().at("options");
  return std::any_of(options.begin(), options.end(), [&](const Json& each) { return each.at("name") == option; });
}

// The model's options with what the request decides of them.
Json model_options(const HostRequest& request, const Item& model) {
  Json options = request.specification.at("model").value("options", Json::object());
  const std::pair<const char*, Json> decided[] = {{"depth", request.layers},
                                                  {"pool", request.prefix > 0 ? "cls" : "mean"},
                                                  {"registers", std::max<std::int64_t>(request.prefix - 1, 0)}};
  for (const auto& [name, value] : decided) {
    if (!takes(model, name)) continue;
    if (options.contains(name)) {
      throw std::invalid_argument("model option '" + std::string(name) +
                                  "' is decided by the number of layers and prefix tokens: leave it out");
    }
    options[name] = value;
  }
  if (!options.contains("patch")) options["patch"] = 4;
  return options;
}

}  // namespace

Host::Host(const HostRequest& request) : channels_(request.specification.value("channels", 3)) {
  if (request.grid.size() != 2 || request.grid[0] < 1 || request.grid[1] < 1 || request.prefix < 0 ||
      request.layers < 1)
    throw std::invalid_argument("a model needs a grid of rows and columns, layers, and no less than no prefix");
  for (const char* key : {"model", "priors"}) {
    if (!request.specification.contains(key))
      throw std::invalid_argument("the specification has no \"" + std::string(key) + "\"");
  }
  const std::string model = request.specification.at("model").value("id", "vit");
  const Json options = model_options(request, backbone_item(model).item);
  const auto patch = options.at("patch").get<std::int64_t>();
  image_extent_ = {request.grid[0] * patch, request.grid[1] * patch};
  const Json& priors = request.specification.at("priors");
  if (!priors.empty()) prior_options_ = priors[0].value("options", Json::object());
  const Json configuration = {
      {"task", {{"id", "classification"}}}, {"model", {{"id", model}, {"options", options}}}, {"priors", priors}};
  const Json facts = {
      {"channels", channels_}, {"extent", image_extent_}, {"classes", request.specification.value("classes", 10)}};
  build(configuration, facts, request.seed, request.path);
  const std::int64_t layers = backbone_layers(), prefix = layout().prefix;
  if (layers != request.layers || prefix != request.prefix) {
    throw std::invalid_argument("backbone " + model + " has " + std::to_string(layers) + " layers and " +
                                std::to_string(prefix) + " prefix tokens by its own options, not " +
                                std::to_string(request.layers) + " and " + std::to_string(request.prefix));
  }
}

Host::Host(const Json& configuration, const Json& facts) : channels_(facts.at("channels").get<std::int64_t>()) {
  image_extent_ = facts.at("extent").get<std::vector<std::int64_t>>();
  const Json& priors = configuration.at("priors");
  if (!priors.empty()) prior_options_ = priors[0].value("options", Json::object());
  build(configuration, facts, configuration.at("seed").get<std::uint64_t>(), "auto");
}

void Host::build(const Json& configuration, const Json& facts, std::uint64_t seed, const std::string& path) {
  const RandomStreams random(seed);
  task_ = make_task({configuration, facts, random, path});
  backbone_ = part<Backbone>(*task_, "backbone");
  layouts_ = backbone_->layouts(image_extent_[0], image_extent_[1]);
}

Block& Host::block(std::int64_t layer) const { return *backbone_->blocks().at(static_cast<std::size_t>(layer)); }
Attention& Host::attention(std::int64_t layer) const { return block(layer).attention(); }
Linear& Host::head() const { return *part<Linear>(*task_, "head"); }

const Layout& Host::layout(std::int64_t layer) const {
  return layouts_.at(static_cast<std::size_t>(layer_info(layer).stage));
}

void Host::begin_forward(const ForwardContext& context) const { backbone_->begin_forward(layouts_, context); }

void Host::require_one_plain_stage(const std::string& what) const {
  const std::vector<StageInfo>& stages = backbone_->stages();
  if (stages.size() == 1 && !stages[0].windows) return;
  throw std::invalid_argument(what + " shows one grid on which all attend to all; this network has " +
                              std::to_string(stages.size()) + " stages" +
                              (stages[0].windows ? ", the first one in windows" : ""));
}

}  // namespace locus::engine
