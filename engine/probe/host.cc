// Builds the model and finds its parts.
#include "engine/probe/host.h"

#include <algorithm>

namespace locus::engine {
namespace {

constexpr std::int64_t kPatch = 4;   // where the model has the option and nobody says
constexpr std::int64_t kStride = 4;  // of the stem of a model without the option

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

// The catalog's own options that the model has as many prefix tokens by, where none of them is written: the first that
// stands for one token at a value, then the first that counts.
void set_prefix(const Json& facts, std::int64_t prefix, Json& options) {
  const Json parts = facts.value("prefix_tokens", Json::array());
  const auto written = [&](const Json& part) { return options.contains(part.at("option").get<std::string>()); };
  if (std::any_of(parts.begin(), parts.end(), written)) return;
  const auto first = [&](bool counts) {
    return std::find_if(parts.begin(), parts.end(), [&](const Json& p) { return p.contains("value") != counts; });
  };
  std::int64_t left = prefix;
  if (const auto one = first(false); one != parts.end() && left > 0) {
    options[one->at("option").get<std::string>()] = one->at("value");
    --left;
  }
  if (const auto counted = first(true); counted != parts.end())
    options[counted->at("option").get<std::string>()] = left;
}

// The model's options with what the request decides of them.
Json model_options(const HostRequest& request, const Item& model) {
  Json options = request.specification.at("model").value("options", Json::object());
  set_prefix(model.json().value("facts", Json::object()), request.prefix.value_or(0), options);
  if (takes(model, "depth") && !options.contains("depth"))
    options["depth"] = request.layers.value_or(request.least_layers);
  if (takes(model, "patch") && !options.contains("patch")) options["patch"] = kPatch;
  return options;
}

void check_grid(const std::vector<std::int64_t>& grid) {
  if (grid.size() != 2 || grid[0] < 1 || grid[1] < 1)
    throw std::invalid_argument("a model needs a grid of rows and columns");
}

std::string grid_text(const std::vector<std::int64_t>& grid) {
  return std::to_string(grid.at(0)) + " x " + std::to_string(grid.at(1));
}

}  // namespace

Host::Host(const HostRequest& request)
    : channels_(request.specification.value("channels", 3)), point_axes_(request.point_axes) {
  if (point_axes_ == 0) {
    check_grid(request.grid);
    if (!request.reference.empty()) check_grid(request.reference);
  } else if (point_axes_ < 0 || !request.grid.empty() || !request.reference.empty()) {
    throw std::invalid_argument("points have coordinates of at least one axis, and no grid");
  }
  if (request.prefix.value_or(0) < 0 || request.layers.value_or(1) < 1)
    throw std::invalid_argument("a model needs layers, and no less than no prefix");
  for (const char* key : {"model", "priors"}) {
    if (!request.specification.contains(key))
      throw std::invalid_argument("the specification has no \"" + std::string(key) + "\"");
  }
  const std::string model = request.specification.at("model").value("id", "vit");
  const Item& item = backbone_item(model).item;
  const Json options = model_options(request, item);
  const Json& priors = request.specification.at("priors");
  if (!priors.empty()) prior_options_ = priors[0].value("options", Json::object());
  const Json configuration = {
      {"task", {{"id", "classification"}}}, {"model", {{"id", model}, {"options", options}}}, {"priors", priors}};
  if (point_axes_ > 0) {
    build_for_points(configuration, request.seed, request.path);
    check_counts(request);
    return;
  }
  const std::int64_t stride = options.contains("patch")
                                  ? options.at("patch").get<std::int64_t>()
                                  : item.json().value("facts", Json::object()).value("stride", kStride);
  const auto extent = [&](const std::vector<std::int64_t>& grid) {
    return std::vector<std::int64_t>{grid[0] * stride, grid[1] * stride};
  };
  image_extent_ = extent(request.grid);
  const Json facts = {{"channels", channels_},
                      {"extent", extent(request.reference.empty() ? request.grid : request.reference)},
                      {"classes", request.specification.value("classes", 10)}};
  build(configuration, facts, request.seed, request.path);
  if (layouts_[0].extent != request.grid) {
    throw std::invalid_argument("backbone " + model + " makes a grid of " + grid_text(layouts_[0].extent) +
                                " of an image of " + grid_text(image_extent_) + " pixels, not one of " +
                                grid_text(request.grid) +
                                "; its fact \"stride\" must be the side of a token in pixels");
  }
  check_counts(request);
}

void Host::check_counts(const HostRequest& request) const {
  const std::int64_t layers = backbone_layers(), prefix = layout().prefix;
  if (layers == request.layers.value_or(layers) && prefix == request.prefix.value_or(prefix)) return;
  throw std::invalid_argument(
      "backbone " + request.specification.at("model").value("id", "vit") + " has " + std::to_string(layers) +
      " layers and " + std::to_string(prefix) + " prefix tokens by its own options, not " +
      std::to_string(request.layers.value_or(layers)) + " and " + std::to_string(request.prefix.value_or(prefix)));
}

Host::Host(const Json& configuration, const Json& facts) : channels_(facts.at("channels").get<std::int64_t>()) {
  image_extent_ = facts.at("extent").get<std::vector<std::int64_t>>();
  const Json& priors = configuration.at("priors");
  if (!priors.empty()) prior_options_ = priors[0].value("options", Json::object());
  build(configuration, facts, configuration.at("seed").get<std::uint64_t>(), "auto");
}

void Host::build(const Json& configuration, const Json& facts, std::uint64_t seed, const std::string& path) {
  const RandomStreams random(seed);
  const BackboneItem& item = backbone_item(configuration.at("model").at("id").get<std::string>());
  if (item.item.json().value("facts", Json::object()).value("condition", false)) {
    const InputFacts input{channels_, facts.at("extent").get<std::vector<std::int64_t>>()};
    denoiser_ = std::make_shared<Denoiser>(
        configuration, input, DenoiserOptions{.classes = facts.at("classes").get<std::int64_t>()}, random, path);
    network_ = denoiser_;
  } else {
    task_ = make_task({configuration, facts, random, path});
    network_ = task_;
  }
  backbone_ = part<Backbone>(*network_, "backbone");
  layouts_ = backbone_->layouts(image_extent_[0], image_extent_[1]);
}

// The backbone alone, under the name it has in a task.
void Host::build_for_points(const Json& configuration, std::uint64_t seed, const std::string& path) {
  const auto model = configuration.at("model").at("id").get<std::string>();
  if (!backbone_item(model).item.json().value("facts", Json::object()).value("points", false)) {
    throw std::invalid_argument("backbone " + model +
                                " makes its tokens of images, and they lie on grids: it takes no points; take one with "
                                "the fact \"points\" in the catalog, vit for one");
  }
  backbone_ = make_backbone(configuration, {.channels = channels_, .extent = {}, .point_axes = point_axes_},
                            RandomStreams(seed), path);
  network_ = std::make_shared<Module>();
  network_->register_module("backbone", backbone_);
  for (const StageInfo& stage : backbone_->stages()) layouts_.push_back(stage.layers.back().reference);
}

void Host::place(const Tensor& positions, const Tensor& valid) {
  if (point_axes_ == 0) throw std::logic_error("the tokens of the host are no points");
  const Layout layout = points_layout(positions, valid, layouts_.back().prefix);
  if (layout.rank() != point_axes_) {
    throw std::invalid_argument("positions have " + std::to_string(layout.rank()) +
                                " axes, and the model is built for points of " + std::to_string(point_axes_));
  }
  layouts_.assign(layouts_.size(), layout);
}

Task& Host::task() const {
  if (!task_) throw std::logic_error("the host is no task: it is a denoiser, or a backbone for points");
  return *task_;
}

Block& Host::block(std::int64_t layer) const { return *backbone_->blocks().at(static_cast<std::size_t>(layer)); }
Attention& Host::attention(std::int64_t layer) const { return block(layer).attention(); }
Linear& Host::head() const { return *part<Linear>(task(), "head"); }

const Layout& Host::layout(std::int64_t layer) const { return stage_layout(layer_info(layer).stage); }

const StageInfo& Host::stage(std::int64_t stage) const {
  const std::vector<StageInfo>& all = backbone_->stages();
  if (stage >= 0 && stage < static_cast<std::int64_t>(all.size())) return all[static_cast<std::size_t>(stage)];
  throw std::invalid_argument("the network has no stage " + std::to_string(stage) + "; it has " +
                              std::to_string(all.size()) + ", counted from 0");
}

void Host::begin_forward(const ForwardContext& context) const { backbone_->begin_forward(layouts_, context); }

}  // namespace locus::engine
