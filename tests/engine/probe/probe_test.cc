// The probe: names, values, gradients, and every prior of the catalog at every level.
#include "engine/probe/probe.h"

#include <gtest/gtest.h>

#include <cmath>

namespace locus::engine {
namespace {

Json specification(const std::string& prior, const Json& options = Json::object()) {
  return {{"model", {{"id", "vit"}, {"options", {{"dim", 16}, {"heads", 4}, {"patch", 2}}}}},
          {"priors", Json::array({{{"id", prior}, {"options", options}}})},
          {"channels", 2},
          {"classes", 3}};
}

ProbeRequest request(const Json& document, ProbeLevel level = ProbeLevel::kAttention, std::int64_t prefix = 1) {
  return {.host = {.specification = document, .grid = {2, 3}, .prefix = prefix, .layers = 2, .path = "auto", .seed = 3},
          .level = level,
          .layer = 1,
          .type = at::kDouble};
}

// Initial parameters and an input, all of a size at which they matter.
NamedTensors tensors_for(const Probe& probe, ProbeLevel level, std::int64_t prefix = 1) {
  NamedTensors given = probe.initial();
  for (auto& [name, tensor] : given) {
    if (tensor.is_floating_point()) tensor.mul_(3);
  }
  if (level == ProbeLevel::kModel) {
    given["image"] = at::randn({2, 2, 4, 6}, at::kDouble);
  } else {
    given["x"] = at::randn({2, 6 + prefix, 16}, at::kDouble);
  }
  return given;
}

double difference(const Tensor& a, const Tensor& b) { return (a - b).abs().max().item<double>(); }

std::string message_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Probe, AttentionIsTheFormulaOfThePaper) {
  Probe probe(request(specification("none")));
  const NamedTensors given = tensors_for(probe, ProbeLevel::kAttention);
  const NamedTensors out = probe.run(given);
  const Tensor qkv = at::linear(given.at("x"), given.at("qkv.weight"), given.at("qkv.bias"));
  const auto heads = [&](std::int64_t which) {
    return qkv.slice(2, 16 * which, 16 * which + 16).view({2, 7, 4, 4}).transpose(1, 2);
  };
  const Tensor logits = at::matmul(heads(0), heads(1).mT()) / 2, p = logits.softmax(-1);
  const Tensor o = at::matmul(p, heads(2)).transpose(1, 2).reshape({2, 7, 16});
  EXPECT_LT(difference(out.at("logits"), logits), 1e-12);
  EXPECT_LT(difference(out.at("probabilities"), p), 1e-12);
  EXPECT_LT(difference(out.at("output"), at::linear(o, given.at("proj.weight"), given.at("proj.bias"))), 1e-12);
}

TEST(Probe, LogitsShowWhatThePriorAdds) {
  Probe plain(request(specification("none"))), probe(request(specification("alibi-2d")));
  NamedTensors given = tensors_for(plain, ProbeLevel::kAttention);
  const Tensor before = plain.run(given).at("logits"), after = probe.run(given).at("logits");
  const Tensor added = (after - before)[1];
  EXPECT_NEAR(added[0][1][1 + 3].item<double>(), -0.25, 1e-6);                   // one row apart
  EXPECT_NEAR(added[1][1][1 + 5].item<double>(), -0.0625 * std::sqrt(5), 1e-6);  // one row, two columns
  EXPECT_NEAR(added[0][0].abs().max().item<double>(), 0, 1e-12);                 // the class token
}

TEST(Probe, GradientsAreThoseOfTheSumOfProducts) {
  for (const ProbeLevel level : {ProbeLevel::kAttention, ProbeLevel::kBlock, ProbeLevel::kModel}) {
    Probe probe(request(specification("relative-bias"), level));
    NamedTensors given = tensors_for(probe, level);
    const std::string in = level == ProbeLevel::kModel ? "image" : "x",
                      out = level == ProbeLevel::kModel ? "tokens" : "output";
    given["cotangent"] = at::randn_like(probe.run(given).at(out));
    const NamedTensors found = probe.run(given);
    const std::string table =
        (level == ProbeLevel::kModel ? "backbone." : "") + std::string("priors.relative-bias.layers.1.table");
    for (const std::string& name : {in, table}) {
      const Tensor direction = at::randn_like(given.at(name));
      const auto value = [&](double by) {
        NamedTensors moved = given;
        moved[name] = given.at(name) + direction * by;
        return (probe.run(moved).at(out) * given.at("cotangent")).sum().item<double>();
      };
      const double slope = (found.at("grad." + name) * direction).sum().item<double>();
      EXPECT_NEAR((value(1e-5) - value(-1e-5)) / 2e-5, slope, 1e-5 * (1 + std::abs(slope))) << name;
      EXPECT_NE(slope, 0) << name;
    }
  }
}

TEST(Probe, RefusesMissingAndUnknownNamesByName) {
  Probe probe(request(specification("relative-bias")));
  NamedTensors given = tensors_for(probe, ProbeLevel::kAttention);
  given.erase("proj.bias");
  given.erase("x");
  given["priors.relative-bias.layers.0.table"] = at::zeros({1});  // of another layer
  const std::string message = message_of([&] { probe.run(given); });
  EXPECT_NE(message.find("missing x, proj.bias"), std::string::npos) << message;
  EXPECT_NE(message.find("unknown priors.relative-bias.layers.0.table"), std::string::npos) << message;
}

TEST(Probe, RefusesTensorsOfAnotherShape) {
  Probe probe(request(specification("none")));
  NamedTensors given = tensors_for(probe, ProbeLevel::kAttention);
  given["qkv.bias"] = at::zeros({47});
  EXPECT_NE(message_of([&] { probe.run(given); }).find("qkv.bias has the shape [47], the model needs [48]"),
            std::string::npos);
  given["qkv.bias"] = at::zeros({48});
  given["x"] = at::zeros({2, 6, 16});
  EXPECT_NE(
      message_of([&] { probe.run(given); }).find("x has the shape [2,6,16], the grid and the model need [2,7,16]"),
      std::string::npos);
}

TEST(Probe, RefusesLayersAndLevelsThatDoNotExist) {
  ProbeRequest beyond = request(specification("none"));
  beyond.layer = 2;
  EXPECT_THROW(Probe{beyond}, std::invalid_argument);
  EXPECT_THROW(parse_probe_level("head"), std::invalid_argument);
  EXPECT_THROW(Probe{request(specification("astrology"))}, std::invalid_argument);
}

TEST(Probe, RunsInTheTypeAskedFor) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    ProbeRequest half = request(specification("rope-axial"));
    half.type = type;
    Probe exact(request(specification("rope-axial"))), probe(half);
    const NamedTensors given = tensors_for(exact, ProbeLevel::kAttention);
    const Tensor found = probe.run(given).at("output"), expected = exact.run(given).at("output");
    EXPECT_EQ(found.scalar_type(), type);
    EXPECT_LT(difference(found.to(at::kDouble), expected), type == at::kFloat ? 1e-3 : 1.0);
    EXPECT_GT(difference(found.to(at::kDouble), expected), 0);
  }
}

TEST(Probe, WritesAPassForEachAxisWhereAttentionRunsAlongAxes) {
  Probe probe(request(specification("manhattan-decay", {{"form", "decomposed"}}), ProbeLevel::kAttention, 0));
  const NamedTensors out = probe.run(tensors_for(probe, ProbeLevel::kAttention, 0));
  EXPECT_EQ(out.at("probabilities.axis-1").sizes(), (at::IntArrayRef{2 * 2, 4, 3, 3}));  // rows of three
  EXPECT_EQ(out.at("probabilities.axis-0").sizes(), (at::IntArrayRef{2 * 3, 4, 2, 2}));
}

TEST(Probe, ModelWritesLossesOfThePriorsThatHaveOne) {
  Probe probe(request(specification("guidance"), ProbeLevel::kModel));
  const NamedTensors out = probe.run(tensors_for(probe, ProbeLevel::kModel));
  EXPECT_EQ(out.at("tokens").sizes(), (at::IntArrayRef{2, 7, 16}));
  EXPECT_EQ(out.at("logits").sizes(), (at::IntArrayRef{2, 3}));
  EXPECT_GT(out.at("loss.guidance").item<double>(), 0);
}

// What --init writes is what --in takes, for everything in the catalog.
TEST(Probe, TakesItsOwnInitialParametersForEveryPriorAtEveryLevel) {
  for (const PriorItem& item : prior_items()) {
    for (const ProbeLevel level : {ProbeLevel::kAttention, ProbeLevel::kBlock, ProbeLevel::kModel}) {
      Probe probe(request(specification(item.id()), level));
      const NamedTensors out = probe.run(tensors_for(probe, level));
      for (const auto& [name, tensor] : out)
        EXPECT_TRUE(tensor.isfinite().all().item<bool>() || name == "logits") << item.id() << " " << name;
      EXPECT_EQ(out.contains("probabilities"), level == ProbeLevel::kAttention) << item.id();
    }
  }
}

TEST(ProbeListing, NamesEveryPriorWithItsParametersAndPaths) {
  const Json listing = probe_listing(Json::object());
  ASSERT_EQ(listing.at("priors").size(), prior_items().size());
  for (const Json& entry : listing.at("priors")) {
    const auto id = entry.at("id").get<std::string>();
    ASSERT_FALSE(entry.at("paths").empty()) << id;
    EXPECT_EQ(entry.at("paths").back(), "explicit") << id;
    EXPECT_EQ(entry.at("hooks"), prior_item(id).item.json().at("hooks"));
    for (const Json& parameter : entry.at("parameters"))
      EXPECT_TRUE(parameter.at("name").get<std::string>().starts_with("priors." + id + ".")) << parameter;
  }
  const Json one = probe_listing({{"priors", {{{"id", "relative-bias"}}}}});
  ASSERT_EQ(one.at("priors").size(), 1u);
  EXPECT_EQ(one.at("priors")[0].at("parameters")[0],
            (Json{{"name", "priors.relative-bias.layers.0.table"}, {"shape", {49, 4}}}));
}

}  // namespace
}  // namespace locus::engine
