// A model around priors that are looked at: built from a small document instead of a whole specification.
#pragma once

#include "engine/backbones/backbone.h"
#include "engine/backbones/block.h"
#include "engine/tasks/denoiser.h"
#include "engine/tasks/task.h"

namespace locus::engine {

// What to build. `specification`: "model" {"id", "options"} and "priors" [{"id", "options", "stages"}] as in a stage
// configuration, and optionally "channels" (3) and "classes" (10). Options of the model that hold its depth or its prefix
// tokens (the fact prefix_tokens) follow from the other fields where the options do not say them.
struct HostRequest {
  Json specification;
  std::vector<std::int64_t> grid;           // rows and columns of patches, of the first stage; empty for points
  std::optional<std::int64_t> prefix = {};  // tokens in front: a class token, then registers; none: by options, else 0
  std::optional<std::int64_t> layers = {};  // of the network; none: by options, else `least_layers`
  std::string path = "auto";
  std::uint64_t seed = 0;
  std::vector<std::int64_t> reference = {};  // the grid it is built for; empty: `grid`
  std::int64_t least_layers = 1;
  std::int64_t point_axes = 0;  // above 0: tokens are points whose coordinates have that many axes, `grid` is empty
};

// A network with its parts by name: the classification task with its backbone, or where the backbone follows a condition
// a denoiser (engine/tasks/denoiser.h), or where the tokens are points the backbone alone. Throws std::invalid_argument on
// anything the catalog refuses. Not thread-safe.
class Host {
 public:
  explicit Host(const HostRequest& request);
  // The model of a stage configuration (docs/formats/catalog.md) as it is initialized; `facts` of its dataset.
  Host(const Json& configuration, const Json& facts);

  Module& network() const { return *network_; }
  Task& task() const;                                           // throws std::logic_error where there is none
  const Denoiser* denoiser() const { return denoiser_.get(); }  // or null
  Backbone& backbone() const { return *backbone_; }
  Attention& attention(std::int64_t layer) const;
  Block& block(std::int64_t layer) const;
  Linear& head() const;                                     // of the classification
  const Layout& layout() const { return layouts_.back(); }  // of the last stage
  const Layout& layout(std::int64_t layer) const;           // of the layer's stage
  const Layout& stage_layout(std::int64_t stage) const { return layouts_.at(static_cast<std::size_t>(stage)); }
  // Throws std::invalid_argument, naming what there is, where there is no such stage.
  const StageInfo& stage(std::int64_t stage) const;
  const LayerInfo& layer_info(std::int64_t layer) const { return block(layer).info(); }
  std::int64_t width() const { return backbone_->width(); }   // of the last stage
  std::int64_t heads() const { return layer_info(0).heads; }  // of the first layer
  std::int64_t backbone_layers() const { return static_cast<std::int64_t>(backbone_->blocks().size()); }
  std::int64_t channels() const { return channels_; }
  const Json& prior_options() const { return prior_options_; }  // of the first prior, as given
  const std::vector<std::int64_t>& image_extent() const { return image_extent_; }
  at::TensorOptions options() const { return backbone_->parameters().at(0).options(); }  // of its parameters

  // Axes of the coordinates where the tokens are points; 0: they lie on a grid.
  std::int64_t point_axes() const { return point_axes_; }
  // Says where the points of the batch at hand lie. Throws std::invalid_argument where positions [B, N, axes] or `valid`
  // bool [B, N] (undefined: all) do not fit, std::logic_error where the tokens are no points.
  void place(const Tensor& positions, const Tensor& valid);

  // Calls begin_forward of every prior, as the backbone does.
  void begin_forward(const ForwardContext& context) const;

 private:
  void build(const Json& configuration, const Json& facts, std::uint64_t seed, const std::string& path);
  void build_for_points(const Json& configuration, std::uint64_t seed, const std::string& path);
  void check_counts(const HostRequest& request) const;

  std::int64_t channels_, point_axes_ = 0;
  Json prior_options_ = Json::object();
  std::vector<std::int64_t> image_extent_;
  std::vector<Layout> layouts_;  // by stage
  std::shared_ptr<Task> task_;   // or null
  std::shared_ptr<Denoiser> denoiser_;
  std::shared_ptr<Module> network_;  // either of them, or what holds the backbone alone
  std::shared_ptr<Backbone> backbone_;
};

}  // namespace locus::engine
