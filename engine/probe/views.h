// What can be seen of a prior in one layer of a host, as tensors. Knows forms and hooks, no prior.
#pragma once

#include "engine/priors/numbers.h"
#include "engine/probe/host.h"

namespace locus::engine {

// Where the layers of a stage look: what their softmax sees, the stage's grid or one window of it.
struct Shown {
  const StageInfo& stage;
  Layout layout;
  std::int64_t windows = 1;  // of an image
  bool plain = true;         // the whole grid of a network of one stage
  std::int64_t heads() const { return stage.layers[0].heads; }
  std::int64_t width() const { return stage.width; }
  std::int64_t first_layer() const { return stage.layers[0].layer; }
  // "stage", and "window" where there are any; nothing of a plain network.
  Json described() const;
};
// Throws std::invalid_argument where the network has no such stage.
Shown shown_stage(const Host& host, std::int64_t stage);

// Whether what is added to the stem lies on that grid.
inline bool shows_stem(const Shown& shown) { return shown.stage.index == 0 && !shown.stage.windows; }

// What an attention layer worked on: x [B, T, D] and raw q, k, v [B, H, T, d].
struct SeenSides {
  Tensor x, q, k, v;
  Layout layout;
  std::string what;  // whose tokens these are: "for tokens without content"
  AttentionInputs inputs() const { return {x, q, k, v, layout}; }
  SeenSides without_content() const;  // the same shapes, all zero
};

// Runs the host on images [B, C, H, W] and calls `each` for every pass of every layer's attention, in order.
// Prefix tokens are where the model has them. Call without gradients.
using PassWatcher = std::function<void(std::int64_t layer, const Scores& scores, const AttentionInputs& inputs)>;
void watch_forward(const Host& host, const Tensor& images, const ForwardContext& context, const PassWatcher& each);

// An image of one color [1, C, H, W], whose patches all have the same content.
Tensor equal_patches(const Host& host);

// Attention of all patches to all from the passes of a layer [B, H, T, T]: the one pass, or along axes their
// product. [B, H, T, T].
Tensor whole_attention(const std::vector<Tensor>& passes, const std::vector<std::int64_t>& extent);

struct View {
  std::string id, title, help, prior;  // `prior`: whose, empty where it is of the model
  Tensor values;                       // [H or 1, N, N], queries in rows; patches alone
  bool from_zero = false;              // the smallest color is 0 even where no value is
};

// Whether the layer attends to all it sees in one pass.
bool whole_grid(const Host& host, std::int64_t layer);

// What one prior of the host does in a layer for tokens like `seen`: its factor and bias, what becomes of even
// attention, how it turns queries and keys, and how far content reaches through what it adds to tokens.
// What it has no hook for is left out.
std::vector<View> prior_views(const Host& host, const NamedPrior& named, std::int64_t layer, const SeenSides& seen,
                              const ForwardContext& context);
// The likeness of what a prior adds to the stem, whose tokens are laid out like this; none without the hook.
std::vector<View> stem_views(const Host& host, const NamedPrior& named, const Layout& layout,
                             const ForwardContext& context);
// Attention when every patch of the image has the same content, of windows that of the first.
View equal_attention_view(const Host& host, std::int64_t layer, const ForwardContext& context);
// The order in which each curve of the prior's factor and bias visits the patches: [{"name", "path"}].
Json curves_of(const Host& host, const NamedPrior& named, std::int64_t layer, const SeenSides& seen,
               const ForwardContext& context);

// To 4 significant digits; null for what is hidden or no number.
Json rounded_number(double value);
// Rows of values [H, N, N] as values[head][query][key]; of `queries` alone unless empty.
Json rounded_values(const Tensor& values, const std::vector<std::int64_t>& queries = {});
// "scale", "low" and "high" of all the values given, hidden ones left out.
Json color_range(const std::vector<Tensor>& values, bool from_zero);

}  // namespace locus::engine
