// A model around priors that are looked at: built from a small document instead of a whole specification.
#pragma once

#include "engine/backbones/backbone.h"
#include "engine/backbones/block.h"
#include "engine/tasks/task.h"

namespace locus::engine {

// What to build. `specification`: "model" {"id", "options"} and "priors" [{"id", "options"}] as in a stage
// configuration, and optionally "channels" (3) and "classes" (10). Where the model has options for its depth, class
// token and registers, these come from the other fields and may not stand in the options.
struct HostRequest {
  Json specification;
  std::vector<std::int64_t> grid;  // rows and columns of patches, of the first stage
  std::int64_t prefix = 0;         // tokens in front: none, a class token, a class token and registers
  std::int64_t layers = 1;
  std::string path = "auto";
  std::uint64_t seed = 0;
};

// A task with its backbone, and the parts of it by name. Throws std::invalid_argument on anything the
// catalog refuses. Not thread-safe.
class Host {
 public:
  explicit Host(const HostRequest& request);
  // The model of a stage configuration (docs/formats/catalog.md) as it is initialized; `facts` of its dataset.
  Host(const Json& configuration, const Json& facts);

  Task& task() const { return *task_; }
  Backbone& backbone() const { return *backbone_; }
  Attention& attention(std::int64_t layer) const;
  Block& block(std::int64_t layer) const;
  Linear& head() const;
  const Layout& layout() const { return layouts_.back(); }  // of the last stage
  const Layout& layout(std::int64_t layer) const;           // of the layer's stage
  const LayerInfo& layer_info(std::int64_t layer) const { return block(layer).info(); }
  std::int64_t width() const { return backbone_->width(); }   // of the last stage
  std::int64_t heads() const { return layer_info(0).heads; }  // of the first layer
  std::int64_t backbone_layers() const { return static_cast<std::int64_t>(backbone_->blocks().size()); }
  std::int64_t channels() const { return channels_; }
  const Json& prior_options() const { return prior_options_; }  // of the first prior, as given
  const std::vector<std::int64_t>& image_extent() const { return image_extent_; }

  // Throws std::invalid_argument where the network has several stages or windows, of which `what` ("a picture")
  // cannot be made.
  void require_one_plain_stage(const std::string& what) const;

  // Calls begin_forward of every prior, as the backbone does.
  void begin_forward(const ForwardContext& context) const;

 private:
  void build(const Json& configuration, const Json& facts, std::uint64_t seed, const std::string& path);

  std::int64_t channels_;
  Json prior_options_ = Json::object();
  std::vector<std::int64_t> image_extent_;
  std::vector<Layout> layouts_;  // by stage
  std::shared_ptr<Task> task_;
  std::shared_ptr<Backbone> backbone_;
};

}  // namespace locus::engine
