// Asks a prior's hooks, one at a time, what they make of tokens.
#include "engine/probe/views.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace locus::engine {
namespace {

constexpr double kNever = -1e30;        // a bias below this hides the key
constexpr std::int64_t kImpulses = 32;  // at a time, so that large grids fit in memory

// The rows and columns of patches alone: [.., T, T] -> [.., N, N].
Tensor of_patches(const Tensor& pairs, const Layout& layout) {
  return pairs.slice(-2, layout.prefix).slice(-1, layout.prefix);
}

// [H, N, N] of a term, every head written out.
Tensor table(const BiasTerm& term, const Layout& layout, std::int64_t heads) {
  const Tensor dense = of_patches(term.dense()[0], layout);
  return dense.expand({heads, dense.size(1), dense.size(2)});
}

// What `response` of content at one patch alone is larger than that of none: `response` maps tokens [n, T, D]
// to tokens. [patches the content is at, T, D]
Tensor impulse_responses(const std::function<Tensor(const Tensor&)>& response, const Layout& layout, std::int64_t width,
                         const at::TensorOptions& options) {
  const std::int64_t patches = layout.patches();
  const Tensor silence = response(at::zeros({1, layout.tokens(), width}, options));
  std::vector<Tensor> parts;
  for (std::int64_t first = 0; first < patches; first += kImpulses) {
    const std::int64_t count = std::min(kImpulses, patches - first);
    Tensor tokens = at::zeros({count, layout.tokens(), width}, options);
    for (std::int64_t i = 0; i < count; ++i)
      tokens.select(0, i).select(0, layout.prefix + first + i).fill_(1 / std::sqrt(static_cast<double>(width)));
    parts.push_back(response(tokens) - silence);
  }
  return at::cat(parts);
}

// Lengths of responses by part of the width: [N, T, D] -> [parts, N queries, N keys].
Tensor reached(const Tensor& responses, const Layout& layout, std::int64_t parts) {
  const Tensor lengths =
      responses.slice(1, layout.prefix).unflatten(-1, {parts, -1}).square().sum(-1).sqrt();  // [key, query, part]
  return lengths.permute({2, 1, 0});
}

// Maps that only copy, so that what a prior does inside an MLP is seen alone. `hidden`: width inside.
FeedForward copying(std::int64_t width, std::int64_t hidden) {
  const auto widened = [hidden](const Tensor& x) {
    const std::int64_t times = (hidden + x.size(-1) - 1) / x.size(-1);
    return x.repeat({1, 1, times}).narrow(-1, 0, hidden);
  };
  const auto narrowed = [width](const Tensor& h) {
    return h.size(-1) >= width ? h.narrow(-1, 0, width) : at::constant_pad_nd(h, {0, width - h.size(-1)});
  };
  return {[](const Tensor& x) { return x; }, widened, narrowed};
}

// Width inside the MLP of a block; that of the tokens where it has none.
std::int64_t hidden_width(const Host& host, std::int64_t layer) {
  const auto parameters = host.block(layer).named_parameters();
  const Tensor* in = parameters.find("mlp.in.weight");
  return in == nullptr ? host.layer_info(layer).width : in->size(0);
}

struct Asked {
  const Host& host;
  const NamedPrior& named;
  std::int64_t layer;
  PriorLayer& part;
  const SeenSides& seen;
  const ForwardContext& context;

  bool has(Hook hook) const { return named.has(hook) && named.prior->uses(hook); }
  const Layout& layout() const { return seen.layout; }
  std::int64_t heads() const { return host.layer_info(layer).heads; }
};

// The prior's part in a layer, or null.
PriorLayer* part_in(const Host& host, const NamedPrior& named, std::int64_t layer) {
  const std::int64_t first = host.stage(host.layer_info(layer).stage).layers[0].layer;
  return named.prior->layers()[static_cast<std::size_t>(layer - first)].get();
}

void add_terms(const Asked& asked, std::vector<View>& views) {
  const auto add = [&](Hook hook, BiasTerm (PriorLayer::*call)(const AttentionInputs&, const ForwardContext&),
                       const char* id, const char* title, const std::string& help) {
    if (!asked.has(hook)) return;
    const AttentionInputs inputs = asked.seen.inputs();
    const BiasTerm term = (asked.part.*call)(inputs, asked.context);
    views.push_back(
        {id, title, help + ", " + asked.seen.what, asked.named.id, table(term, asked.layout(), asked.heads())});
  };
  if (!whole_grid(asked.host, asked.layer)) return;
  add(Hook::kScale, &PriorLayer::scale, "scale", "Factor on the logits",
      "what multiplies the content logit of a query and a key");
  add(Hook::kBias, &PriorLayer::bias, "bias", "Bias of the logits",
      "what is added to the content logit of a query and a key");
  if (asked.has(Hook::kProbabilities)) {
    const std::int64_t tokens = asked.layout().tokens();
    const Tensor even =
        at::full({1, asked.heads(), tokens, tokens}, 1.0 / static_cast<double>(tokens), asked.seen.x.options());
    const Tensor made = asked.part.probabilities(even, asked.seen.inputs(), asked.context);
    views.push_back({"probabilities", "What becomes of even attention",
                     "the probabilities that the prior makes where every key had the same, " + asked.seen.what,
                     asked.named.id, of_patches(made[0], asked.layout()), /*from_zero=*/true});
  }
}

void add_turn(const Asked& asked, std::vector<View>& views) {
  if (!asked.has(Hook::kTransformQk)) return;
  const Tensor equal = at::full_like(asked.seen.q, 1 / std::sqrt(static_cast<double>(asked.seen.q.size(-1))));
  const AttentionInputs inputs{asked.seen.x, equal, equal, asked.seen.v, asked.layout()};
  const auto [q, k] = asked.part.transform_qk(equal, equal, inputs, asked.context);
  const Tensor product = at::matmul(q, k.transpose(-1, -2))[0];
  views.push_back({"turn", "Agreement of equal queries and keys",
                   "inner product of a query and a key that were equal, of length 1, before the prior changed "
                   "them by their places",
                   asked.named.id, of_patches(product, asked.layout())});
}

void add_reach(const Asked& asked, std::vector<View>& views) {
  const Layout& layout = asked.layout();
  const std::int64_t width = asked.host.layer_info(asked.layer).width, heads = asked.heads();
  const auto add = [&](const char* id, const char* title, std::int64_t parts,
                       const std::function<Tensor(const Tensor&)>& response) {
    const Tensor responses = impulse_responses(response, layout, width, asked.seen.x.options());
    views.push_back({id, title,
                     "length of what is added to the query patch when the key patch alone holds content, of "
                     "length 1",
                     asked.named.id, reached(responses, layout, parts), /*from_zero=*/true});
  };
  if (asked.has(Hook::kBlockEmbed)) {
    add("reach", "Reach of what a block adds", 1, [&](const Tensor& tokens) {
      const Tensor begun = asked.part.embed(Site::kBlockStart, tokens, layout, asked.context);
      return asked.part.embed(Site::kBlockEnd, begun, layout, asked.context) - tokens;
    });
  }
  if (asked.has(Hook::kAddOutput)) {
    add("output-reach", "Reach of what is added to attention", heads, [&](const Tensor& tokens) {
      const Tensor v = tokens.unflatten(-1, {heads, -1}).transpose(1, 2).contiguous();
      const Tensor nothing = at::zeros_like(v), x = at::zeros_like(tokens);
      return asked.part.add_output({x, nothing, nothing, v, layout}, asked.context);
    });
  }
  if (asked.has(Hook::kFeedForward)) {
    const FeedForward mlp =
        asked.part.replaces_mlp() ? FeedForward{} : copying(width, hidden_width(asked.host, asked.layer));
    add("mlp-reach", "Reach of the feed-forward", 1,
        [&](const Tensor& tokens) { return asked.part.feed_forward(tokens, mlp, layout, asked.context); });
  }
}

// Takes the watchers off again, whatever happens.
class Watching {
 public:
  explicit Watching(const Host& host) : host_(host) {}
  ~Watching() {
    for (std::int64_t l = 0; l < host_.backbone_layers(); ++l) host_.attention(l).watch({});
  }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;

 private:
  const Host& host_;
};

}  // namespace

Json Shown::described() const {
  if (plain) return Json::object();
  Json out = {{"stage", stage.index}};
  if (stage.windows) out["window"] = layout.extent;
  return out;
}

Shown shown_stage(const Host& host, std::int64_t stage) {
  const StageInfo& info = host.stage(stage);
  const Layout& grid = host.stage_layout(stage);
  Shown out{.stage = info, .layout = grid, .plain = info.stages == 1 && !info.windows};
  if (!info.windows) return out;
  out.layout = info.layers[0].reference;
  out.windows = host.block(info.layers[0].layer).options().attention.partition.count(grid);
  return out;
}

SeenSides SeenSides::without_content() const {
  return {at::zeros_like(x),           at::zeros_like(q), at::zeros_like(k), at::zeros_like(v), layout,
          "for tokens without content"};
}

void watch_forward(const Host& host, const Tensor& images, const ForwardContext& context, const PassWatcher& each) {
  const Watching watching(host);
  for (std::int64_t l = 0; l < host.backbone_layers(); ++l) {
    host.attention(l).watch(
        [&each, l](const Scores& scores, const AttentionInputs& inputs) { each(l, scores, inputs); });
  }
  host.backbone().forward(images, context);
}

Tensor equal_patches(const Host& host) {
  return at::ones({1, host.channels(), host.image_extent()[0], host.image_extent()[1]}, host.options());
}

Tensor whole_attention(const std::vector<Tensor>& passes, const std::vector<std::int64_t>& extent) {
  if (passes.size() == 1) return passes[0];
  const std::int64_t rows = extent.at(0), columns = extent.at(1), heads = passes[0].size(1);
  // [B rows, H, W, W] -> [B, rows, H, W, W], and the other axis likewise
  const Tensor across = passes[0].unflatten(0, {-1, rows}), down = passes[1].unflatten(0, {-1, columns});
  // P[(y, x), (j, i)] = down[x][y, j] across[j][x, i]
  const Tensor first = across.permute({0, 2, 1, 3, 4}).unsqueeze(2);  // [B, H, 1, j, x, i]
  const Tensor second = down.permute({0, 2, 3, 4, 1}).unsqueeze(-1);  // [B, H, y, j, x, 1]
  return (first * second).permute({0, 1, 2, 4, 3, 5}).reshape({-1, heads, rows * columns, rows * columns});
}

bool whole_grid(const Host& host, std::int64_t layer) {
  for (const auto& named : host.backbone().priors(host.layer_info(layer).stage)) {
    if (named.has(Hook::kPattern)) return named.prior->pattern(host.layer_info(layer)) == Pattern::kGlobal;
  }
  return true;
}

std::vector<View> prior_views(const Host& host, const NamedPrior& named, std::int64_t layer, const SeenSides& seen,
                              const ForwardContext& context) {
  std::vector<View> views;
  PriorLayer* part = part_in(host, named, layer);
  if (part == nullptr) return views;
  named.prior->begin_forward(seen.layout, context);
  const Asked asked{host, named, layer, *part, seen, context};
  add_terms(asked, views);
  add_turn(asked, views);
  add_reach(asked, views);
  return views;
}

std::vector<View> stem_views(const Host& host, const NamedPrior& named, const Layout& whole,
                             const ForwardContext& context) {
  if (!named.has(Hook::kEmbed) || !named.prior->uses(Hook::kEmbed)) return {};
  // The model's own order: what is added before the prefix joins sees patches alone.
  named.prior->begin_forward(whole, context);
  Tensor added = at::zeros({1, whole.patches(), host.stage(0).width}, host.options());
  added = named.prior->embed(Site::kBeforePrefix, added, whole, context);
  added = at::constant_pad_nd(added, {0, 0, whole.prefix, 0});
  added = named.prior->embed(Site::kAfterPrefix, added, whole, context).slice(1, whole.prefix);
  const Tensor unit = added / added.square().sum(-1, /*keepdim=*/true).sqrt().clamp_min(1e-12);
  return {{"likeness", "Likeness of positions", "cosine of what is added to the query patch and to the key patch",
           named.id, at::matmul(unit, unit.mT())}};
}

View equal_attention_view(const Host& host, std::int64_t layer, const ForwardContext& context) {
  std::vector<Tensor> passes;
  std::int64_t prefix = 0;
  watch_forward(
      host, equal_patches(host), context, [&](std::int64_t at, const Scores& scores, const AttentionInputs& inputs) {
        if (at != layer) return;
        const std::int64_t tokens = scores.q.size(2);
        passes.push_back(
            explicit_weights(scores).probabilities.expand({scores.q.size(0), scores.q.size(1), tokens, tokens}));
        prefix = inputs.layout.prefix;
      });
  const Tensor whole = whole_attention(passes, shown_stage(host, host.layer_info(layer).stage).layout.extent)[0];
  return {"attention",
          "Attention of equal patches",
          "what is attended to when every patch has the same content",
          "",
          whole.slice(-2, prefix).slice(-1, prefix),
          /*from_zero=*/true};
}

Json curves_of(const Host& host, const NamedPrior& named, std::int64_t layer, const SeenSides& seen,
               const ForwardContext& context) {
  Json out = Json::array();
  PriorLayer* part = part_in(host, named, layer);
  if (part == nullptr || !whole_grid(host, layer)) return out;
  const auto add = [&](Hook hook, BiasTerm (PriorLayer::*call)(const AttentionInputs&, const ForwardContext&)) {
    if (!named.has(hook) || !named.prior->uses(hook)) return;
    const BiasTerm term = ((*part).*call)(seen.inputs(), context);
    const auto* decay = std::get_if<CurveDecay>(&term.form());
    if (decay == nullptr) return;
    const Tensor order = decay->ranks->rank().to(at::kCPU, at::kLong).argsort(/*stable=*/true, 1, false);
    const std::vector<std::string>& names = decay->ranks->names();
    for (std::int64_t c = 0; c < order.size(0); ++c) {
      const auto index = static_cast<std::size_t>(c);
      const Tensor row = order[c].contiguous();
      const std::vector<std::int64_t> path(row.const_data_ptr<std::int64_t>(),
                                           row.const_data_ptr<std::int64_t>() + row.numel());
      out.push_back({{"name", names.empty() ? "curve " + std::to_string(c) : names.at(index)}, {"path", path}});
    }
  };
  add(Hook::kScale, &PriorLayer::scale);
  add(Hook::kBias, &PriorLayer::bias);
  return out;
}

Json rounded_number(double value) {
  if (value < kNever || !std::isfinite(value)) return nullptr;
  if (value == 0) return 0.0;
  const double unit = std::pow(10.0, 3 - std::floor(std::log10(std::abs(value))));
  return std::isfinite(unit) ? std::round(value * unit) / unit : 0.0;
}

Json rounded_values(const Tensor& values, const std::vector<std::int64_t>& queries) {
  const Tensor all = values.detach().to(at::kCPU, at::kDouble).contiguous();
  const auto number = all.accessor<double, 3>();
  std::vector<std::int64_t> rows = queries;
  for (std::int64_t i = 0; queries.empty() && i < all.size(1); ++i) rows.push_back(i);
  Json out = Json::array();
  for (std::int64_t h = 0; h < all.size(0); ++h) {
    Json head = Json::array();
    for (const std::int64_t i : rows) {
      Json row = Json::array();
      for (std::int64_t j = 0; j < all.size(2); ++j) row.push_back(rounded_number(number[h][i][j]));
      head.push_back(std::move(row));
    }
    out.push_back(std::move(head));
  }
  return out;
}

Json color_range(const std::vector<Tensor>& values, bool from_zero) {
  double low = from_zero ? 0 : std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  for (const Tensor& each : values) {
    const Tensor flat = each.detach().to(at::kCPU, at::kDouble).flatten();
    const Tensor seen = at::masked_select(flat, flat.ge(kNever).logical_and(at::isfinite(flat)));
    if (seen.numel() == 0) continue;
    low = std::min(low, seen.min().item<double>()), high = std::max(high, seen.max().item<double>());
  }
  if (high < low) low = high = 0;
  const bool diverging = low < 0 && high > 0;
  if (diverging) high = std::max(-low, high), low = -high;
  return {
      {"scale", diverging ? "diverging" : "sequential"}, {"low", rounded_number(low)}, {"high", rounded_number(high)}};
}

}  // namespace locus::engine
