// Reads a prior's forms and draws them.
#include "engine/probe/picture.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace locus {
namespace {

constexpr double kNever = -1e30;  // a bias below this hides the key

// To 4 significant digits; null for what is hidden.
Json rounded(double value) {
  if (value < kNever) return nullptr;
  if (value == 0 || !std::isfinite(value)) return 0.0;
  const double unit = std::pow(10.0, 3 - std::floor(std::log10(std::abs(value))));
  return std::round(value * unit) / unit;
}

// values [H, N, N]. `from_zero`: the smallest color is 0 even where no value is.
Json view_of(const std::string& id, const std::string& title, const std::string& help, const Tensor& values,
             bool from_zero) {
  const Tensor all = values.detach().to(at::kCPU, at::kDouble).contiguous();
  double low = from_zero ? 0 : std::numeric_limits<double>::infinity(),
         high = -std::numeric_limits<double>::infinity();
  Json numbers = Json::array(), heads = Json::array();
  const auto number = all.accessor<double, 3>();
  for (std::int64_t h = 0; h < all.size(0); ++h) {
    heads.push_back("head " + std::to_string(h));
    Json rows = Json::array();
    for (std::int64_t i = 0; i < all.size(1); ++i) {
      Json row = Json::array();
      for (std::int64_t j = 0; j < all.size(2); ++j) {
        const double value = number[h][i][j];
        row.push_back(rounded(value));
        if (value < kNever) continue;
        low = std::min(low, value), high = std::max(high, value);
      }
      rows.push_back(std::move(row));
    }
    numbers.push_back(std::move(rows));
  }
  const bool diverging = low < 0 && high > 0;
  if (diverging) high = std::max(-low, high), low = -high;
  return {{"id", id},
          {"title", title},
          {"help", help},
          {"scale", diverging ? "diverging" : "sequential"},
          {"low", rounded(low)},
          {"high", rounded(high)},
          {"heads", heads},
          {"values", numbers}};
}

// Attention of all patches to all: along axes, the product of the passes.
Tensor whole(const std::vector<Tensor>& passes, const Layout& layout) {
  if (passes.size() == 1) return passes[0][0];
  const std::int64_t rows = layout.extent[0], columns = layout.extent[1];
  const Tensor &across = passes[0], &down = passes[1];  // [rows, H, W, W], [columns, H, R, R]
  // P[(y, x), (j, i)] = down[x][y, j] across[j][x, i]
  const Tensor first = across.permute({1, 0, 2, 3}).unsqueeze(1);  // [H, 1, j, x, i]
  const Tensor second = down.permute({1, 2, 3, 0}).unsqueeze(-1);  // [H, y, j, x, 1]
  return (first * second).permute({0, 1, 3, 2, 4}).reshape({-1, rows * columns, rows * columns});
}

// The whole model on an image of one color: every patch has the same content.
Tensor attention_of_equal_patches(const Host& host, std::int64_t layer, const Moment& moment) {
  std::vector<Tensor> passes;
  host.attention(layer).watch([&](const Scores& scores) {
    const std::int64_t tokens = scores.q.size(2);
    passes.push_back(
        explicit_weights(scores).probabilities.expand({scores.q.size(0), scores.q.size(1), tokens, tokens}));
  });
  const Tensor image = at::ones({1, host.channels(), host.image_extent()[0], host.image_extent()[1]},
                                host.head().weight.options());
  host.backbone().forward(image, moment);
  host.attention(layer).watch({});
  return whole(passes, host.layout());
}

// Cosine of what the stem adds to two patches, [1, N, N].
Tensor likeness(Prior& prior, const Host& host, const Moment& moment) {
  Tensor added = at::zeros({1, host.layout().tokens(), host.width()}, host.head().weight.options());
  added = prior.embed(Site::kBeforePrefix, added, host.layout(), moment);
  added = prior.embed(Site::kAfterPrefix, added, host.layout(), moment);
  const Tensor unit = added / added.square().sum(-1, /*keepdim=*/true).sqrt().clamp_min(1e-12);
  return at::matmul(unit, unit.mT());
}

// The order in which each curve of a term visits the patches.
Json curves_of(const Term& term) {
  const auto* decay = std::get_if<CurveDecay>(&term.form());
  Json out = Json::array();
  if (decay == nullptr) return out;
  const Tensor order = decay->ranks->rank().to(at::kCPU, at::kLong).argsort(/*stable=*/true, 1, false);
  const std::vector<std::string>& names = decay->ranks->names();
  for (std::int64_t c = 0; c < order.size(0); ++c) {
    const auto index = static_cast<std::size_t>(c);
    const Tensor row = order[c].contiguous();
    const std::vector<std::int64_t> path(row.const_data_ptr<std::int64_t>(),
                                         row.const_data_ptr<std::int64_t>() + row.numel());
    out.push_back({{"name", names.empty() ? "curve " + std::to_string(c) : names.at(index)}, {"path", path}});
  }
  return out;
}

// [H, N, N] of a term of one layer, every head written out.
Tensor table(const Term& term, std::int64_t heads) {
  const Tensor dense = term.dense()[0];
  return dense.expand({heads, dense.size(1), dense.size(2)});
}

// The views of the bias and the scale, where attention is over the whole grid.
void add_terms(Json& document, const Host& host, const Backbone::NamedPrior& named, std::int64_t layer,
               const Moment& moment) {
  const auto& part = named.prior->layers()[static_cast<std::size_t>(layer)];
  const bool whole_grid =
      !named.has(Hook::kPattern) || named.prior->pattern(host.layer_info(layer)) == Pattern::kGlobal;
  if (!part || !whole_grid) return;
  const auto options_like = host.head().weight.options();
  const std::int64_t tokens = host.layout().tokens(), width = host.width(), heads = host.heads();
  const Tensor x = at::zeros({1, tokens, width}, options_like),
               q = at::zeros({1, heads, tokens, width / heads}, options_like);
  const Sides sides{x, q, q, q, host.layout()};
  host.begin_forward(moment);
  const auto add = [&](Hook hook, Term (PriorLayer::*call)(const Sides&, const Moment&), const char* id,
                       const char* title, const char* help) {
    if (!named.has(hook) || !named.prior->uses(hook)) return;
    const Term term = ((*part).*call)(sides, moment);
    document["views"].push_back(view_of(id, title, help, table(term, heads), /*from_zero=*/false));
    for (const Json& curve : curves_of(term)) document["curves"].push_back(curve);
  };
  add(Hook::kScale, &PriorLayer::scale, "scale", "Factor on the logits",
      "what multiplies the content logit of a query and a key, for tokens without content");
  add(Hook::kBias, &PriorLayer::bias, "bias", "Bias of the logits",
      "what is added to the content logit of a query and a key, for tokens without content");
}

}  // namespace

Json picture_of(const Host& host, std::int64_t layer, std::uint64_t seed) {
  if (host.backbone().priors().size() != 1 || host.layout().prefix != 0)
    throw std::invalid_argument("a picture shows one prior, without prefix tokens");
  const at::NoGradGuard no_grad;
  const auto& named = host.backbone().priors()[0];
  const RandomStreams random(seed);
  const Moment moment{.step = 0, .steps = 1, .training = false, .random = random};
  std::int64_t added = 0;
  for (const Tensor& parameter : named.prior->parameters()) added += parameter.numel();
  Json document = {
      {"version", 1},
      {"prior", named.id},
      {"revision", named.item->item.json().at("revision")},
      {"options", host.prior_options()},
      {"setting",
       std::to_string(host.backbone_layers()) + (host.backbone_layers() == 1 ? " layer of " : " layers of ") +
           std::to_string(host.heads()) + " heads, " + std::to_string(host.width() / host.heads()) +
           " channels each, layer " + std::to_string(layer) + ", seed " + std::to_string(seed)},
      {"grid", host.layout().extent},
      {"parameters_added", added},
      {"views", Json::array()},
      {"curves", Json::array()}};
  add_terms(document, host, named, layer, moment);
  if (named.has(Hook::kEmbed) && named.prior->uses(Hook::kEmbed)) {
    document["views"].push_back(view_of("likeness", "Likeness of positions",
                                        "cosine of what is added to the query patch and to the key patch",
                                        likeness(*named.prior, host, moment), /*from_zero=*/false));
  }
  document["views"].push_back(view_of("attention", "Attention of equal patches",
                                      "what is attended to when every patch has the same content",
                                      attention_of_equal_patches(host, layer, moment), /*from_zero=*/true));
  return document;
}

Json catalog_picture(const std::string& prior) {
  const Host host({.specification = {{"model", {{"options", {{"dim", 64}, {"heads", 4}, {"patch", 2}}}}},
                                     {"priors", Json::array({{{"id", prior}, {"options", Json::object()}}})},
                                     {"channels", 1}},
                   .grid = {6, 6},
                   .prefix = 0,
                   .layers = 1,
                   .path = "auto",
                   .seed = 0});
  return picture_of(host, /*layer=*/0, /*seed=*/0);
}

}  // namespace locus
