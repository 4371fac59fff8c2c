// Every decoder against its definition in scalar loops, values and all gradients; what it counts; how it starts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/base/precision.h"
#include "engine/decoders/decoder.h"
#include "tests/engine/decoders/plain_maps.h"
#include "tests/engine/support/models.h"

namespace locus::engine {
namespace {

using test::Array;
using test::Real;
using test::Weights;

struct Case {
  const char* id;
  Json options;
  bool hierarchical;
  std::int64_t outputs;
  MapExtent image;
  std::vector<std::vector<std::int64_t>> maps;  // shapes
};

std::vector<Case> cases() {
  const std::vector<std::vector<std::int64_t>> one(4, {2, 3, 2, 3}),
      stages = {{2, 2, 8, 8}, {2, 3, 4, 4}, {2, 4, 2, 2}, {2, 5, 1, 1}};
  const Json narrow = {{"width", 4}, {"channels", {2, 3, 4, 3}}};
  Json rectified = narrow;
  rectified["skip"] = "rectified";
  return {{"linear", Json::object(), false, 3, {8, 12}, {{2, 5, 2, 3}}},
          {"token-pyramid", {{"width", 6}}, false, 3, {8, 12}, one},
          {"token-pyramid", {{"width", 4}}, true, 2, {32, 32}, stages},
          {"upernet", {{"width", 4}, {"auxiliary_width", 3}}, false, 3, {8, 12}, one},
          {"upernet", {{"width", 3}, {"auxiliary_width", 2}, {"auxiliary_level", 2}}, true, 2, {32, 32}, stages},
          {"dpt", narrow, false, 1, {9, 13}, one},
          {"dpt", rectified, false, 2, {9, 13}, one},
          {"dpt", narrow, true, 1, {9, 9}, stages}};
}

// Kept constant: which channels are dropped in the step that is compared.
Tensor keep_all(std::string_view purpose, std::string_view, const Tensor& drawn) {
  return purpose == "dropout" ? at::ones_like(drawn) : drawn;
}
const RandomStreams kStreams(11, keep_all);
const double kKept = 1 / 0.9;  // what a channel that is not dropped is multiplied by

// --- the definitions -------------------------------------------------------------------------------------------------

class Plain {
 public:
  Plain(Weights weights, const Case& c) : w_(std::move(weights)), case_(c) {}
  std::vector<Array> operator()(const std::vector<Array>& x) const {
    const std::string id = case_.id;
    if (id == "linear") return {conv(x[0], "map", 1, 0)};
    if (id == "token-pyramid") return {token_pyramid(x)};
    return id == "upernet" ? upernet(x) : std::vector<Array>{dpt(x)};
  }

 private:
  const Array& weight(const std::string& name) const { return w_.at(name); }
  Array conv(const Array& x, const std::string& name, std::int64_t stride, std::int64_t padding) const {
    const auto bias = w_.find(name + ".bias");
    return plain_conv(x, weight(name + ".weight"), bias == w_.end() ? Array() : bias->second, stride, padding);
  }
  Array group(const Array& x, const std::string& name) const {
    const std::int64_t side = weight(name + ".0.weight").size(2), width = weight(name + ".1.weight").size(0);
    return plain_relu(plain_group_norm(conv(x, name + ".0", 1, side / 2), weight(name + ".1.weight"),
                                       weight(name + ".1.bias"), width));  // below 32 channels each is a group
  }
  Array batch(const Array& x, const std::string& name) const {
    const std::int64_t side = weight(name + ".conv.weight").size(2);
    return plain_relu(
        plain_batch_norm(conv(x, name + ".conv", 1, side / 2), weight(name + ".bn.weight"), weight(name + ".bn.bias")));
  }
  static Array up(const Array& x, const Array& like) {
    return plain_interpolated(x, like.size(2), like.size(3), false);
  }
  static Array kept(Array x) {
    for (Real& value : x.data()) value *= kKept;
    return x;
  }

  Array token_pyramid(const std::vector<Array>& x) const {
    std::vector<Array> l;
    for (std::size_t i = 0; i < 4; ++i) l.push_back(group(x[i], "lateral_convs." + std::to_string(i)));
    std::vector<Array> parts = {l[3]};
    const std::int64_t cells[] = {1, 2, 3, 6};
    for (std::size_t i = 0; i < 4; ++i)
      parts.push_back(up(group(plain_pooled(l[3], cells[i]), "ppm." + std::to_string(i)), l[3]));
    l[3] = group(plain_joined(parts), "ppm_bottleneck");
    for (const std::size_t i : {3, 2, 1}) l[i - 1] = plain_sum(l[i - 1], up(l[i], l[i - 1]));
    parts.clear();
    for (std::size_t i = 0; i < 4; ++i) parts.push_back(up(group(l[i], "fpn_convs." + std::to_string(i)), l[0]));
    return conv(kept(group(plain_joined(parts), "fuse")), "classifier", 1, 0);
  }

  std::vector<Array> upernet(const std::vector<Array>& x) const {
    std::vector<Array> parts = {x[3]};
    const std::int64_t cells[] = {1, 2, 3, 6};
    const std::string head = "decode_head.";
    for (std::size_t i = 0; i < 4; ++i)
      parts.push_back(up(batch(plain_pooled(x[3], cells[i]), head + "psp_modules." + std::to_string(i) + ".1"), x[3]));
    std::vector<Array> l;
    for (std::size_t i = 0; i < 3; ++i) l.push_back(batch(x[i], head + "lateral_convs." + std::to_string(i)));
    l.push_back(batch(plain_joined(parts), head + "bottleneck"));
    for (const std::size_t i : {3, 2, 1}) l[i - 1] = plain_sum(l[i - 1], up(l[i], l[i - 1]));
    parts.clear();
    for (std::size_t i = 0; i < 3; ++i) parts.push_back(up(batch(l[i], head + "fpn_convs." + std::to_string(i)), l[0]));
    parts.push_back(up(l[3], l[0]));
    const auto level = static_cast<std::size_t>(case_.options.value("auxiliary_level", 3));
    return {conv(kept(batch(plain_joined(parts), head + "fpn_bottleneck")), head + "conv_seg", 1, 0),
            conv(kept(batch(x[level], "auxiliary_head.convs.0")), "auxiliary_head.conv_seg", 1, 0)};
  }

  Array unit(const Array& x, const std::string& name) const {
    const Array inner = conv(plain_relu(conv(plain_relu(x), name + ".conv1", 1, 1)), name + ".conv2", 1, 1);
    return plain_sum(inner, case_.options.value("skip", "plain") == "rectified" ? plain_relu(x) : x);
  }

  Array dpt(const std::vector<Array>& x) const {
    std::vector<Array> z;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::string n = std::to_string(i);
      Array r = conv(x[i], "projects." + n, 1, 0);
      const std::string resize = "resize_layers." + n;
      if (!case_.hierarchical && i < 2) r = plain_enlargement(r, weight(resize + ".weight"), weight(resize + ".bias"));
      if (!case_.hierarchical && i == 3) r = conv(r, resize, 2, 1);
      z.push_back(conv(r, "scratch.layer" + std::to_string(i + 1) + "_rn", 1, 1));
    }
    Array t;
    for (const std::size_t i : {3, 2, 1, 0}) {
      const std::string name = "scratch.refinenet" + std::to_string(i + 1) + ".";
      const Array sum = i == 3 ? z[3] : plain_sum(t, unit(z[i], name + "resConfUnit1"));
      const std::int64_t rows = i == 0 ? 2 * z[0].size(2) : z[i - 1].size(2);
      const std::int64_t columns = i == 0 ? 2 * z[0].size(3) : z[i - 1].size(3);
      t = conv(plain_interpolated(unit(sum, name + "resConfUnit2"), rows, columns, true), name + "out_conv", 1, 0);
    }
    t = plain_interpolated(conv(t, "scratch.output_conv1", 1, 1), case_.image[0], case_.image[1], true);
    return conv(plain_relu(conv(t, "scratch.output_conv2.0", 1, 1)), "scratch.output_conv2.2", 1, 0);
  }

  Weights w_;
  const Case& case_;
};

// --- the comparison --------------------------------------------------------------------------------------------------

Array variables(const Tensor& tensor) {
  Array out(tensor.sizes().vec());
  const Tensor flat = tensor.detach().contiguous().flatten();
  for (std::int64_t i = 0; i < flat.numel(); ++i)
    out.data()[static_cast<std::size_t>(i)] = Real::variable(flat[i].item<double>());
  return out;
}

void expect_close(const Array& expected, const Tensor& found, bool gradients, const std::string& what) {
  ASSERT_EQ(expected.shape(), found.sizes().vec()) << what;
  const Tensor flat = found.detach().contiguous().flatten();
  double worst = 0, largest = 1;
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    const Real& one = expected.data()[static_cast<std::size_t>(i)];
    const double wanted = gradients ? one.gradient() : one.value();
    worst = std::max(worst, std::abs(wanted - flat[i].item<double>()));
    largest = std::max(largest, std::abs(wanted));
  }
  EXPECT_LE(worst / largest, 1e-10) << what;
}

std::shared_ptr<Decoder> built(const Case& c, std::uint64_t seed = 3) {
  DecoderContext context{{}, c.hierarchical, c.outputs};
  for (const auto& shape : c.maps) context.widths.push_back(shape[1]);
  const DecoderItem& item = decoder_item(c.id);
  const auto out = item.make(context, Options(item.item.json(), c.options));
  out->start(Initializer(RandomStreams(seed), "decoder."));
  return out;
}

// Numbers that no norm or bias starts with.
void stir(Decoder& decoder) {
  const at::NoGradGuard no_gradient;
  for (const auto& item : decoder.named_parameters())
    item.value().add_(0.3 * RandomStreams(5).normal("test", item.key(), 0, item.value().sizes()).to(at::kDouble));
}

TEST(Decoders, AreTheirDefinitionsInValueAndEveryGradient) {
  std::set<std::string> seen;
  for (const Case& c : cases()) {
    SCOPED_TRACE(std::string(c.id) + " " + c.options.dump() + (c.hierarchical ? " of stages" : ""));
    seen.insert(c.id);
    const auto decoder = built(c);
    decoder->to(at::kDouble);
    stir(*decoder);
    std::vector<Tensor> maps;
    for (const auto& shape : c.maps)
      maps.push_back(
          RandomStreams(7).normal("test", "map", maps.size(), shape).to(at::kDouble).set_requires_grad(true));
    const Decoded found = decoder->forward(maps, c.image, {0, 1, true, kStreams});
    std::vector<Tensor> outs = {found.map};
    if (found.auxiliary.defined()) outs.push_back(found.auxiliary);

    Real::clear_tape();
    Weights weights;
    for (const auto& item : decoder->named_parameters()) weights[item.key()] = variables(item.value());
    std::vector<Array> inputs;
    for (const Tensor& map : maps) inputs.push_back(variables(map));
    const std::vector<Array> expected = Plain(weights, c)(inputs);
    ASSERT_EQ(expected.size(), outs.size());
    Tensor functional = at::zeros({}, at::kDouble);
    Real sum = 0.0;
    for (std::size_t k = 0; k < outs.size(); ++k) {
      expect_close(expected[k], outs[k], false, "output " + std::to_string(k));
      const Tensor by = RandomStreams(9).normal("test", "by", k, outs[k].sizes()).to(at::kDouble);
      functional = functional + (outs[k] * by).sum();
      const Tensor flat = by.flatten();
      for (std::int64_t i = 0; i < flat.numel(); ++i)
        sum += expected[k].data()[static_cast<std::size_t>(i)] * flat[i].item<double>();
    }
    functional.backward();
    sum.backward();
    for (std::size_t i = 0; i < maps.size(); ++i)
      expect_close(inputs[i], maps[i].grad(), true, "map " + std::to_string(i));
    for (const auto& item : decoder->named_parameters()) {
      ASSERT_TRUE(item.value().grad().defined()) << item.key();
      expect_close(weights[item.key()], item.value().grad(), true, item.key());
    }
  }
  for (const DecoderItem& item : decoder_items()) EXPECT_TRUE(seen.contains(item.id())) << item.id() << " has no case";
}

std::pair<std::int64_t, std::int64_t> parameters(const Decoder& decoder) {
  std::int64_t kept = 0, training = 0;
  for (const auto& item : decoder.named_parameters())
    (decoder.training_only(item.key()) ? training : kept) += item.value().numel();
  return {kept, training};
}

// Of ViT-B: what the published decoders have.
TEST(Decoders, HaveThePublishedNumbersOfParameters) {
  const auto of = [](const char* id, std::int64_t outputs) {
    const DecoderItem& item = decoder_item(id);
    return parameters(*item.make({{768, 768, 768, 768}, false, outputs}, Options(item.item.json(), Json::object())));
  };
  EXPECT_EQ(of("token-pyramid", 150), std::pair(std::int64_t{8762006}, std::int64_t{0}));
  EXPECT_EQ(of("upernet", 150), std::pair(std::int64_t{32332950}, std::int64_t{1808534}));
  EXPECT_EQ(of("dpt", 1), std::pair(std::int64_t{29045953}, std::int64_t{0}));
}

TEST(Decoders, DropChannelsInTrainingAlone) {
  const RandomStreams streams(4);
  for (Case c : cases()) {
    const DecoderItem& item = decoder_item(c.id);
    if (!Options(item.item.json(), c.options).json().contains("dropout")) continue;
    c.options["dropout"] = 0.5;
    const auto decoder = built(c);
    std::vector<Tensor> maps;
    for (const auto& shape : c.maps) maps.push_back(streams.normal("test", "map", maps.size(), shape));
    const at::NoGradGuard no_gradient;
    const auto seen = [&](std::int64_t step, bool training) {
      return decoder->forward(maps, c.image, {step, 10, training, streams}).map;
    };
    seen(0, true);  // batch norm has met a batch
    EXPECT_TRUE(at::equal(seen(0, false), seen(1, false))) << c.id;
    // Two steps may keep the same of so few channels, twenty hardly.
    const Tensor first = seen(0, true);
    bool differs = false;
    for (std::int64_t step = 1; step < 20; ++step) differs = differs || !at::equal(first, seen(step, true));
    EXPECT_TRUE(differs) << c.id;
  }
}

TEST(Decoders, OfBatchNormRefuseToTrainOnOneImage) {
  Case c = cases()[3];
  const auto decoder = built(c);
  const RandomStreams streams(1);
  const std::vector<Tensor> maps(4, streams.normal("test", "map", 0, {1, 3, 2, 3}));
  try {
    decoder->forward(maps, c.image, {0, 1, true, streams});
    FAIL() << "not refused";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("raise train.batch"));
  }
  EXPECT_NO_THROW(decoder->forward(maps, c.image, {0, 1, false, streams}));
}

TEST(Decoders, StartEqualUnderEqualSeedsAndWithoutAnythingUnset) {
  for (const Case& c : cases()) {
    const auto a = built(c), b = built(c), other = built(c, 4);
    bool differs = false;
    const auto of_b = b->named_parameters(), of_other = other->named_parameters();
    for (const auto& item : a->named_parameters()) {
      EXPECT_TRUE(at::equal(item.value(), of_b[item.key()])) << c.id << " " << item.key();
      EXPECT_LT(item.value().abs().max().item<double>(), 10) << c.id << " " << item.key();
      differs = differs || !at::equal(item.value(), of_other[item.key()]);
    }
    EXPECT_TRUE(differs) << c.id;
  }
}

TEST(Decoders, OfFourMapsRefuseOtherNumbersOfThem) {
  const DecoderItem& item = decoder_item("dpt");
  EXPECT_THROW(item.make({{8, 8}, false, 1}, Options(item.item.json(), Json::object())), std::invalid_argument);
}

// In half precision around it the head computes as without.
TEST(Decoders, DptStaysInFloat32) {
  const Case c = cases()[5];
  const auto decoder = built(c);
  const RandomStreams streams(2);
  std::vector<Tensor> maps;
  for (const auto& shape : c.maps) maps.push_back(streams.normal("test", "map", maps.size(), shape));
  const at::NoGradGuard no_gradient;
  const Tensor plain = decoder->forward(maps, c.image, {0, 1, false, streams}).map;
  const Autocast half(Precision::kBfloat16, at::kCPU);
  EXPECT_TRUE(at::equal(decoder->forward(maps, c.image, {0, 1, false, streams}).map, plain));
}

}  // namespace
}  // namespace locus::engine
