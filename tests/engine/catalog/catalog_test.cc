// The catalog's document: complete, unambiguous, and the same as the committed one.
#include "engine/catalog/catalog.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "core/base/json.h"
#include "tests/engine/support/sources.h"

namespace locus::engine {
namespace {

TEST(Catalog, ListsEveryKindAndNoNameTwice) {
  const Json document = catalog_json();
  EXPECT_EQ(document.at("version"), 1);
  std::set<std::string> kinds;
  std::set<std::pair<std::string, std::string>> names;
  for (const Json& item : document.at("items")) {
    const auto kind = item.at("kind").get<std::string>();
    kinds.insert(kind);
    EXPECT_TRUE(names.emplace(kind, item.at("id")).second) << item.at("id");
    for (const Json& alias : item.at("aliases")) EXPECT_TRUE(names.emplace(kind, alias).second) << alias;
  }
  std::set<std::string> known = {"prior", "backbone", "dataset", "task", "recipe", "stage"};
  for (const Json& section : document.value("sections", Json::array())) known.insert(section.at("kind"));
  EXPECT_EQ(kinds, known);
}

TEST(Catalog, IsFitToBeHashed) { EXPECT_NO_THROW(canonical_json(catalog_json())); }

TEST(Catalog, IsWhatIsCommitted) {
  const auto file = test::in_sources("engine/catalog.json");
  std::ifstream in(file);
  ASSERT_TRUE(in) << file << " is missing";
  // One item at a time, so that a failure names what differs.
  const Json committed = Json::parse(in), found = catalog_json();
  const char* advice = "Write it anew: <build>/bin/locus-trainer catalog > engine/catalog.json";
  EXPECT_EQ(committed.value("sections", Json()), found.value("sections", Json())) << advice;
  ASSERT_EQ(committed.at("items").size(), found.at("items").size()) << advice;
  for (std::size_t i = 0; i < found.at("items").size(); ++i) {
    EXPECT_EQ(committed.at("items")[i], found.at("items")[i]) << found.at("items")[i].at("id") << ". " << advice;
  }
}

}  // namespace
}  // namespace locus::engine
