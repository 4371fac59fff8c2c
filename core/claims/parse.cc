// Reads a paper's claims and refuses what breaks docs/claims.md.
#include <algorithm>
#include <set>

#include "core/claims/reader.h"

namespace locus {
namespace {

using claims::Reader;

void check_version(Reader& reader) {
  const Json* version = reader.get("version", true);
  if (version != nullptr && *version != 1)
    reader.fail(ErrorReason::kUnsupportedVersion, "version is 1", reader.at("version"));
}

// What the paper's published code says of options, by prior, is the answer.
std::map<std::string, Json> read_head(Reader& top, absl::Status* status, PaperClaims* out) {
  const Json* head = top.get("paper", true);
  if (head == nullptr) return {};
  Reader paper(*head, "paper", status);
  out->id = paper.text("id", true);
  out->title = paper.text("title", true);
  out->arxiv = paper.text("arxiv");
  out->note = paper.text("note");
  out->year = paper.count("year");
  for (const Json& author : paper.list("authors")) {
    if (author.is_string())
      out->authors.push_back(author.get<std::string>());
    else
      paper.fail(ErrorReason::kWrongType, "expected names", "paper.authors");
  }
  auto code = claims::read_options(paper, "code");
  paper.finish();
  return code;
}

// The value at the same row and column of another table, by their labels; -1 without one.
int same_place(const ClaimTable& from, const ClaimValue& value, const ClaimTable& other) {
  for (std::size_t i = 0; i < other.values.size(); ++i) {
    if (other.rows[other.values[i].row].label == from.rows[value.row].label &&
        other.columns[other.values[i].column].label == from.columns[value.column].label)
      return static_cast<int>(i);
  }
  return -1;
}

// Printed differences from another table find the numbers they are from.
void link_tables(Reader& top, PaperClaims& paper) {
  for (std::size_t t = 0; t < paper.tables.size() && top.ok(); ++t) {
    ClaimTable& table = paper.tables[t];
    if (table.against.empty()) continue;
    const auto other = std::find_if(paper.tables.begin(), paper.tables.end(),
                                    [&](const ClaimTable& one) { return one.table == table.against; });
    if (other == paper.tables.end() || other->table == table.table) {
      top.fail(ErrorReason::kUnknownKey, "there is no other table '" + table.against + "'",
               top.at("tables", t) + ".baseline.table");
      return;
    }
    for (ClaimValue& value : table.values) {
      if (!value.printed_difference) continue;
      value.against_value = same_place(table, value, *other);
      if (value.against_value < 0) {
        top.fail(ErrorReason::kUnknownKey,
                 table.against + " has no '" + table.rows[value.row].label + "', '" +
                     table.columns[value.column].label + "'",
                 top.at("tables", t) + ".rows[" + std::to_string(value.row) + "]");
        return;
      }
      value.against = table.against;
      value.against_table = static_cast<int>(other - paper.tables.begin());
    }
  }
}

}  // namespace

absl::StatusOr<PaperClaims> parse_paper(const Json& document) {
  absl::Status status;
  Reader top(document, "", &status);
  PaperClaims out;
  check_version(top);
  const std::map<std::string, Json> code = read_head(top, &status, &out);
  std::set<std::string> named;
  const Json& left_out = top.list("left_out");
  for (std::size_t i = 0; i < left_out.size() && status.ok(); ++i) {
    Reader one(left_out[i], top.at("left_out", i), &status);
    out.left_out.push_back({one.text("table", true), one.text("why", true)});
    one.finish();
    if (!named.insert(out.left_out.back().table).second)
      top.fail(ErrorReason::kInvalidSpecification, "the table is given twice", top.at("left_out", i));
  }
  const Json& tables = top.list("tables", true);
  for (std::size_t i = 0; i < tables.size() && status.ok(); ++i) {
    out.tables.push_back(claims::read_table(tables[i], top.at("tables", i), code, &status));
    if (status.ok() && !named.insert(out.tables.back().table).second) {
      top.fail(ErrorReason::kInvalidSpecification, out.tables.back().table + " is given twice", top.at("tables", i));
    }
  }
  top.finish();
  link_tables(top, out);
  if (!status.ok()) return status;
  return out;
}

absl::StatusOr<std::vector<PaperClaims>> parse_claims(const Json& document) {
  absl::Status status;
  Reader top(document, "", &status);
  check_version(top);
  std::vector<PaperClaims> out;
  for (const Json& paper : top.list("papers")) {
    LOCUS_ASSIGN_OR_RETURN(PaperClaims one, parse_paper(paper));
    for (const PaperClaims& other : out) {
      if (other.id == one.id) top.fail(ErrorReason::kInvalidSpecification, one.id + " is given twice", "papers");
    }
    out.push_back(std::move(one));
  }
  top.finish();
  if (!status.ok()) return status;
  return out;
}

}  // namespace locus
