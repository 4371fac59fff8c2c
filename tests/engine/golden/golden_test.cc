// Golden numbers: what each prior and backbone computes at its present revision. Moving them silently would
// let two different functions share one identity, so they move only together with the item's revision.
//
// LOCUS_GOLDEN=update writes the file; it refuses to change numbers whose revision stayed.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <set>

#include "tests/engine/support/models.h"
#include "tests/engine/support/sources.h"

namespace locus::engine {
namespace {

using test::ModelShape;
using test::PriorSetting;

// Float64 throughout; what is left is the order of summation, which differs between processors. Relative to the
// number where it is larger than 1: a sum's rounding grows with its terms.
constexpr double kTolerance = 1e-9;
constexpr double kStep = 0.5;
// A longer gradient is shortened: the auxiliary losses, whose weight is 100, would diverge to 1e17 within three steps
// and magnify rounding from step to step. No other setting has a gradient this long.
constexpr double kLongestGradient = 2, kShortened = 0.2;
constexpr const char* kAdvice =
    "If the change is meant, raise the item's revision, then: LOCUS_GOLDEN=update ctest --test-dir <build> "
    "-R golden";

// One step of plain gradient descent; a gradient longer than kLongestGradient is shortened to kShortened.
void descend(Module& model) {
  const at::NoGradGuard no_grad;
  double square = 0;
  for (const Tensor& p : model.parameters()) square += p.grad().square().sum().item<double>();
  const double length = std::sqrt(square);
  const double step = length > kLongestGradient ? kStep * kShortened / length : kStep;
  for (Tensor& p : model.parameters()) p.sub_(p.grad(), step);
}

// A few outputs, and the losses of three steps of gradient descent, in float64.
Json trace(const std::vector<PriorSetting>& priors, const ModelShape& shape) {
  const auto model = test::small_model(priors, shape);
  model->to(at::kDouble);
  const Tensor images = test::test_images(3, shape.extent).to(at::kDouble);
  Json out{{"outputs", Json::array()}, {"other_grid", Json::array()}, {"losses", Json::array()}};
  const auto record = [&](const char* key, const Tensor& pooled) {
    for (std::int64_t i = 0; i < 4; ++i) out[key].push_back(pooled[i % 3][i * 5].item<double>());
  };
  record("outputs", model->pooled(model->forward(images, test::test_context(false))));
  const std::int64_t tokens = shape.extent[0] * shape.extent[1] / 4 + shape.registers + (shape.pool == "cls" ? 1 : 0);
  const Tensor target = RandomStreams(8).normal("test", "target", 0, {tokens, shape.dim}).to(at::kDouble);
  for (std::int64_t step = 0; step < 3; ++step) {
    model->zero_grad();
    const ForwardContext context = test::test_context(true, step);
    const Features features = model->forward(images, context);
    Tensor loss = (features.tokens * target).mean();
    for (const AuxLoss& aux : model->auxiliary_losses(features, context)) loss = loss + aux.value;
    out["losses"].push_back(loss.item<double>());
    loss.backward();
    descend(*model);
  }
  record("other_grid",
         model->pooled(model->forward(test::test_images(3, {12, 6}).to(at::kDouble), test::test_context(false))));
  return out;
}

struct GoldenCase {
  std::string item;  // "prior/violin"
  int revision;
  std::string setting;
  std::vector<PriorSetting> priors;
  ModelShape shape;
};

void PrintTo(const GoldenCase& c, std::ostream* out) { *out << c.item << " " << c.setting; }

std::vector<GoldenCase> golden_cases() {
  std::vector<GoldenCase> cases;
  for (const PriorItem& item : prior_items()) {
    for (const PriorSetting& setting : test::settings_of(item)) {
      cases.push_back({"prior/" + item.id(),
                       item.item.json().at("revision"),
                       setting.name(),
                       {setting},
                       test::fitting(setting, {.pool = "cls"})});
    }
  }
  const int vit = backbone_item("vit").item.json().at("revision");
  cases.push_back({"backbone/vit", vit, "mean", {}, {}});
  cases.push_back({"backbone/vit", vit, "cls_registers", {}, {.pool = "cls", .registers = 4}});
  return cases;
}

std::string golden_file() { return test::in_sources("tests/engine/golden/model.json"); }

bool updating() {
  const char* mode = std::getenv("LOCUS_GOLDEN");
  return mode && std::string_view(mode) == "update";
}

Json stored() {
  std::ifstream in(golden_file());
  return in ? Json::parse(in) : Json::object();
}

// The largest difference, relative to the larger of the two numbers where that is above 1; infinity when the shapes
// of the documents differ or a number is not finite (JSON writes it as null).
double distance(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) {
    const double x = a.get<double>(), y = b.get<double>();
    return std::abs(x - y) / std::max({1.0, std::abs(x), std::abs(y)});
  }
  if (!a.is_structured()) return HUGE_VAL;
  if (a.type() != b.type() || a.size() != b.size()) return HUGE_VAL;
  double most = 0;
  if (a.is_object()) {
    for (const auto& [key, value] : a.items())
      most = std::max(most, b.contains(key) ? distance(value, b.at(key)) : HUGE_VAL);
  } else {
    for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, distance(a[i], b[i]));
  }
  return most;
}

class Golden : public testing::TestWithParam<GoldenCase> {};

TEST_P(Golden, NumbersMoveOnlyWithTheRevision) {
  const GoldenCase& c = GetParam();
  Json document = stored();
  const Json found = {{"revision", c.revision}, {"trace", trace(c.priors, c.shape)}};
  const Json known = document.value(c.item, Json::object()).value(c.setting, Json());
  const bool moved = known.is_null() || distance(known.at("trace"), found.at("trace")) > kTolerance;
  if (!known.is_null() && known.at("revision") == c.revision) {
    ASSERT_FALSE(moved) << c.item << " (" << c.setting << ") computes other numbers at the same revision " << c.revision
                        << ".\nwas " << known.at("trace") << "\nis  " << found.at("trace") << "\n"
                        << kAdvice;
    return;
  }
  if (updating()) {
    document[c.item][c.setting] = found;
    std::ofstream(golden_file()) << document.dump(1) << "\n";
    return;
  }
  FAIL() << c.item << " (" << c.setting << ") has no numbers at revision " << c.revision << ". " << kAdvice;
}

std::string golden_name(const testing::TestParamInfo<GoldenCase>& info) {
  std::string name = info.param.item + "_" + info.param.setting;
  for (char& ch : name) ch = std::isalnum(static_cast<unsigned char>(ch)) ? ch : '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(Items, Golden, testing::ValuesIn(golden_cases()), golden_name);

// Numbers of a training that diverges say nothing about the prior, and magnify the rounding of one processor.
TEST(GoldenFile, HoldsOnlyTrainingsThatDoNotDiverge) {
  const Json document = stored();
  for (const auto& [item, settings] : document.items()) {
    for (const auto& [setting, known] : settings.items()) {
      const Json& losses = known.at("trace").at("losses");
      for (const Json& loss : losses) {
        ASSERT_TRUE(loss.is_number()) << item << " " << setting;
        EXPECT_LE(std::abs(loss.get<double>()), 2 * std::max(1.0, std::abs(losses[0].get<double>())))
            << item << " " << setting << " " << losses;
      }
    }
  }
}

TEST(GoldenFile, HoldsNoItemThatIsGone) {
  std::set<std::pair<std::string, std::string>> known;
  for (const GoldenCase& c : golden_cases()) known.emplace(c.item, c.setting);
  const Json document = stored();
  for (const auto& [item, settings] : document.items()) {
    for (const auto& [setting, value] : settings.items())
      EXPECT_TRUE(known.contains({item, setting})) << item << " " << setting;
  }
}

}  // namespace
}  // namespace locus::engine
