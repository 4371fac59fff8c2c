// The catalog: format, look-up, options, constraints, what is hashed.
#include "core/catalog/catalog.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/catalog/expression.h"
#include "tests/core/testdata.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

std::string message(const absl::Status& status) { return std::string(status.message()); }

TEST(Catalog, NamesItemsByIdAndAlias) {
  EXPECT_EQ(test_catalog().find("prior", "ape"), test_catalog().find("prior", "learned-absolute"));
  EXPECT_EQ(test_catalog().find("backbone", "violin"), nullptr);
  EXPECT_EQ(test_catalog().revisions().at("prior/violin"), 1);
}

TEST(Catalog, SuggestsTheNearestName) {
  const auto item = test_catalog().get("prior", "violn", "matrix.prior[0]");
  ASSERT_FALSE(item.ok());
  EXPECT_TRUE(has_reason(item.status(), ErrorReason::kUnknownPrior));
  EXPECT_EQ(error_detail(item.status())->field, "matrix.prior[0]");
  EXPECT_EQ(error_detail(item.status())->metadata.at("nearest"), "violin");
  EXPECT_TRUE(has_reason(test_catalog().get("backbone", "vti", "model.backbone").status(), ErrorReason::kUnknownItem));
}

TEST(Options, AreCompletedWithDefaults) {
  const CatalogItem& recipe = *test_catalog().find("recipe", "supervised");
  const auto resolved = test_catalog().resolve(recipe, {{"epochs", 3.0}, {"lr", 1}}, "train");
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  EXPECT_TRUE((*resolved)["epochs"].is_number_integer());
  EXPECT_EQ((*resolved)["epochs"], 3);
  EXPECT_EQ((*resolved)["lr"], 1.0);
  EXPECT_EQ((*resolved)["batch"], 32);
  EXPECT_EQ(resolved->size(), recipe.options.size());
}

TEST(Options, AreAbsentFromTheIdentityAtTheirNeutralValue) {
  const CatalogItem& recipe = *test_catalog().find("recipe", "supervised");
  const Json plain = test_catalog().scientific(recipe, *test_catalog().resolve(recipe, nullptr, "train"));
  EXPECT_FALSE(plain.contains("limit"));
  EXPECT_TRUE(plain.contains("weight_decay"));  // a default, but not a neutral one
  const Json limited = test_catalog().scientific(recipe, *test_catalog().resolve(recipe, {{"limit", 100}}, "train"));
  EXPECT_EQ(limited["limit"], 100);
}

struct BadOption {
  const char *kind, *id, *given;
  ErrorReason reason;
  const char *field, *says;
};

TEST(Options, AreRefusedWithReasonFieldAndRemedy) {
  const BadOption rows[] = {
      {"recipe", "supervised", R"({"epohcs": 1})", ErrorReason::kUnknownKey, "x.epohcs", "did you mean 'epochs'"},
      {"recipe", "supervised", R"({"epochs": "two"})", ErrorReason::kWrongType, "x.epochs",
       "an integer, not the string \"two\""},
      {"recipe", "supervised", R"({"epochs": 2.5})", ErrorReason::kWrongType, "x.epochs", "an integer"},
      {"recipe", "supervised", R"({"epochs": true})", ErrorReason::kWrongType, "x.epochs", "the boolean true"},
      {"recipe", "supervised", R"({"epochs": 0})", ErrorReason::kOptionOutOfRange, "x.epochs", "at least 1, not 0"},
      {"recipe", "supervised", R"({"lr": 0})", ErrorReason::kOptionOutOfRange, "x.lr", "greater than 0"},
      {"recipe", "supervised", R"({"lr": 11})", ErrorReason::kOptionOutOfRange, "x.lr", "at most 10"},
      {"recipe", "supervised", R"({"lr": "NaN"})", ErrorReason::kOptionOutOfRange, "x.lr", "finite number"},
      {"recipe", "supervised", R"({"lr": "Infinity"})", ErrorReason::kOptionOutOfRange, "x.lr", "finite number"},
      {"recipe", "supervised", R"({"lr": null})", ErrorReason::kWrongType, "x.lr", "nothing"},
      {"recipe", "supervised", R"({"warmup_epochs": 11})", ErrorReason::kConstraintViolated, "x.warmup_epochs",
       "greater than epochs = 10"},
      {"backbone", "vit", R"({"heads": 5})", ErrorReason::kConstraintViolated, "x.heads",
       "heads = 5 does not divide dim = 64"},
      {"backbone", "vit", R"({"dim": 66})", ErrorReason::kConstraintViolated, "x.dim",
       "heads = 4 does not divide dim = 66"},
      {"backbone", "vit", R"({"pool": "man"})", ErrorReason::kOptionOutOfRange, "x.pool", "did you mean 'mean'"},
      {"prior", "violin", R"({"curves": []})", ErrorReason::kOptionOutOfRange, "x.curves", "at least 1 items"},
      {"prior", "violin", R"({"curves": "snake"})", ErrorReason::kWrongType, "x.curves", "a list"},
      {"prior", "violin", R"({"curves": ["snake", "hilbret"]})", ErrorReason::kOptionOutOfRange, "x.curves[1]",
       "'hilbert'"},
      {"prior", "violin", R"({"curves": ["snake", "snake"]})", ErrorReason::kOptionOutOfRange, "x.curves[1]",
       "repetition"},
      {"prior", "violin", R"({"shared": "yes"})", ErrorReason::kWrongType, "x.shared", "true or false"},
      {"prior", "none", R"({"x": 1})", ErrorReason::kUnknownKey, "x.x", "it takes none"},
      {"prior", "violin", R"([1])", ErrorReason::kWrongType, "x", "a mapping"},
  };
  for (const BadOption& row : rows) {
    SCOPED_TRACE(std::string(row.id) + " " + row.given);
    const auto resolved = test_catalog().resolve(*test_catalog().find(row.kind, row.id), Json::parse(row.given), "x");
    ASSERT_FALSE(resolved.ok());
    EXPECT_EQ(resolved.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(has_reason(resolved.status(), row.reason)) << resolved.status();
    EXPECT_EQ(error_detail(resolved.status())->field, row.field);
    EXPECT_THAT(message(resolved.status()), HasSubstr(row.says));
  }
}

TEST(Options, RefuseNotANumberAsADoubleToo) {
  const CatalogItem& recipe = *test_catalog().find("recipe", "supervised");
  const auto resolved = test_catalog().resolve(recipe, {{"lr", std::numeric_limits<double>::quiet_NaN()}}, "train");
  EXPECT_TRUE(has_reason(resolved.status(), ErrorReason::kOptionOutOfRange)) << resolved.status();
}

TEST(CatalogFormat, RefusesWhatBreaksIt) {
  const std::string head = R"({"version": 1, "items": [)", prior = R"({"kind": "prior", "id": "a", "revision": 1)",
                    tail = "]}";
  const std::string with_option = head + prior + R"(, "options": [)";
  const std::pair<std::string, const char*> rows[] = {
      {R"({"version": 2, "items": []})", "version"},
      {R"({"version": 1})", "items"},
      {head + R"({"kind": "priro", "id": "a", "revision": 1})" + tail, "items[0].kind"},
      {head + R"({"kind": "prior", "id": "a"})" + tail, "items[0].revision"},
      {head + prior + "}, " + R"({"kind": "prior", "id": "b", "aliases": ["a"], "revision": 1})" + tail, "items[1]"},
      {with_option + R"({"name": "x", "type": "integer"}]})" + tail, "items[0].options[0].default"},
      {with_option + R"({"name": "x", "type": "integer", "default": "a"}]})" + tail, "items[0].options[0].default"},
      {with_option + R"({"name": "x", "type": "list", "default": []}]})" + tail, "items[0].options[0].element"},
      {head + prior + R"(, "constraints": [{"rule": "divides", "of": "x", "into": "y"}]})" + tail,
       "items[0].constraints[0]"},
      {R"({"version": 1, "items": [], "sections": {}})", "sections"},
      {R"({"version": 1, "items": [], "sections": [{"key": "train", "kind": "a", "neutral": "a", "help": "h"}]})",
       "sections[0]"},
      {R"({"version": 1, "items": [], "sections": [{"key": "seed", "kind": "a", "neutral": "a", "help": "h"}]})",
       "sections[0]"},
      {R"({"version": 1, "items": [], "sections": [{"key": "a.b", "kind": "a", "neutral": "a", "help": "h"}]})",
       "sections[0].key"},
      {R"({"version": 1, "items": [], "sections": [{"key": "a", "kind": "a", "neutral": "none", "help": "h"}]})",
       "sections"},
      {R"({"version": 1, "items": [], "sections": [{"key": "a", "kind": "a", "help": "h"}]})", "sections[0].neutral"},
  };
  for (const auto& [document, field] : rows) {
    const auto catalog = Catalog::parse(Json::parse(document));
    ASSERT_FALSE(catalog.ok()) << document;
    EXPECT_EQ(error_detail(catalog.status())->field, field) << catalog.status();
  }
}

TEST(CatalogFormat, DigestDoesNotDependOnKeyOrder) {
  const auto a = catalog_of(Json::parse(R"({"version": 1, "items": []})"));
  const auto b = catalog_of(Json::parse(R"({"items": [], "version": 1})"));
  EXPECT_EQ(a.digest(), b.digest());
  EXPECT_NE(a.digest(), test_catalog().digest());
}

TEST(Expression, IsArithmeticOverNames) {
  const NameValue names = [](std::string_view name) -> std::optional<double> {
    if (name == "dim") return 64;
    if (name == "pool.cls") return 1;
    if (name == "rows.with-class") return 1;
    return std::nullopt;
  };
  const std::pair<const char*, double> rows[] = {
      {"1 + 2 * 3", 7},           {"(1 + 2) * 3", 9},         {"2 ^ 3 ^ 2", 512},
      {"10 - 4 - 3", 3},          {"8 / 4 / 2", 1},           {"dim * (dim + 1) / 2", 2080},
      {"-dim + 1", -63},          {"round(2.3 * 16)", 37},    {"3 + pool.cls * dim", 67},
      {" 1.5e3 ", 1500},          {"rows.with-class - 1", 0}, {"floor(7 / 2)", 3},
      {"log2(dim / 2)", 5},       {"zero(dim) + zero(0)", 1}, {"min(dim, 2 * 3)", 6},
      {"max(1, min(dim, 2))", 2}, {"ceil(7 / 2)", 4}};
  for (const auto& [text, value] : rows) {
    const auto found = evaluate_expression(text, names);
    ASSERT_TRUE(found.ok()) << text << ": " << found.status();
    EXPECT_DOUBLE_EQ(*found, value) << text;
  }
  for (const char* bad :
       {"", "1 +", "(1", "1)", "depth", "1 2", "dim..x", "2 $ 3", "min(1)", "sin(1)", "floor(1, 2)", "dims[0]"})
    EXPECT_TRUE(has_reason(evaluate_expression(bad, names).status(), ErrorReason::kInvalidSpecification)) << bad;
}

TEST(Expression, AddsUpOverTheStagesOfANetwork) {
  const std::vector<double> dims = {2, 3, 5};
  const FormulaWords words = {
      .number = [&](std::string_view name, std::optional<std::size_t> stage) -> std::optional<double> {
        if (name == "stage" && stage) return static_cast<double>(*stage);
        if (name == "dim" && stage) return dims[*stage];
        if (name == "stages") return static_cast<double>(dims.size());
        return std::nullopt;
      },
      .entry = [&](std::string_view list, std::size_t place) -> std::optional<double> {
        if (list != "dims" || place >= dims.size()) return std::nullopt;
        return dims[place];
      },
      .stages = dims.size()};
  const std::pair<const char*, double> rows[] = {{"dims[0] + dims[stages - 1]", 7},
                                                 {"sum_stages(dim)", 10},
                                                 {"1 + 2 * sum_stages((dim + 1) * dims[stage]) ^ 2", 1 + 2 * 48.0 * 48},
                                                 {"sum_stages(stage) * stages", 9},
                                                 {"sum_stages(dims[max(stage - 1, 0)] * (1 - zero(stage)))", 5},
                                                 {"sum_stages(dim - sum_stages(dim) / stages)", 0}};
  for (const auto& [text, value] : rows) {
    const auto found = evaluate_expression(text, words);
    ASSERT_TRUE(found.ok()) << text << ": " << found.status();
    EXPECT_NEAR(*found, value, 1e-12) << text;
  }
  EXPECT_EQ(*evaluate_expression("dim * stage", words, 2), 10);
  EXPECT_EQ(*evaluate_expression("sum_stages(dim) - dim", words, 1), 7) << "a sum ends in the stage it began in";
  for (const char* bad :
       {"dim", "stage", "sum_stages(dim) + dim", "sum_stages(dim", "sum_stages()", "sum_stages(1, 2)", "dims[3]",
        "dims[-1]", "dims[0.5]", "dims[1", "dims[]", "heads[0]", "sum_stages(dims[stage + 1])"})
    EXPECT_TRUE(has_reason(evaluate_expression(bad, words).status(), ErrorReason::kInvalidSpecification)) << bad;
}

}  // namespace
}  // namespace locus
