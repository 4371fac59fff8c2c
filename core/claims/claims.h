// Numbers printed in papers, as data (docs/claims.md): what is printed, in which setting, and which priors of
// ours it is about.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/json.h"
#include "core/catalog/catalog.h"

namespace locus {

// A key a setting may have, from settings.def.
struct SettingName {
  std::string_view name;
  bool compared = false;  // Locus can know it of an experiment
  bool cost = false;      // it matters to parameters, operations, time and memory too
  std::string_view meaning;
};
const std::vector<SettingName>& setting_names();  // in the order they are shown

// Values as shown ("ViT-S", "0.0006"), by key.
using ClaimSetting = std::map<std::string, std::string>;
std::string shown_setting(const Json& value);

struct ClaimMetric {
  std::string name, unit, direction;  // "top1", "%", "max"
};

// One prior of a combination. An experiment's options must agree with `stated`; where they differ from
// `loosely` (in print), from `code` (known from published code alone) or from the default of an option in none of
// them, the match stands and the difference is spelled out. Print goes over code; a null in either leaves the
// option open: nobody says what it was.
struct ClaimPrior {
  std::string id;
  Json stated = Json::object(), loosely = Json::object(), code = Json::object();
};
using ClaimPriors = std::vector<ClaimPrior>;  // empty: Locus has no such method

struct ClaimLine {
  std::string label;    // unique in the table
  std::string printed;  // what stands in print where that is less than the label
};

// One printed number.
struct ClaimValue {
  std::size_t row = 0, column = 0;
  double value = 0;
  double std = 0;         // NaN: not printed
  double difference = 0;  // from `against`, as printed or by subtraction; NaN without
  bool printed_difference = false;
  int n = 0;  // 0: not printed
  ClaimMetric metric;
  ClaimPriors priors;
  ClaimSetting own;        // of its row and column
  ClaimSetting setting;    // the table's, its own over it
  std::string against;     // the row, column or table the paper compares it with; empty: none
  int against_table = -1;  // index into the paper's tables; -1: its own
  int against_value = -1;  // index into that table's values
  std::string note;
};

struct ClaimTable {
  std::string table, caption, note;
  std::string against;  // the table whose same row and column printed differences are from; empty: within this one
  ClaimSetting setting;
  std::vector<ClaimLine> rows, columns;
  std::vector<ClaimValue> values;  // row by row; cells without a number are absent
};

struct LeftOut {
  std::string table, why;
};

struct PaperClaims {
  std::string id, title, arxiv, note;  // arxiv empty and year 0 where not printed
  std::vector<std::string> authors;
  int year = 0;
  std::vector<LeftOut> left_out;  // tables that are no results
  std::vector<ClaimTable> tables;
};

// One paper, from a file of claims/. INVALID_ARGUMENT with the field for what breaks docs/claims.md: unknown
// keys, missing ones, wrong types, duplicates, grids of uneven length.
absl::StatusOr<PaperClaims> parse_paper(const Json& document);

// Several, from claims/claims.json: {"version": 1, "papers": [...]}. Duplicate papers are refused.
absl::StatusOr<std::vector<PaperClaims>> parse_claims(const Json& document);

// The value the printed difference is from; null without one.
const ClaimValue* baseline_of(const PaperClaims& paper, const ClaimTable& table, const ClaimValue& value);

// Whether every prior and option named exists in the catalog. INVALID_ARGUMENT naming paper, table and label.
absl::Status check_claims(const PaperClaims& paper, const Catalog& catalog);

// `[learned-absolute,{"violin":{"curves":["hilbert"]}}]` as canonical JSON: what is shown of a claim's
// priors. Empty for none.
std::string priors_json(const ClaimPriors& priors);

}  // namespace locus
