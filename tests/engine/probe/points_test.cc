// The probe on points: tokens of any place, given as a tensor, to hold beside published code of point networks.
#include <gmock/gmock.h>

#include "engine/probe/probe.h"
#include "tests/engine/support/models.h"

namespace locus::engine {
namespace {

using test::PriorSetting;
using ::testing::HasSubstr;

constexpr std::int64_t kWidth = 24, kPoints = 6, kPointPrefix = 1;  // heads of 12 channels

bool takes_points(const PriorItem& item) { return item.item.json().at("layouts").value("points", false); }

ProbeRequest point_request(const PriorSetting& prior, ProbeLevel level = ProbeLevel::kAttention,
                           std::int64_t axes = 2) {
  const Json model = {{"id", "vit"}, {"options", {{"dim", kWidth}, {"heads", 2}}}};
  const Json priors = Json::array({{{"id", prior.id}, {"options", prior.options}}});
  return {.host = {.specification = {{"model", model}, {"priors", priors}},
                   .grid = {},
                   .prefix = kPointPrefix,
                   .least_layers = 2,
                   .point_axes = axes},
          .level = level};
}

// The same network on the grid of as many patches.
ProbeRequest grid_request(const PriorSetting& prior, ProbeLevel level = ProbeLevel::kAttention) {
  ProbeRequest out = point_request(prior, level, 0);
  out.host.grid = {2, 3};
  return out;
}

Tensor normal(const char* name, at::IntArrayRef shape) {
  return RandomStreams(6).normal("test", name, 0, shape).to(at::kDouble);
}

// Parameters moved away from where they start, and x.
NamedTensors point_tensors(const Probe& probe, std::int64_t batch = 2, std::int64_t points = kPoints,
                           std::int64_t prefix = kPointPrefix) {
  NamedTensors out = probe.initial();
  for (auto& [name, tensor] : out) tensor.add_(normal(name.c_str(), tensor.sizes()), 0.2);
  out["x"] = normal("x", {batch, prefix + points, kWidth});
  return out;
}

NamedTensors with(NamedTensors given, const std::string& name, const Tensor& tensor) {
  given[name] = tensor;
  return given;
}

double largest(const Tensor& a, const Tensor& b) { return (a - b).abs().max().item<double>(); }

std::string why_refused(const std::function<void()>& act) {
  try {
    act();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

// Columns and rows of the cells of a grid, from 1: images name x first, points have their axes in the order of the data.
Tensor cells() { return patch_positions({{2, 3}, 0}, at::kDouble, 1).flip(1); }

// Without prefix tokens, whose distance to the first patch is said by what positions count from.
TEST(ProbePoints, OnAGridAreTheGridInEverySettingThatTakesThem) {
  std::set<std::string> ran;
  for (const PriorItem& item : prior_items()) {
    if (!takes_points(item)) continue;
    for (const PriorSetting& setting : test::settings_of(item)) {
      for (const ProbeLevel level : {ProbeLevel::kAttention, ProbeLevel::kStage}) {
        ProbeRequest of_points = point_request(setting, level), of_grid = grid_request(setting, level);
        of_points.host.prefix = of_grid.host.prefix = 0;
        try {
          Probe{of_points};
        } catch (const std::invalid_argument&) {
          continue;  // an option of grids alone: the engine's own tests say which
        }
        Probe on_points(of_points), on_grid(of_grid);
        NamedTensors given = point_tensors(on_grid, 2, kPoints, 0);
        given["cotangent"] = normal("cotangent", given.at("x").sizes());
        const NamedTensors expected = on_grid.run(given), found = on_points.run(with(given, "positions", cells()));
        ASSERT_EQ(found.size(), expected.size()) << setting.name();
        for (const auto& [name, tensor] : expected)
          EXPECT_LT(largest(found.at(name), tensor), 1e-8) << setting.name() << " " << name;
        ran.insert(item.id());
      }
    }
  }
  for (const PriorItem& item : prior_items()) EXPECT_EQ(ran.contains(item.id()), takes_points(item)) << item.id();
}

TEST(ProbePoints, LieInEverySampleWhereItSays) {
  Probe probe(point_request({"pape"}));
  const NamedTensors given = point_tensors(probe);
  const Tensor positions = normal("positions", {2, kPoints, 2});
  const Tensor both = probe.run(with(given, "positions", positions)).at("logits");
  EXPECT_GT(largest(both, probe.run(with(given, "positions", positions[0])).at("logits")), 1e-6);
  for (std::int64_t b = 0; b < 2; ++b) {
    const NamedTensors alone = with(with(given, "x", given.at("x").slice(0, b, b + 1)), "positions", positions[b]);
    EXPECT_LT(largest(probe.run(alone).at("logits")[0], both[b]), 1e-12) << "one run leaves nothing to the next";
  }
}

TEST(ProbePoints, ThatAreNotValidAreSeenByNobody) {
  Probe probe(point_request({"rope-axial", {{"flavor", "pape"}}}, ProbeLevel::kBlock));
  NamedTensors given = point_tensors(probe);
  const Tensor positions = normal("positions", {kPoints, 2});
  given["positions"] = positions;
  given["valid"] = at::arange(kPoints).lt(4);
  const std::int64_t kept = kPointPrefix + 4;
  const Tensor found = probe.run(given).at("output").slice(1, 0, kept);
  given.erase("valid");
  EXPECT_GT(largest(found, probe.run(given).at("output").slice(1, 0, kept)), 1e-6);
  given["x"] = given.at("x").slice(1, 0, kept).clone();
  given["positions"] = positions.slice(0, 0, 4).clone();
  EXPECT_LT(largest(found, probe.run(given).at("output")), 1e-12);
}

TEST(ProbePoints, MayHaveThreeAxesAndAnyNumber) {
  Probe probe(point_request({"alibi-2d"}, ProbeLevel::kAttention, 3));
  for (const std::int64_t points : {3, 5}) {
    const NamedTensors given = with(point_tensors(probe, 1, points), "positions", normal("positions", {1, points, 3}));
    const std::int64_t tokens = kPointPrefix + points;
    EXPECT_EQ(probe.run(given).at("logits").sizes(), at::IntArrayRef({1, 2, tokens, tokens}));
  }
}

TEST(ProbePoints, AreRefusedWithTheReasonByWhatCannotTakeThem) {
  for (const PriorItem& item : prior_items()) {
    if (takes_points(item)) continue;
    EXPECT_THAT(why_refused([&] { Probe{point_request({item.id()})}; }),
                HasSubstr("the tokens are points of any place"))
        << item.id();
  }
  std::int64_t refused = 0;
  for (const BackboneItem& item : backbone_items()) {
    if (item.item.json().at("facts").value("points", false)) continue;
    ProbeRequest asked = point_request({"none"});
    asked.host.specification["model"] = {{"id", item.id()}};
    asked.host.prefix.reset();
    EXPECT_THAT(why_refused([&] { Probe{asked}; }), HasSubstr("it takes no points")) << item.id();
    ++refused;
  }
  EXPECT_GE(refused, 1);
  EXPECT_THAT(why_refused([] { Probe{point_request({"none"}, ProbeLevel::kModel)}; }),
              HasSubstr("begins with an image"));
  ProbeRequest both = point_request({"none"});
  both.host.grid = {2, 3};
  EXPECT_THAT(why_refused([&] { Probe{both}; }), HasSubstr("and no grid"));
}

TEST(ProbePoints, OfAnotherShapeThanTheTokensAreRefused) {
  Probe probe(point_request({"none"}));
  const NamedTensors given = point_tensors(probe);
  const auto refusal = [&](const NamedTensors& tensors) { return why_refused([&] { probe.run(tensors); }); };
  EXPECT_THAT(refusal(given), HasSubstr("missing positions"));
  EXPECT_THAT(refusal(with(given, "positions", at::zeros({kPoints, 3}))), HasSubstr("built for points of 2"));
  EXPECT_THAT(refusal(with(given, "positions", at::zeros({3, kPoints, 2}))), HasSubstr("each of 2 samples"));
  EXPECT_THAT(refusal(with(given, "positions", at::zeros({kPoints - 1, 2}))), HasSubstr("x has the shape [2,7,24]"));
  const NamedTensors placed = with(given, "positions", cells());
  EXPECT_THAT(refusal(with(placed, "valid", at::ones({2, 1}, at::kBool))), HasSubstr("told by as many booleans"));
  Probe on_grid(grid_request({"none"}));
  EXPECT_THAT(why_refused([&] { on_grid.run(placed); }), HasSubstr("unknown positions"));
}

}  // namespace
}  // namespace locus::engine
