// Windows by scalar loops.
#include "tests/engine/priors/reference/reference_windows.h"

#include "tests/engine/priors/reference/reference_attention.h"

namespace locus::engine::test {
namespace {

struct Prior {
  std::unique_ptr<ReferencePrior> is;
  Json options;
  Values parameters;
};

class Layer {
 public:
  Layer(const ReferenceWindows& where, const std::vector<ReferenceChoice>& choices, const Values& values,
        const Array& x, const ReferenceRun& run)
      : where_(where), values_(values), x_(x), run_(run) {
    for (const ReferenceChoice& choice : choices) {
      const std::string start = "priors." + choice.id + ".";
      Prior prior{reference_prior(choice.id), choice.options, {}};
      for (const auto& [name, value] : values) {
        if (name.starts_with(start)) prior.parameters.emplace(name.substr(start.size()), value);
      }
      priors_.push_back(std::move(prior));
    }
    for (std::size_t a = 0; a < 2; ++a) across_[a] = (where.extent[a] + where.window[a] - 1) / where.window[a];
  }

  Array run() {
    Array out = together(attended());
    const Array projected = project(x_), q = reference_heads(projected, 0, where_.heads),
                k = reference_heads(projected, 1, where_.heads), v = reference_heads(projected, 2, where_.heads);
    for (const Prior& prior : priors_) {
      const Array more = prior.is->add_output(context(prior, where_.extent, x_, q, k, v));
      if (!more.empty()) add(out, more);
    }
    for (const Prior& prior : priors_) {
      const Array gate = prior.is->gate_output(context(prior, where_.extent, x_, q, k, v));
      if (!gate.empty()) multiply(out, gate);
    }
    return linear(out, values_.at("out.weight"), values_.at("out.bias"));
  }

 private:
  std::int64_t windows() const { return across_[0] * across_[1]; }
  std::int64_t places() const { return where_.window[0] * where_.window[1]; }
  std::int64_t width() const { return x_.size(2); }
  Array project(const Array& x) const { return linear(x, values_.at("qkv.weight"), values_.at("qkv.bias")); }

  // Where place `t` of window `w` lies along an axis of the tiled grid.
  std::int64_t tiled(std::int64_t w, std::int64_t t, std::size_t axis) const {
    const std::int64_t window = axis == 0 ? w / across_[1] : w % across_[1];
    const std::int64_t place = axis == 0 ? t / where_.window[1] : t % where_.window[1];
    return window * where_.window[axis] + place;
  }

  // Which row or column of the grid that is; -1 where there is none.
  std::int64_t coordinate(std::int64_t w, std::int64_t t, std::size_t axis) const {
    const std::int64_t at = tiled(w, t, axis), shift = where_.shift[axis], length = where_.extent[axis];
    if (where_.pad_first) {
      const std::int64_t from = (at + shift) % (across_[axis] * where_.window[axis]);
      return from < length ? from : -1;
    }
    return at < length ? (at + shift) % length : -1;
  }

  std::int64_t token(std::int64_t w, std::int64_t t) const {
    const std::int64_t row = coordinate(w, t, 0), column = coordinate(w, t, 1);
    return row < 0 || column < 0 ? -1 : row * where_.extent[1] + column;
  }

  // Figure 4: three bands along each axis, numbered; only a shifted axis has more than one.
  std::int64_t band(std::int64_t w, std::int64_t t, std::size_t axis) const {
    if (where_.shift[axis] == 0) return 0;
    const std::int64_t length = across_[axis] * where_.window[axis], at = tiled(w, t, axis);
    if (at < length - where_.window[axis]) return 0;
    return at < length - where_.shift[axis] ? 1 : 2;
  }
  std::int64_t region(std::int64_t w, std::int64_t t) const { return 3 * band(w, t, 0) + band(w, t, 1); }

  ReferenceContext context(const Prior& prior, const std::vector<std::int64_t>& extent, const Array& x, const Array& q,
                           const Array& k, const Array& v) const {
    return {.options = prior.options,
            .parameters = prior.parameters,
            .extent = extent,
            .reference_extent = where_.window,
            .prefix = 0,
            .batch = x.size(0),
            .width = width(),
            .heads = where_.heads,
            .hidden = width(),
            .layer = 0,
            .layers = 1,
            .scale = 1 / std::sqrt(static_cast<double>(width() / where_.heads)),
            .training = run_.training,
            .step = run_.step,
            .random = run_.random,
            .x = &x,
            .q = &q,
            .k = &k,
            .v = &v};
  }

  // [B * windows, H, places, d]; a place without a token is a token of zeros before the projection.
  Array attended() {
    Array inside({x_.size(0) * windows(), places(), width()});
    for (std::int64_t n = 0; n < inside.size(0); ++n) {
      for (std::int64_t t = 0; t < places(); ++t) {
        const std::int64_t from = token(n % windows(), t);
        for (std::int64_t c = 0; from >= 0 && c < width(); ++c) inside(n, t, c) = x_(n / windows(), from, c);
      }
    }
    const Array projected = project(inside), q = reference_heads(projected, 0, where_.heads),
                k = reference_heads(projected, 1, where_.heads), v = reference_heads(projected, 2, where_.heads);
    std::vector<ReferenceHere> here;
    Array turned_q = q, turned_k = k;
    for (const Prior& prior : priors_) {
      here.push_back({*prior.is, context(prior, where_.window, inside, q, k, v)});
      prior.is->transform(here.back().context, turned_q, turned_k);
    }
    return reference_softmax(here, turned_q, turned_k, v, [this](std::int64_t b, std::int64_t i, std::int64_t j) {
      return region(b % windows(), i) != region(b % windows(), j);
    });
  }

  // [B, N, D]
  Array together(const Array& placed) const {
    Array out(x_.shape());
    const std::int64_t d = placed.size(3);
    for (std::int64_t n = 0; n < placed.size(0); ++n) {
      for (std::int64_t t = 0; t < places(); ++t) {
        const std::int64_t to = token(n % windows(), t);
        for (std::int64_t c = 0; to >= 0 && c < width(); ++c) out(n / windows(), to, c) = placed(n, c / d, t, c % d);
      }
    }
    return out;
  }

  const ReferenceWindows& where_;
  const Values& values_;
  const Array& x_;
  ReferenceRun run_;
  std::vector<Prior> priors_;
  std::int64_t across_[2] = {1, 1};  // windows along each axis
};

}  // namespace

Array reference_windows(const ReferenceWindows& where, const std::vector<ReferenceChoice>& priors, const Values& values,
                        const Array& x, const ReferenceRun& run) {
  return Layer(where, priors, values, x, run).run();
}

}  // namespace locus::engine::test
