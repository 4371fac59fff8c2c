// YAML to JSON: scalars, lines, and what is refused.
#include "cli/yaml.h"

#include <gmock/gmock.h>

#include <random>

#include "core/base/error.h"
#include "core/base/utf8.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

Json value_of(const std::string& text) {
  const auto document = parse_yaml(text);
  if (!document.ok()) throw std::runtime_error(document.status().ToString());
  return document->json;
}

TEST(Yaml, TypesScalarsByTheCoreSchema) {
  const std::pair<const char*, Json> rows[] = {
      {"1", 1},
      {"-7", -7},
      {"+3", 3},
      {"0x1F", 31},
      {"0o17", 15},
      {"1e-3", 0.001},
      {"3.0e-3", 0.003},
      {".5", 0.5},
      {"2.", 2.0},
      {"1E3", 1000.0},
      {"true", true},
      {"False", false},
      {"null", nullptr},
      {"~", nullptr},
      {"\"1\"", "1"},
      {"'true'", "true"},
      {"yes", "yes"},
      {"no", "no"},
      {"1_000", "1_000"},
      {"0b1", "0b1"},
      {"1.2.3", "1.2.3"},
      {"e3", "e3"},
      {".", "."},
      {"12:30", "12:30"},
      {"2026-01-02", "2026-01-02"},
      {"!!str 5", "5"},
      {"!!float 5", 5},
      {"\"\"", ""},
      {"snake", "snake"},
      {"9223372036854775808", 9223372036854775808.0},
  };
  for (const auto& [text, value] : rows) {
    EXPECT_EQ(value_of(std::string("[") + text + "]")[0], value) << text;
    EXPECT_EQ(value_of(std::string("[") + text + "]")[0].type() == Json::value_t::string, value.is_string()) << text;
  }
}

TEST(Yaml, CarriesNonFiniteNumbersAsTheWireDoes) {
  EXPECT_EQ(value_of("[.nan, .inf, -.INF, 1e999]"), Json::parse(R"(["NaN", "Infinity", "-Infinity", "Infinity"])"));
}

TEST(Yaml, ReadsJson) {
  EXPECT_EQ(value_of("{\n\t\"a\": [1, 2.5, null, true],\n\t\"b\": {\"c\": \"x\"}\n}\n"),
            Json::parse(R"({"a": [1, 2.5, null, true], "b": {"c": "x"}})"));
  EXPECT_EQ(value_of(R"({"u": "\u00e9 \ud83d\ude00", "e": "\\ud83d\\ude00", "s": "a\/b\"\n"})"),
            Json::parse(R"({"u": "\u00e9 \ud83d\ude00", "e": "\\ud83d\\ude00", "s": "a\/b\"\n"})"));
}

TEST(Yaml, RemembersTheLineOfEveryValue) {
  const auto document = parse_yaml(
      "# a comment\nname: x\nmatrix:\n  prior:\n    - none\n    - violin:\n        curves: [snake,\n         "
      " hilbert]\n"
      "  train.lr: [1e-3,\n    .nan]\nempty:\n");
  ASSERT_TRUE(document.ok()) << document.status();
  const auto& lines = document->lines;
  EXPECT_EQ(lines.at("name"), 2);
  EXPECT_EQ(lines.at("matrix.prior"), 4);
  EXPECT_EQ(lines.at("matrix.prior[0]"), 5);
  EXPECT_EQ(lines.at("matrix.prior[1].violin"), 6);
  EXPECT_EQ(lines.at("matrix.prior[1].violin.curves[1]"), 8);
  EXPECT_EQ(lines.at("matrix.train.lr[1]"), 10);
  EXPECT_EQ(lines.at("empty"), 11);
}

TEST(Yaml, SpellsOutAliases) {
  EXPECT_EQ(value_of("a: &x {lr: 1}\nb: *x\nc: [*x]\n"),
            Json::parse(R"({"a": {"lr": 1}, "b": {"lr": 1}, "c": [{"lr": 1}]})"));
}

TEST(Yaml, ReadsAgainWhatItsLongestKeyIsAsJson) {
  const std::string escaped(kYamlKeyBytes, '\x01');
  const Json document = value_of("'" + escaped + "': 1\n");
  EXPECT_EQ(document, (Json{{escaped, 1}}));
  EXPECT_EQ(value_of(document.dump()), document);
}

struct Refusal {
  const char *name, *text, *line, *says;
};

TEST(Yaml, RefusesABytewiseZero) {
  const auto document = parse_yaml(std::string_view("a: 1\nb: \0\n", 10));
  EXPECT_EQ(std::string(document.status().message()), "the byte 0x00 at offset 8 is no text; is this the right file?");
  EXPECT_EQ(error_detail(document.status())->metadata.at("line"), "2");
}

// Whatever the bytes: a document that can be sent, or a refusal with a line.
TEST(Yaml, MakesOfAnyBytesADocumentThatCanBeSentOrARefusal) {
  const std::string seeds[] = {"version: 1\nname: a\ntrain: {lr: 1.0e-3, epochs: [1, 2]}\n# caf\xc3\xa9\n",
                               "a: &x \"\\u00e9\\ud83d\\ude00\"\n? b\n: |\n  text\n\t\n- *x\n---\n",
                               "{\"a\": [1, {}]}"};
  std::mt19937_64 random(7);
  int sent = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = seeds[round % 3];
    for (std::uint64_t changes = 1 + random() % 4; changes > 0; --changes) {
      const std::size_t at = random() % text.size();
      const char byte = static_cast<char>(random() % 256);
      random() % 2 == 0 ? text.insert(at, 1, byte) : text.replace(at, 1, 1, byte);
    }
    const auto document = parse_yaml(text);
    if (document.ok()) {
      EXPECT_NO_THROW(static_cast<void>(document->json.dump())) << testing::PrintToString(text);
      ++sent;
    } else {
      EXPECT_TRUE(error_detail(document.status())->metadata.contains("line"));
      EXPECT_FALSE(first_not_utf8(std::string(document.status().message()))) << document.status();
    }
  }
  EXPECT_GT(sent, 100);
}

TEST(Yaml, RefusesWithALine) {
  std::string bomb = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i < 9; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) bomb += (k > 0 ? ", *a" : "*a") + std::to_string(i - 1);
    bomb += "]\n";
  }
  const std::string deep(200, '['), long_key = "a: 1\n" + std::string(kYamlKeyBytes + 1, 'k') + ": 1\n";
  const Refusal rows[] = {
      {"duplicate", "name: a\ntrain: {lr: 1,\n  lr: 2}\n", "3", "'lr' is given twice"},
      {"top duplicate", "name: a\nname: b\n", "2", "'name' is given twice"},
      {"two documents", "name: a\n---\nname: b\n", "2", "second document"},
      {"list as key", "? [1, 2]\n: 3\n", "1", "a key must be a word"},
      {"foreign tag", "a: 1\nb: !!python/object 3\n", "2", "tag"},
      {"tag on a map", "a: !foo {b: 1}\n", "1", "unknown tag !foo"},
      {"indentation", "a:\n  b: 1\n c: 2\n", "3", "not readable"},
      {"unclosed", "a: [1, 2\nb: 3\n", "2", "not readable"},
      {"bomb", bomb.c_str(), "6", "more than 500000 values"},
      {"self alias", "a: &x [*x]\n", "1", "inside the value it names"},
      {"deep", deep.c_str(), "1", "deeper than"},
      {"Latin-1", "name: a\ndescription: caf\xe9\n", "2", "the byte 0xE9 at offset 24 is not UTF-8"},
      {"half a character", "a: \xe2\x82", "1", "offset 3"},
      {"UTF-16", "\xff\xfen", "1", "UTF-16; save it as UTF-8"},
      {"tab", "a: 1\nb:\n\tc: 1\n", "3", "indented with a tab"},
      {"tab after spaces", "b:\n  c:\n  \td: 1\n", "3", "indented with a tab"},
      {"long key", long_key.c_str(), "2", "a key of 161 bytes, where at most 160 are allowed"},
      {"merge key", "a: &x {b: 1}\nc:\n  <<: *x\n", "3", "merge keys (<<) are not supported"},
  };
  for (const Refusal& row : rows) {
    SCOPED_TRACE(row.name);
    const auto document = parse_yaml(row.text);
    ASSERT_FALSE(document.ok());
    EXPECT_TRUE(has_reason(document.status(), ErrorReason::kInvalidSpecification));
    EXPECT_EQ(error_detail(document.status())->metadata.at("line"), row.line) << document.status();
    EXPECT_THAT(std::string(document.status().message()), HasSubstr(row.says));
  }
}

}  // namespace
}  // namespace locus
