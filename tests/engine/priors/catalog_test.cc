// Catalog entries of priors and backbones: well formed, and true about the code.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>

#include "engine/priors/items.h"
#include "tests/engine/support/models.h"

namespace locus::engine {
namespace {

std::vector<Json> entries() {
  std::vector<Json> all;
  for (const PriorItem& item : test::tested_priors()) all.push_back(item.item.json());
  for (const BackboneItem& item : backbone_items()) all.push_back(item.item.json());
  return all;
}

bool fits(const Json& option, const Json& value) {
  const auto type = option.at("type").get<std::string>();
  if (type == "integer" && !value.is_number_integer()) return false;
  if (type == "number" && !value.is_number()) return false;
  if (type == "boolean") return value.is_boolean();
  if (type == "list") {
    Json element = option;
    element["type"] = option.at("element");
    return value.is_array() && value.size() >= option.value("min_items", 0u) &&
           std::all_of(value.begin(), value.end(), [&](const Json& each) { return fits(element, each); });
  }
  if (type == "string") {
    const auto& choices = option.at("choices");
    return std::find(choices.begin(), choices.end(), value) != choices.end();
  }
  const auto number = value.get<double>();
  return number >= option.value("minimum", number) && number <= option.value("maximum", number) &&
         (!option.contains("exclusive_minimum") || number > option.at("exclusive_minimum").get<double>());
}

TEST(CatalogEntries, IdsAreTheFileNamesWithHyphens) {
  std::vector<std::string> files;
#define LOCUS_PRIOR(file) files.emplace_back(#file);
#include "engine/priors/priors.def"
#undef LOCUS_PRIOR
  const auto own = [](const PriorItem& item) { return !item.item.json().contains("origin"); };
  ASSERT_EQ(static_cast<std::ptrdiff_t>(files.size()), std::count_if(prior_items().begin(), prior_items().end(), own));
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::replace(files[i].begin(), files[i].end(), '_', '-');
    EXPECT_EQ(prior_items()[i].id(), files[i]);
  }
  files.clear();
#define LOCUS_BACKBONE(file) files.emplace_back(#file);
#include "engine/backbones/backbones.def"
#undef LOCUS_BACKBONE
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::replace(files[i].begin(), files[i].end(), '_', '-');
    EXPECT_EQ(backbone_items().at(i).id(), files[i]);
  }
}

TEST(CatalogEntries, HaveNamesHelpAndARevision) {
  const std::regex id("[a-z][a-z0-9]*(-[a-z0-9]+)*"), name("[a-z][a-z0-9]*(_[a-z0-9]+)*");
  for (const Json& entry : entries()) {
    EXPECT_TRUE(std::regex_match(entry.at("id").get<std::string>(), id)) << entry.at("id");
    EXPECT_GE(entry.at("revision").get<int>(), 1);
    EXPECT_FALSE(entry.at("summary").get<std::string>().empty()) << entry.at("id");
    for (const Json& option : entry.at("options")) {
      EXPECT_TRUE(std::regex_match(option.at("name").get<std::string>(), name)) << option.at("name");
      EXPECT_FALSE(option.at("help").get<std::string>().empty()) << entry.at("id") << " " << option.at("name");
    }
  }
}

TEST(CatalogEntries, DefaultsAreAllowedAndNeutralValuesAreDefaults) {
  for (const Json& entry : entries()) {
    for (const Json& option : entry.at("options")) {
      EXPECT_TRUE(fits(option, option.at("default"))) << entry.at("id") << " " << option.at("name");
      // An absent option is read back as its default, so leaving it out of the identity must mean the same.
      EXPECT_EQ(option.value("neutral", option.at("default")), option.at("default"))
          << entry.at("id") << " " << option.at("name");
    }
  }
}

TEST(CatalogEntries, NameTheirPaperFormulaAndLayouts) {
  for (const PriorItem& item : test::tested_priors()) {
    const Json& entry = item.item.json();
    EXPECT_FALSE(entry.at("formula").get<std::string>().empty()) << item.id();
    EXPECT_EQ(entry.at("paper").get<std::string>().empty(), item.hooks().empty()) << item.id();
    EXPECT_FALSE(entry.at("layouts").at("ranks").empty()) << item.id();
  }
}

// Calls one hook of a prior, with arguments that fit.
class HookCaller {
 public:
  HookCaller(Prior& prior, PriorLayer* layer, std::int64_t prefix)
      : prior_(prior), layer_(layer), layout_{{4, 5}, prefix} {}

  void call(Hook hook) {
    const AttentionInputs inputs{x_, q_, q_, q_, layout_};
    switch (hook) {
      case Hook::kEmbed:
        prior_.embed(Site::kBeforePrefix, x_.slice(1, layout_.prefix), layout_, moment_);
        return;
      case Hook::kPattern:
        prior_.pattern({.heads = 4, .reference = layout_});
        return;
      case Hook::kLoss:
        prior_.loss({{"pre-norm", x_}, {"post-norm", x_}}, layout_, moment_);
        return;
      default:
        break;
    }
    if (layer_ == nullptr) throw std::logic_error("no layer");
    switch (hook) {
      case Hook::kBlockEmbed:
        layer_->embed(Site::kBlockStart, x_, layout_, moment_);
        return;
      case Hook::kTransformQk:
        layer_->transform_qk(q_, q_, inputs, moment_);
        return;
      case Hook::kBias:
        layer_->bias(inputs, moment_);
        return;
      case Hook::kScale:
        layer_->scale(inputs, moment_);
        return;
      case Hook::kProbabilities:
        layer_->probabilities(p_, inputs, moment_);
        return;
      case Hook::kFromProbabilities:
        layer_->from_probabilities(p_, inputs, moment_);
        return;
      case Hook::kAddOutput:
        layer_->add_output(inputs, moment_);
        return;
      case Hook::kGateOutput:
        layer_->gate_output(inputs, moment_);
        return;
      case Hook::kFeedForward:
        layer_->feed_forward(x_, mlp_, layout_, moment_);
        return;
      default:
        FAIL() << "a hook this test does not know";
    }
  }

 private:
  Prior& prior_;
  PriorLayer* layer_;
  Layout layout_;
  std::int64_t tokens_ = layout_.tokens();
  Tensor x_ = at::randn({2, tokens_, 32}), q_ = at::randn({2, 4, tokens_, 8}), p_ = at::rand({2, 4, tokens_, tokens_});
  ForwardContext moment_ = test::test_context(true);
  FeedForward mlp_{.norm = [](const Tensor& x) { return x; },
                   .in =
                       [](const Tensor& x) {
                         return at::cat({x, x, x, x}, -1);
                       },
                   .out = [](const Tensor& x) { return x.slice(-1, 0, 32); }};
};

TEST(CatalogEntries, DeclareExactlyTheHooksTheCodeHas) {
  for (const PriorItem& item : test::tested_priors()) {
    const auto declared = item.hooks();
    std::set<Hook> used;
    for (const test::PriorSetting& setting : test::settings_of(item)) {
      const auto model = test::small_model({setting}, test::fitting(setting, {.pool = "cls"}));
      const auto& named = model->priors(0).at(0);
      HookCaller caller(*named.prior, named.prior->layers()[0].get(), test::axial(setting) ? 0 : 1);
      for (int h = 0; h < kHookCount; ++h) {
        const Hook hook = static_cast<Hook>(h);
        if (named.has(hook)) {
          EXPECT_NO_THROW(caller.call(hook)) << setting.name() << " declares " << to_string(hook);
          used.insert(hook);
        } else if (std::find(declared.begin(), declared.end(), hook) == declared.end()) {
          EXPECT_THROW(caller.call(hook), std::logic_error)
              << setting.name() << " has an undeclared hook " << to_string(hook);
        }
      }
    }
    EXPECT_EQ(used, std::set<Hook>(declared.begin(), declared.end()))
        << item.id() << " declares a hook that no setting uses";
  }
}

TEST(CatalogEntries, HookNamesReadBack) {
  for (int h = 0; h < kHookCount; ++h) EXPECT_EQ(parse_hook(to_string(static_cast<Hook>(h))), static_cast<Hook>(h));
  EXPECT_THROW(parse_hook("tangent"), std::invalid_argument);
}

// Nothing may stand beside a prior that does nothing: it would be the same computation under another
// identity.
TEST(CatalogEntries, APriorWithoutHooksExcludesAllOthers) {
  for (const PriorItem& item : prior_items()) {
    if (!item.hooks().empty()) continue;
    for (const PriorItem& other : prior_items()) {
      EXPECT_THROW(test::small_model({{item.id()}, {other.id()}}), std::invalid_argument) << other.id();
    }
  }
}

}  // namespace
}  // namespace locus::engine
