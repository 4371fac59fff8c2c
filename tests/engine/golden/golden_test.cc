// Golden numbers: what each prior and backbone computes at its present revision. Moving them silently would
// let two different functions share one identity, so they move only together with the item's revision.
//
// LOCUS_GOLDEN=update writes the file; it refuses to change numbers whose revision stayed.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "tests/engine/support/models.h"

namespace locus {
namespace {

using test::ModelShape;
using test::PriorSetting;

constexpr double kTolerance = 1e-9;  // float64 throughout; what is left is the order of summation
constexpr const char* kAdvice =
    "If the change is meant, raise the item's revision, then: LOCUS_GOLDEN=update ctest --test-dir <build> "
    "-R golden";

// A few outputs, and the losses of three steps of plain gradient descent, in float64.
Json trace(const std::vector<PriorSetting>& priors, const ModelShape& shape) {
  const auto model = test::small_model(priors, shape);
  model->to(at::kDouble);
  const Tensor images = test::test_images(3, shape.extent).to(at::kDouble);
  Json out{{"outputs", Json::array()}, {"other_grid", Json::array()}, {"losses", Json::array()}};
  const auto record = [&](const char* key, const Tensor& pooled) {
    for (std::int64_t i = 0; i < 4; ++i) out[key].push_back(pooled[i % 3][i * 5].item<double>());
  };
  record("outputs", model->pooled(model->forward(images, test::test_moment(false))));
  const std::int64_t tokens =
      shape.extent[0] * shape.extent[1] / 4 + shape.registers + (shape.pool == "cls" ? 1 : 0);
  const Tensor target = RandomStreams(8).normal("test", "target", 0, {tokens, shape.dim}).to(at::kDouble);
  for (std::int64_t step = 0; step < 3; ++step) {
    model->zero_grad();
    const Moment moment = test::test_moment(true, step);
    const Features features = model->forward(images, moment);
    Tensor loss = (features.tokens * target).mean();
    for (const AuxLoss& aux : model->auxiliary_losses(features, moment)) loss = loss + aux.value;
    out["losses"].push_back(loss.item<double>());
    loss.backward();
    const at::NoGradGuard no_grad;
    for (Tensor& p : model->parameters()) p.sub_(p.grad(), 0.5);
  }
  record("other_grid", model->pooled(model->forward(test::test_images(3, {12, 6}).to(at::kDouble),
                                                    test::test_moment(false))));
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

std::string golden_file() { return std::filesystem::path(__FILE__).replace_filename("model.json"); }

bool updating() {
  const char* mode = std::getenv("LOCUS_GOLDEN");
  return mode && std::string_view(mode) == "update";
}

Json stored() {
  std::ifstream in(golden_file());
  return in ? Json::parse(in) : Json::object();
}

// The largest difference, or infinity when the shapes of the documents differ.
double distance(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return std::abs(a.get<double>() - b.get<double>());
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
    ASSERT_FALSE(moved) << c.item << " (" << c.setting << ") computes other numbers at the same revision "
                        << c.revision << ".\nwas " << known.at("trace") << "\nis  " << found.at("trace")
                        << "\n"
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
}  // namespace locus
