// The reference Vision Transformer.
#include "tests/engine/priors/reference/reference_model.h"

#include <algorithm>

#include "tests/engine/priors/reference/reference_attention.h"

namespace locus::engine::test {

std::int64_t ReferenceContext::patches() const {
  std::int64_t count = 1;
  for (const std::int64_t length : extent) count *= length;
  return count;
}

std::int64_t ReferenceContext::at(std::int64_t token, std::size_t along) const {
  if (!patch(token)) throw std::out_of_range("a prefix token has no place on the grid");
  std::int64_t rest = token - prefix;
  for (std::size_t side = extent.size(); side-- > along + 1;) rest /= extent[side];
  return rest % extent.at(along);
}

const Array& ReferenceContext::own(const std::string& name) const {
  return parameters.at("layers." + std::to_string(layer) + "." + name);
}
bool ReferenceContext::has_own(const std::string& name) const {
  return parameters.contains("layers." + std::to_string(layer) + "." + name);
}

std::unique_ptr<ReferencePrior> reference_prior(std::string_view id) {
  const std::map<std::string, std::unique_ptr<ReferencePrior> (*)(), std::less<>> all = {
#define LOCUS_PRIOR(file) {#file, reference_##file},
#include "engine/priors/priors.def"
#undef LOCUS_PRIOR
  };
  std::string file(id);
  std::replace(file.begin(), file.end(), '-', '_');
  return all.at(file)();
}

namespace {

constexpr double kEps = 1e-6;

Array layer_norm(const Array& x, const Array& weight, const Array& bias) {
  Array y = x;
  const auto width = static_cast<std::size_t>(x.shape().back());
  for (std::size_t row = 0; row < y.data().size(); row += width) {
    Real mean = 0.0, variance = 0.0;
    for (std::size_t c = 0; c < width; ++c) mean += x.data()[row + c];
    mean = mean / static_cast<double>(width);
    for (std::size_t c = 0; c < width; ++c) {
      const Real apart = x.data()[row + c] - mean;
      variance += apart * apart;
    }
    const Real deviation = sqrt(variance / static_cast<double>(width) + kEps);
    for (std::size_t c = 0; c < width; ++c) {
      const auto channel = static_cast<std::int64_t>(c);
      y.data()[row + c] = (x.data()[row + c] - mean) / deviation * weight(channel) + bias(channel);
    }
  }
  return y;
}

class Model {
 public:
  Model(const ReferenceShape& shape, const std::vector<ReferenceChoice>& choices, const Values& values,
        const Array& images, const ReferenceRun& run)
      : shape_(shape), values_(values), batch_(images.size(0)), images_(images), run_(run) {
    for (std::size_t axis = 0; axis < shape.image_extent.size(); ++axis) {
      extent_.push_back(images.size(2 + axis) / shape.patch);
      reference_.push_back(shape.image_extent[axis] / shape.patch);
    }
    for (const ReferenceChoice& choice : choices) {
      const std::string start = "priors." + choice.id + ".";
      Prior prior{reference_prior(choice.id), choice.options, {}};
      for (const auto& [name, value] : values) {
        if (name.starts_with(start)) prior.parameters.emplace(name.substr(start.size()), value);
      }
      joins_ = std::max(joins_, prior.is->prefix_from(prior.options));
      priors_.push_back(std::move(prior));
    }
    joins_ = std::min(joins_, shape.depth - 1);
    if (joins_ == 0) prefix_ = shape_.prefix();
  }

  ReferenceTokens run() {
    Array x = embedded();
    for (std::int64_t l = 0; l < shape_.depth; ++l) {
      if (l == joins_ && l > 0) {
        prefix_ = shape_.prefix();
        x = with_prefix(x);
      }
      x = block(l, x);
    }
    ReferenceTokens out{norm(x, "norm"), 0.0};
    if (run_.training) {
      for (const Prior& prior : priors_) out.losses += prior.is->loss(context(prior, 0), x, out.tokens);
    }
    return out;
  }

 private:
  struct Prior {
    std::unique_ptr<ReferencePrior> is;
    Json options;
    Values parameters;
  };

  const Array& value(const std::string& name) const { return values_.at(name); }
  Array norm(const Array& x, const std::string& name) const {
    return layer_norm(x, value(name + ".weight"), value(name + ".bias"));
  }
  Array map(const Array& x, const std::string& name) const {
    return linear(x, value(name + ".weight"), value(name + ".bias"));
  }

  ReferenceContext context(const Prior& prior, std::int64_t layer) const {
    return {.options = prior.options,
            .parameters = prior.parameters,
            .extent = extent_,
            .reference_extent = reference_,
            .prefix = prefix_,
            .batch = batch_,
            .width = shape_.width,
            .heads = shape_.heads,
            .hidden = shape_.hidden,
            .layer = layer,
            .layers = shape_.depth,
            .scale = 1 / std::sqrt(static_cast<double>(shape_.width / shape_.heads)),
            .training = run_.training,
            .step = run_.step,
            .random = run_.random};
  }

  // Patches, then the prefix before them.
  Array embedded() {
    std::int64_t patches = 1, numbers = images_.size(1);
    for (const std::int64_t side : extent_) {
      patches *= side;
      numbers *= shape_.patch;
    }
    Array pixels({batch_, patches, numbers});
    for (std::int64_t b = 0; b < batch_; ++b) {
      for (std::int64_t t = 0; t < patches; ++t) {
        for (std::int64_t i = 0; i < numbers; ++i) pixels(b, t, i) = pixel(b, t, i);
      }
    }
    Array x = map(pixels, "embed");
    for (const Prior& prior : priors_) prior.is->embed(context(prior, 0), false, x);
    x = with_prefix(x);
    for (const Prior& prior : priors_) prior.is->embed(context(prior, 0), true, x);
    return x;
  }

  // Number i of a patch: channels first, then its rows and columns, in a video frames before them.
  const Real& pixel(std::int64_t b, std::int64_t patch, std::int64_t i) const {
    const std::int64_t p = shape_.patch;
    std::vector<std::int64_t> at(extent_.size());
    for (std::size_t axis = extent_.size(); axis-- > 0;) {
      at[axis] = patch % extent_[axis] * p + i % p;
      patch /= extent_[axis];
      i /= p;
    }
    return at.size() == 3 ? images_(b, i, at[0], at[1], at[2]) : images_(b, i, at[0], at[1]);
  }

  Array with_prefix(const Array& patches) const {
    Array all({batch_, prefix_ + patches.size(1), shape_.width});
    for (std::int64_t b = 0; b < batch_; ++b) {
      for (std::int64_t t = 0; t < all.size(1); ++t) {
        for (std::int64_t c = 0; c < shape_.width; ++c) all(b, t, c) = token(patches, b, t, c);
      }
    }
    return all;
  }

  const Real& token(const Array& patches, std::int64_t b, std::int64_t t, std::int64_t c) const {
    if (t >= prefix_) return patches(b, t - prefix_, c);
    if (shape_.class_token && t == 0) return value("class_token")(0, c);
    return value("registers")(t - (shape_.class_token ? 1 : 0), c);
  }

  Array block(std::int64_t l, Array x) {
    const std::string name = "blocks." + std::to_string(l);
    for (const Prior& prior : priors_) prior.is->block_embed(context(prior, l), false, x);
    add(x, attention(l, norm(x, name + ".norm1")));
    const ReferenceMlp mlp{.norm = [&](const Array& y) { return norm(y, name + ".norm2"); },
                           .in =
                               [&](const Array& y) {
                                 Array inside = map(y, name + ".mlp.in");
                                 for (Real& entry : inside.data()) entry = gelu(entry);
                                 return inside;
                               },
                           .out = [&](const Array& y) { return map(y, name + ".mlp.out"); }};
    Array added;
    for (const Prior& prior : priors_) {
      Array found = prior.is->feed_forward(context(prior, l), x, mlp);
      if (!found.empty()) added = std::move(found);
    }
    add(x, added.empty() ? mlp.out(mlp.in(mlp.norm(x))) : added);
    for (const Prior& prior : priors_) prior.is->block_embed(context(prior, l), true, x);
    return x;
  }

  Array attention(std::int64_t l, const Array& x) {
    const std::string name = "blocks." + std::to_string(l) + ".attention";
    const Array qkv = map(x, name + ".qkv");
    const Array q = reference_heads(qkv, 0, shape_.heads), k = reference_heads(qkv, 1, shape_.heads),
                v = reference_heads(qkv, 2, shape_.heads);
    std::vector<ReferenceContext> contexts;
    for (const Prior& prior : priors_) {
      contexts.push_back(context(prior, l));
      contexts.back().x = &x;
      contexts.back().q = &q;
      contexts.back().k = &k;
      contexts.back().v = &v;
    }
    Array turned_q = q, turned_k = k;
    bool axial = false;
    for (std::size_t i = 0; i < priors_.size(); ++i) {
      priors_[i].is->transform(contexts[i], turned_q, turned_k);
      axial = axial || priors_[i].is->axial(contexts[i]);
    }
    Array out = axial ? attend_along_axes(contexts, turned_q, turned_k, v) : attend(contexts, turned_q, turned_k, v);
    Array merged(x.shape());
    const std::int64_t d = shape_.width / shape_.heads;
    for (std::int64_t b = 0; b < batch_; ++b) {
      for (std::int64_t t = 0; t < x.size(1); ++t) {
        for (std::int64_t c = 0; c < shape_.width; ++c) merged(b, t, c) = out(b, c / d, t, c % d);
      }
    }
    for (std::size_t i = 0; i < priors_.size(); ++i) {
      const Array more = priors_[i].is->add_output(contexts[i]);
      if (!more.empty()) add(merged, more);
    }
    for (std::size_t i = 0; i < priors_.size(); ++i) {
      const Array gate = priors_[i].is->gate_output(contexts[i]);
      if (!gate.empty()) multiply(merged, gate);
    }
    return map(merged, name + ".out");
  }

  Array attend(const std::vector<ReferenceContext>& contexts, const Array& q, const Array& k, const Array& v) {
    std::vector<ReferenceHere> here;
    for (std::size_t n = 0; n < priors_.size(); ++n) here.push_back({*priors_[n].is, contexts[n]});
    return reference_softmax(here, q, k, v);
  }

  // The patch that stands at `place` of line `line` along an axis: on a rectangle 1 is a row, 0 a column.
  std::int64_t on_line(std::int64_t axis, std::int64_t line, std::int64_t place) const {
    std::int64_t step = 1;  // between neighbors of the line
    for (std::size_t later = static_cast<std::size_t>(axis) + 1; later < extent_.size(); ++later)
      step *= extent_[later];
    return (line / step * extent_[static_cast<std::size_t>(axis)] + place) * step + line % step;
  }

  // [B, H, N, c] -> [B * lines, H, length, c]; `heads` 0: [B, N, c] -> [B * lines, length, c].
  Array lines(const Array& t, std::int64_t axis) const {
    std::vector<std::int64_t> shape = t.shape();
    const std::size_t place = shape.size() - 2;
    const std::int64_t length = extent_[static_cast<std::size_t>(axis)], count = shape[place] / length;
    shape[0] *= count;
    shape[place] = length;
    Array out(shape);
    for (std::int64_t n = 0; n < shape[0]; ++n) {
      for (std::int64_t s = 0; s < length; ++s) {
        for (std::int64_t c = 0; c < shape.back(); ++c) {
          const std::int64_t token = on_line(axis, n % count, s);
          if (place == 1) out(n, s, c) = t(n / count, token, c);
          for (std::int64_t h = 0; place == 2 && h < shape[1]; ++h) out(n, h, s, c) = t(n / count, h, token, c);
        }
      }
    }
    return out;
  }

  Array attend_along_axes(const std::vector<ReferenceContext>& contexts, const Array& q, const Array& k, Array v) {
    for (auto axis = static_cast<std::int64_t>(extent_.size()) - 1; axis >= 0; --axis) {
      const Array x = lines(*contexts[0].x, axis), raw_q = lines(*contexts[0].q, axis),
                  raw_k = lines(*contexts[0].k, axis), values = lines(v, axis);
      std::vector<ReferenceContext> along = contexts;
      for (ReferenceContext& c : along) {
        c.extent = {extent_[static_cast<std::size_t>(axis)]};
        c.axis = axis;
        c.batch = x.size(0);
        c.x = &x;
        c.q = &raw_q;
        c.k = &raw_k;
        c.v = &values;
      }
      const Array out = attend(along, lines(q, axis), lines(k, axis), values);
      const std::int64_t count = out.size(0) / batch_;
      for (std::int64_t n = 0; n < out.size(0); ++n) {
        for (std::int64_t h = 0; h < out.size(1); ++h) {
          for (std::int64_t s = 0; s < out.size(2); ++s) {
            for (std::int64_t c = 0; c < out.size(3); ++c)
              v(n / count, h, on_line(axis, n % count, s), c) = out(n, h, s, c);
          }
        }
      }
    }
    return v;
  }

  ReferenceShape shape_;
  const Values& values_;
  std::int64_t batch_ = 0, prefix_ = 0;  // prefix: of the block at hand
  std::int64_t joins_ = 0;               // the block before which the prefix joins
  const Array& images_;
  ReferenceRun run_;
  std::vector<std::int64_t> extent_, reference_;
  std::vector<Prior> priors_;
};

}  // namespace

ReferenceTokens reference_model(const ReferenceShape& shape, const std::vector<ReferenceChoice>& priors,
                                const Values& values, const Array& images, const ReferenceRun& run) {
  return Model(shape, priors, values, images, run).run();
}

}  // namespace locus::engine::test
