// Every prior on points of any place, in samples of several lengths: as on a grid where they form one, unchanged by what
// fills samples up, and without a table of an earlier batch; or refused with the reason.
#include <gmock/gmock.h>

#include <algorithm>

#include "engine/attention/attention.h"
#include "tests/engine/support/clip_model.h"
#include "tests/engine/support/reference.h"

namespace locus::engine {
namespace {

using test::ClipModel;
using test::ClipShape;
using test::largest_difference;
using test::PriorSetting;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr std::int64_t kPoints = 6, kNumbers = 16;  // tokens of a sample, and numbers of one

bool takes(const PriorItem& item, const char* what) {
  const Json& layouts = item.item.json().at("layouts");
  if (std::string_view(what) == "points") return layouts.value("points", false);
  return std::find(layouts.at("ranks").begin(), layouts.at("ranks").end(), 3) != layouts.at("ranks").end();
}

std::vector<PriorSetting> settings(const PriorItem& item) {
  std::vector<PriorSetting> all = test::settings_of(item);
  for (const PriorSetting& mixed : test::mixed_settings(item, 4)) all.push_back(mixed);
  return all;
}

// Models for points, of every setting that has one.
struct Running {
  PriorSetting setting;
  ClipShape shape;
};
std::vector<Running> running() {
  std::vector<Running> all;
  for (const PriorItem& item : test::tested_priors()) {
    if (!takes(item, "points")) continue;
    for (const PriorSetting& setting : settings(item)) {
      const ClipShape shape{.registers = 1, .points = true, .padded = true};
      try {
        test::clip_model({setting}, shape);
      } catch (const std::invalid_argument&) {
        continue;  // the first test below says why
      }
      all.push_back({setting, shape});
    }
  }
  return all;
}

// In float64, its parameters moved away from where they start, some of them at 0.
std::shared_ptr<ClipModel> wide_model(const PriorSetting& setting, const ClipShape& shape,
                                      const std::string& path = "auto") {
  const auto model = test::clip_model({setting}, shape, path);
  model->to(at::kDouble);
  const at::NoGradGuard no_grad;
  for (auto& entry : model->named_parameters()) {
    const Tensor noise = RandomStreams(9).normal("test", entry.key(), 0, entry.value().sizes());
    entry.value().add_(noise.to(at::kDouble), 0.2);
  }
  return model;
}
std::shared_ptr<ClipModel> wide_model(const Running& one, const std::string& path = "auto") {
  return wide_model(one.setting, one.shape, path);
}

// Those of the execution paths that the prior can take.
std::vector<std::string> paths_of(const Running& one) {
  return prior_item(one.setting.id).item.json().at("facts").at("paths").get<std::vector<std::string>>();
}

Tensor draw(const std::string& name, at::IntArrayRef shape, double deviation = 1) {
  return RandomStreams(3).normal("test", name, 0, shape, 0, deviation).to(at::kDouble);
}

Tensor run(ClipModel& model, const Tensor& rows, const Layout& layout, bool training = false) {
  return model.run(rows, layout, test::test_context(training)).tokens;
}

TEST(Points, ArePatchesToPriorsThatReadCoordinatesAndRefusedByTheOthers) {
  std::set<std::string> ran;
  for (const PriorItem& item : test::tested_priors()) {
    for (const PriorSetting& setting : settings(item)) {
      try {
        test::clip_model({setting}, {.pool = "mean", .points = true});
        ran.insert(item.id());
      } catch (const std::invalid_argument& error) {
        EXPECT_THAT(error.what(), AnyOf(HasSubstr("the tokens are points of any place"),
                                        HasSubstr("points 1 where there may be none"),
                                        HasSubstr("third_axis 1 where there may be none")))
            << setting.name();
      }
    }
    EXPECT_EQ(ran.contains(item.id()), takes(item, "points")) << item.id();
  }
  if (test::tests_everything()) EXPECT_GE(ran.size(), 2u);
}

// The cells of a box, given as points at their coordinates from 1.
TEST(Points, InABoxAreTheBox) {
  const at::NoGradGuard no_grad;
  const ClipShape box_shape{.registers = 1};
  const Tensor video = test::test_videos(2, box_shape.extent).to(at::kDouble);
  const Layout box = tubelet_layout(box_shape.extent, test::kTestTubelet, box_shape.prefix());
  const Tensor position = patch_positions(box, at::kDouble, 1).expand({2, -1, -1}).contiguous();
  for (const Running& one : running()) {
    const auto on_box = wide_model(one.setting, box_shape), on_points = wide_model(one);
    const Tensor expected = on_box->forward(video, test::test_context(false)).tokens;
    const Tensor found =
        run(*on_points, tubelets_of(video, test::kTestTubelet), points_layout(position, {}, box.prefix));
    EXPECT_LT(largest_difference(found, expected), 1e-9) << one.setting.name();
  }
}

TEST(Points, HaveBiasesAndRotationsOfTheirOwnInEveryBatch) {
  const Tensor rows = draw("rows", {2, kPoints, kNumbers});
  const Tensor near = draw("near", {2, kPoints, 3}), far = draw("far", {2, kPoints, 3}, 5);
  for (const Running& one : running()) {
    for (const bool training : {false, true}) {
      const at::AutoGradMode gradients(training);
      const auto model = wide_model(one), fresh = wide_model(one);
      const std::int64_t prefix = one.shape.prefix();
      const Tensor before = run(*model, rows, points_layout(near, {}, prefix), training);
      const Tensor after = run(*model, rows, points_layout(far, {}, prefix), training);
      EXPECT_TRUE(at::equal(after, run(*fresh, rows, points_layout(far, {}, prefix), training))) << one.setting.name();
      if (!prior_item(one.setting.id).hooks().empty()) {
        EXPECT_GT(largest_difference(after, before), 1e-6) << one.setting.name();
      }
      const Tensor again = run(*model, rows, points_layout(near, {}, prefix), training);
      EXPECT_TRUE(at::equal(again, before)) << one.setting.name();
    }
  }
}

TEST(Points, LetNoSampleSeeAnother) {
  const at::NoGradGuard no_grad;
  const Tensor rows = draw("rows", {2, kPoints, kNumbers}), position = draw("position", {2, kPoints, 3}, 3);
  for (const Running& one : running()) {
    const auto model = wide_model(one);
    const Tensor both = run(*model, rows, points_layout(position, {}, one.shape.prefix()));
    for (std::int64_t b = 0; b < 2; ++b) {
      const Layout alone = points_layout(position.slice(0, b, b + 1), {}, one.shape.prefix());
      EXPECT_LT(largest_difference(run(*model, rows.slice(0, b, b + 1), alone), both.slice(0, b, b + 1)), 1e-10)
          << one.setting.name();
    }
  }
}

// Sample 0 has all of its points, sample 1 three; what fills it up is large and far away.
struct Padded {
  Tensor rows = draw("rows", {2, kPoints, kNumbers}), position = draw("position", {2, kPoints, 3}, 3),
         valid = at::ones({2, kPoints}, at::kBool);
  std::int64_t length = 3;

  Padded() {
    rows[1].slice(0, length).fill_(1e3);
    position[1].slice(0, length).fill_(-40);
    valid[1].slice(0, length).fill_(false);
  }
};

TEST(Padding, ChangesNothingOfASampleOnAnyPath) {
  const Padded padded;
  for (const Running& one : running()) {
    const std::int64_t prefix = one.shape.prefix();
    for (const std::string& path : paths_of(one)) {
      const at::NoGradGuard no_grad;
      const auto model = wide_model(one, path);
      const Tensor found = run(*model, padded.rows, points_layout(padded.position, padded.valid, prefix));
      ASSERT_TRUE(found.isfinite().all().item<bool>()) << one.setting.name() << " on " << path;
      for (std::int64_t b = 0; b < 2; ++b) {
        const std::int64_t length = b == 0 ? kPoints : padded.length;
        const Layout alone = points_layout(padded.position.slice(0, b, b + 1).slice(1, 0, length), {}, prefix);
        const Tensor expected = run(*model, padded.rows.slice(0, b, b + 1).slice(1, 0, length), alone);
        EXPECT_LT(largest_difference(found.slice(0, b, b + 1).slice(1, 0, prefix + length), expected), 1e-9)
            << one.setting.name() << " on " << path << ", sample " << b;
      }
    }
  }
}

TEST(Padding, GetsNoGradientFromWhatIsRead) {
  const Padded padded;
  for (const Running& one : running()) {
    const std::int64_t prefix = one.shape.prefix();
    for (const std::string& path : paths_of(one)) {
      const auto model = wide_model(one, path);
      const Tensor rows = padded.rows.clone().requires_grad_();
      const Tensor tokens = run(*model, rows, points_layout(padded.position, padded.valid, prefix), true);
      const Tensor weight = draw("weight", tokens.sizes());
      (tokens[0] * weight[0]).sum().backward({}, /*retain_graph=*/true);
      (tokens[1] * weight[1]).slice(0, 0, prefix + padded.length).sum().backward();
      ASSERT_TRUE(rows.grad().isfinite().all().item<bool>()) << one.setting.name() << " on " << path;
      EXPECT_EQ(rows.grad()[1].slice(0, padded.length).abs().max().item<double>(), 0) << one.setting.name();
      EXPECT_GT(rows.grad()[1].slice(0, 0, padded.length).abs().max().item<double>(), 0) << one.setting.name();
      for (const auto& entry : model->named_parameters()) {
        const Tensor gradient = entry.value().grad();
        EXPECT_TRUE(!gradient.defined() || gradient.isfinite().all().item<bool>()) << entry.key();
      }
    }
  }
}

// Short videos: the tubelets of the last frames hold nothing.
TEST(Padding, OfVideosIsHiddenFromEveryPriorOrThePriorIsRefused) {
  const at::NoGradGuard no_grad;
  for (const PriorItem& item : test::tested_priors()) {
    if (!takes(item, "boxes")) continue;
    for (const PriorSetting& setting : test::settings_of(item)) {
      ClipShape shape{.extent = {6, 4, 4}, .padded = true};
      if (test::axial(setting)) shape.pool = "mean";
      std::shared_ptr<ClipModel> model;
      try {
        model = test::clip_model({setting}, shape);
      } catch (const std::invalid_argument& error) {
        EXPECT_THAT(error.what(), AnyOf(HasSubstr("third_axis 1 where there may be none"),
                                        HasSubstr("masked 1 where there may be none"),
                                        HasSubstr("would reach the tokens that fill samples up")))
            << setting.name();
        continue;
      }
      model->to(at::kDouble);
      Layout layout = tubelet_layout(shape.extent, test::kTestTubelet, shape.prefix());
      layout.valid = at::ones({2, 12}, at::kBool);
      layout.valid[1].slice(0, 4).fill_(false);  // one tubelet's frames of three
      const Tensor rows = draw("rows", {2, 12, kNumbers});
      Tensor other = rows.clone();
      other[1].slice(0, 4).fill_(100);
      const Tensor found = run(*model, rows, layout), expected = run(*model, other, layout);
      EXPECT_LT(largest_difference(found[0], expected[0]), 1e-12) << setting.name();
      const std::int64_t read = shape.prefix() + 4;
      EXPECT_LT(largest_difference(found[1].slice(0, 0, read), expected[1].slice(0, 0, read)), 1e-12) << setting.name();
      layout.valid = Tensor();
      EXPECT_GT(largest_difference(run(*model, rows, layout)[1].slice(0, 0, read), found[1].slice(0, 0, read)), 1e-9)
          << setting.name() << ": the same grid, all of it valid";
    }
  }
}

TEST(Padding, HasNoPlaceInWindows) {
  const LayerInfo info{.width = 8, .heads = 2, .scale = 0.5, .reference = {{2, 2}, 0}};
  Attention windows(info, {}, plain_linear(), "attention", {.partition = {.window = {2, 2}, .shift = {0, 0}}});
  Layout layout{{4, 4}, 0};
  const Tensor x = at::zeros({1, 16, 8});
  EXPECT_NO_THROW(windows.forward(x, layout, test::test_context(false)));
  layout.valid = at::ones({1, 16}, at::kBool);
  EXPECT_THROW(windows.forward(x, layout, test::test_context(false)), std::invalid_argument);
}

}  // namespace
}  // namespace locus::engine
