// Pictures of trained models: priors beside their initialization, attention with and without them.
#include "engine/probe/trained.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "engine/base/failure.h"
#include "engine/files/safetensors.h"
#include "engine/stage/stage.h"
#include "engine/train/checkpoint.h"

namespace locus::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPatches = 16;  // a grid of 4 x 4

Json configuration(const std::string& prior, const Json& options = Json::object(), const Json& model = Json::object()) {
  Json all = {{"dim", 32}, {"depth", 2}, {"heads", 4}, {"patch", 7}};
  all.update(model);
  return {{"kind", "train"},
          {"task", {{"id", "classification"}}},
          {"dataset", {{"id", "fashion-mnist"}}},
          {"model", {{"id", "vit"}, {"options", all}}},
          {"priors", Json::array({{{"id", prior}, {"options", options}}})},
          {"seed", 3}};
}

class Trained : public testing::Test {
 protected:
  Trained() {
    std::string name = (fs::temp_directory_path() / "locus-trained-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    at::manual_seed(0);
    images_.images = at::rand({2, 1, 28, 28});
    for (int i = 0; i < 2; ++i)
      images_.described.push_back({{"image", i}, {"pixels", {{"extent", {1, 1}}, {"channels", 1}, {"values", {9}}}}});
  }
  ~Trained() override { fs::remove_all(folder_); }

  // A file of the configuration's model, changed by `change`.
  fs::path weights(const Json& configuration, const std::function<void(const Host&)>& change) const {
    const Host host(configuration, dataset_item("fashion-mnist").item.json().at("facts"));
    change(host);
    TensorFile file;
    save_model(host.task(), /*exported=*/true, file.tensors);
    TrainingState state;
    state.identity = configuration_identity(configuration);
    state.seed = 3, state.step = 2, state.steps = 2;
    file.metadata = checkpoint_metadata(state, /*exported=*/true);
    write_safetensors(folder_ / "model.safetensors", file);
    return folder_ / "model.safetensors";
  }

  // Two steps of gradient descent.
  fs::path trained(const Json& configuration) const {
    return weights(configuration, [&](const Host& host) {
      const RandomStreams random(3);
      for (std::int64_t step = 0; step < 2; ++step) {
        const Batch batch = {{"image", images_.images}, {"label", at::tensor({1, 7}, at::kLong)}};
        host.task().train();
        host.task().train_step(batch, {.step = step, .steps = 2, .training = true, .random = random}).loss.backward();
        const at::NoGradGuard no_grad;
        for (Tensor& parameter : host.task().parameters()) {
          if (!parameter.grad().defined()) continue;
          parameter.sub_(parameter.grad(), 0.2);
          parameter.mutable_grad().reset();
        }
      }
    });
  }

  fs::path folder_;
  ChosenImages images_;
};

const Json& view_of(const Json& layer, const std::string& id) {
  for (const Json& one : layer.at("views")) {
    if (one.at("id") == id) return one;
  }
  throw std::out_of_range(id);
}

// Whether anything that is of the priors alone differs between the states.
bool became_another(const Json& document) {
  for (const Json& layer : document.at("layers")) {
    for (const Json& one : layer.at("views")) {
      if (one.at("prior") != "" && one.at("initial") != one.at("trained")) return true;
    }
  }
  return false;
}

TEST_F(Trained, EveryPriorWithParametersDiffersFromItsInitializationAndNoOther) {
  for (const PriorItem& item : prior_items()) {
    const Json of = configuration(item.id());
    const Json document = trained_prior({of, trained(of), {}, {}}, images_);
    EXPECT_EQ(document.at("states"), (Json{"initial", "trained"}));
    EXPECT_EQ(document.at("step"), 2);
    ASSERT_EQ(document.at("layers").size(), 2u) << item.id();
    for (const Json& layer : document.at("layers")) {
      for (const Json& one : layer.at("views")) {
        for (const char* state : {"initial", "trained"}) {
          for (const Json& head : one.at(state)) {
            ASSERT_EQ(head.size(), static_cast<std::size_t>(kPatches)) << item.id();
            for (const Json& row : head) ASSERT_EQ(row.size(), static_cast<std::size_t>(kPatches));
          }
        }
      }
    }
    const bool learned = document.at("priors")[0].at("parameters_kept") > 0;
    EXPECT_EQ(became_another(document), learned) << item.id();
  }
}

TEST_F(Trained, TheHeadingSaysHowManyLayersEachStageHas) {
  EXPECT_EQ(trained_prior({configuration("violin"), {}, {}, {}}, {}).at("model").at("stages"), Json::array({2}));
  Json staged = configuration("violin");
  staged["model"] = {{"id", "swin"}, {"options", {{"size", "mini"}}}};
  const Json document = trained_prior({staged, {}, {}, {}, 1}, {});
  EXPECT_EQ(document.at("model").at("stages"), Json::array({2, 2}));
  EXPECT_EQ(document.at("stage"), 1);
  EXPECT_EQ(document.at("layers")[0].at("layer"), 2) << "counted over the network";
}

TEST_F(Trained, WithoutWeightsThereIsTheInitializationAlone) {
  const Json document = trained_prior({configuration("violin"), {}, {1}, {5, 6}}, {});
  EXPECT_EQ(document.at("states"), Json{"initial"});
  EXPECT_TRUE(document.at("input").is_null());
  ASSERT_EQ(document.at("layers").size(), 1u);
  const Json& scale = view_of(document.at("layers")[0], "violin.scale");
  EXPECT_FALSE(scale.contains("trained"));
  EXPECT_EQ(scale.at("initial")[0].size(), 2u) << "the rows of the queries asked for";
}

TEST_F(Trained, ADecayMaskIsThatOfTheParametersSetByHand) {
  const Json of = configuration("violin", {{"curves", {"snake"}}});
  const fs::path file = weights(of, [](const Host& host) {
    const at::NoGradGuard no_grad;
    for (const auto& entry : host.backbone().named_parameters()) {
      if (entry.key().ends_with(".a")) entry.value().zero_();  // lambda = sigmoid(0)
      if (entry.key().ends_with(".alpha")) entry.value().fill_(2);
    }
  });
  const Json document = trained_prior({of, file, {0}, {}}, {});
  const Json& layer = document.at("layers")[0];
  const Json& mask = view_of(layer, "violin.scale").at("trained");
  const auto rank = [](int patch) { return patch / 4 % 2 == 0 ? patch : patch / 4 * 4 + 3 - patch % 4; };
  for (int i = 0; i < kPatches; ++i) {
    for (int j = 0; j < kPatches; ++j) {
      const double wanted = 2 * std::pow(0.5, std::abs(rank(i) - rank(j)));
      EXPECT_NEAR(mask[3][static_cast<std::size_t>(i)][static_cast<std::size_t>(j)].get<double>(), wanted,
                  1e-3 * wanted);
    }
  }
  EXPECT_EQ(layer.at("numbers")[0].at("id"), "violin.lambda");
  EXPECT_EQ(layer.at("numbers")[0].at("rows"), Json{"snake"});
  EXPECT_EQ(layer.at("numbers")[0].at("trained"), (Json{{0.5, 0.5, 0.5, 0.5}}));
  EXPECT_EQ(layer.at("curves")[0].at("name"), "snake");
}

TEST_F(Trained, AParabolaHasItsPeakAndWidthsWhereItsFormulaPutsThem) {
  // One projection an axis, no content: z = -a (dx^2 + dy^2) + b . (dx, dy), a = softplus(0) = ln 2.
  const Json of = configuration("pape", {{"content", false}, {"projection", false}, {"prefix", "origin"}});
  const fs::path file = weights(of, [](const Host& host) {
    const at::NoGradGuard no_grad;
    for (const auto& entry : host.backbone().named_parameters()) {
      if (entry.key().ends_with(".b")) entry.value().copy_(at::tensor({2.0, -1.0}).expand({4, 2}));
    }
  });
  const Json numbers = trained_prior({of, file, {0}, {}}, {}).at("layers")[0].at("numbers");
  ASSERT_EQ(numbers.size(), 2u);
  const double a = std::log(2.0), c = 1 / std::sqrt(8.0);
  EXPECT_NEAR(numbers[0].at("trained")[0][0].get<double>(), 1 / std::sqrt(2 * c * a), 1e-3);
  EXPECT_NEAR(numbers[0].at("trained")[1][0].get<double>(), 1 / std::sqrt(2 * c * a), 1e-3);
  EXPECT_NEAR(numbers[1].at("trained")[0][0].get<double>(), -1 / (2 * a), 1e-3) << "rows: the second coordinate";
  EXPECT_NEAR(numbers[1].at("trained")[1][0].get<double>(), 2 / (2 * a), 1e-3) << "columns: the first";
}

TEST_F(Trained, AttentionIsToldWithAndWithoutThePrior) {
  const Json of = configuration("alibi-2d"), plain = configuration("none");
  const Json document = trained_attention({of, {}, {}, {0, 5}}, images_);
  const Json bare = trained_attention({plain, {}, {}, {0, 5}}, images_);
  EXPECT_EQ(document.at("queries"), (Json{0, 5}));
  const Json& first = document.at("layers")[0];
  EXPECT_TRUE(bare.at("layers")[0].at("images")[0].at("without").is_null()) << "nothing to leave out";
  // Equal names under equal seeds start equal: what is left of the first layer is the plain model's.
  EXPECT_EQ(first.at("images")[1].at("without"), bare.at("layers")[0].at("images")[1].at("with"));
  EXPECT_NE(first.at("images")[1].at("with"), first.at("images")[1].at("without"));
  for (const Json& image : first.at("images")) {
    for (const char* which : {"with", "without"}) {
      for (const Json& head : image.at(which).at("queries")) {
        for (const Json& row : head) {
          double sum = 0;
          for (const Json& value : row) sum += value.get<double>();
          EXPECT_NEAR(sum, 1, 2e-3);
        }
      }
    }
  }
  EXPECT_LT(first.at("distance").at("with")[0].get<double>(), first.at("distance").at("without")[0].get<double>());
  EXPECT_TRUE(first.at("position_score").is_array());
  EXPECT_TRUE(bare.at("layers")[0].at("position_score").is_null());
}

TEST_F(Trained, AttentionOfEveryPriorCanBeTold) {
  for (const PriorItem& item : prior_items()) {
    const Json document = trained_attention({configuration(item.id()), {}, {}, {}}, images_);
    ASSERT_EQ(document.at("layers").size(), 2u) << item.id();
    for (const Json& layer : document.at("layers")) {
      EXPECT_EQ(layer.at("images").size(), 2u);
      for (const Json& distance : layer.at("distance").at("with")) {
        EXPECT_GE(distance.get<double>(), 0) << item.id();
        EXPECT_LE(distance.get<double>(), 3 * std::sqrt(2.0)) << item.id();
      }
    }
    EXPECT_TRUE(document.at("images")[0].at("predicted").is_number());
  }
}

TEST_F(Trained, PrefixTokensAreToldApart) {
  const Json of = configuration("rope-axial", Json::object(), {{"pool", "cls"}, {"registers", 1}});
  const Json document = trained_attention({of, trained(of), {1}, {}}, images_);
  EXPECT_EQ(document.at("model").at("prefix"), 2);
  const Json& with = document.at("layers")[0].at("images")[0].at("with");
  EXPECT_EQ(with.at("prefix")[0].size(), 2u);
  EXPECT_EQ(with.at("prefix")[0][0].size(), static_cast<std::size_t>(kPatches));
  EXPECT_EQ(with.at("mean")[0].size(), 1u);
  const Json prior = trained_prior({of, trained(of), {}, {}}, images_);
  EXPECT_EQ(view_of(prior.at("layers")[0], "rope-axial.turn").at("trained")[0].size(),
            static_cast<std::size_t>(kPatches));
}

TEST_F(Trained, MeanAttentionDistanceIsTheLoopOverPairs) {
  at::manual_seed(1);
  const Tensor p = at::rand({2, 3, 6, 6}, at::kDouble);
  const Tensor found = mean_attention_distance(p, {2, 3});
  for (std::int64_t h = 0; h < 3; ++h) {
    double sum = 0;
    for (std::int64_t b = 0; b < 2; ++b) {
      for (std::int64_t i = 0; i < 6; ++i) {
        const double row = p[b][h][i].sum().item<double>();
        for (std::int64_t j = 0; j < 6; ++j) {
          const auto down = static_cast<double>(i / 3 - j / 3), right = static_cast<double>(i % 3 - j % 3);
          sum += p[b][h][i][j].item<double>() / row * std::hypot(down, right);
        }
      }
    }
    EXPECT_NEAR(found[h].item<double>(), sum / 12, 1e-12);
  }
}

TEST_F(Trained, PositionScoreIsTheLoopOverTheKeysThatReachTheShare) {
  at::manual_seed(2);
  const Tensor position = at::randn({1, 2, 5, 5}, at::kDouble), content = at::randn({2, 2, 5, 5}, at::kDouble);
  const Tensor found = position_score(position, content, 0.7);
  for (std::int64_t h = 0; h < 2; ++h) {
    double sum = 0;
    int pairs = 0;
    for (std::int64_t b = 0; b < 2; ++b) {
      for (std::int64_t i = 0; i < 5; ++i) {
        std::vector<std::array<double, 3>> keys;  // A, P, Y, all over gamma
        double gamma = 0;
        for (std::int64_t j = 0; j < 5; ++j) {
          const double P = std::exp(position[0][h][i][j].item<double>()),
                       Y = std::exp(content[b][h][i][j].item<double>());
          gamma += P * Y;
          keys.push_back({P * Y, P, Y});
        }
        std::sort(keys.begin(), keys.end(), [](const auto& x, const auto& y) { return x[0] > y[0]; });
        double reached = 0;
        for (const auto& [A, P, Y] : keys) {
          if (reached >= 0.7) break;
          reached += A / gamma, sum += (P - Y) / gamma, ++pairs;
        }
      }
    }
    EXPECT_NEAR(found[h].item<double>(), sum / pairs, 1e-9);
  }
}

TEST_F(Trained, WhatDoesNotFitIsRefusedByName) {
  const Json of = configuration("violin"), other = configuration("none");
  const fs::path file = trained(of);
  EXPECT_THROW(trained_prior({other, file, {}, {}}, {}), DataError);
  EXPECT_THROW(trained_prior({of, file, {2}, {}}, {}), std::invalid_argument);
  EXPECT_THROW(trained_prior({of, file, {}, {kPatches}}, {}), std::invalid_argument);
  EXPECT_THROW(trained_attention({of, file, {}, {}}, {}), std::invalid_argument);
  EXPECT_THROW(choose_images(of, {folder_ / "nowhere", {}}, "test", {0}), DataError);
}

TEST_F(Trained, ADrawingHasARowForEachLayerAndStateAndAColumnForEachHead) {
  const Json of = configuration("violin");
  const fs::path file = trained(of);
  const Drawing priors = draw_trained(trained_prior({of, file, {}, {}}, {}), "", -1);
  constexpr int kMap = 4 * 8 + 6;  // four patches of 8 pixels and the gap
  EXPECT_EQ(priors.width(), 6 + 4 * kMap);
  EXPECT_EQ(priors.height(), 6 + 4 * kMap) << "2 layers, 2 states";
  const Drawing attention = draw_trained(trained_attention({of, file, {0}, {}}, images_), "", -1);
  EXPECT_EQ(attention.width(), 6 + 5 * kMap) << "the image beside the heads";
  EXPECT_EQ(attention.height(), 6 + 4 * kMap) << "2 images, with and without";
  EXPECT_THROW(draw_trained(trained_prior({of, file, {}, {}}, {}), "nothing", -1), std::invalid_argument);
}

}  // namespace
}  // namespace locus::engine
