// What `locus claims` prints.
#include "cli/render/claims.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <vector>

#include "cli/render/numbers.h"
#include "cli/render/text_table.h"

namespace locus {
namespace {

std::string plain(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

int decimals_of(double value) {
  const std::string text = plain(value);
  const std::size_t dot = text.find('.');
  return dot == std::string::npos || text.find('e') != std::string::npos
             ? 0
             : static_cast<int>(text.size() - dot - 1);
}

std::string with_unit(const v1::Claim& claim) {
  // "%" stands in the heading of nearly every column; K, M and G are part of the number.
  return claim.unit() == "K" || claim.unit() == "M" || claim.unit() == "G" ? " " + claim.unit() : "";
}

std::string setting_line(const v1::ClaimSetting& setting) {
  std::string out = setting.name() + ": " + setting.value();
  if (!setting.here().empty()) out += " (here " + setting.here() + ")";
  return printable(out);
}

std::string grid(const v1::ClaimTable& table) {
  std::map<std::pair<std::string, std::string>, const v1::Claim*> claims;
  std::map<std::string, int> decimals;  // of a column: print drops no zeros
  for (const v1::Claim& claim : table.claims()) {
    claims[{claim.row(), claim.column()}] = &claim;
    int& most = decimals[claim.column()];
    most = std::max(most, decimals_of(claim.value()));
  }
  std::vector<Column> columns = {{"", Align::kLeft}};
  for (const std::string& column : table.columns()) columns.push_back({printable(column), Align::kRight});
  std::vector<std::vector<std::string>> rows;
  for (const std::string& row : table.rows()) {
    std::vector<std::string> cells = {printable(row)};
    bool any = false;
    for (const std::string& column : table.columns()) {
      const auto found = claims.find({row, column});
      std::string text;
      if (found != claims.end()) {
        const v1::Claim& claim = *found->second;
        text = show_fixed(claim.value(), decimals[column]) + with_unit(claim);
        if (!std::isnan(claim.std())) text += " ± " + show_fixed(claim.std(), 2);
        if (!claim.note().empty()) text += " *";
        any = true;
      }
      cells.push_back(text);
    }
    if (any) rows.push_back(std::move(cells));
  }
  return render_text_table(columns, rows);
}

std::string notes(const v1::ClaimTable& table) {
  std::string out = table.note().empty() ? "" : printable(table.note()) + "\n";
  std::string last;
  for (const v1::Claim& claim : table.claims()) {
    if (claim.note().empty() || claim.row() + claim.note() == last) continue;
    last = claim.row() + claim.note();
    out += "* " + printable(claim.row() + ", " + claim.column() + ": " + claim.note()) + "\n";
  }
  return out;
}

std::string sentences(const v1::ClaimTable& table) {
  std::string out;
  for (const v1::Claim& claim : table.claims()) {
    for (const v1::ClaimMatch& match : claim.measured()) {
      out += printable(claim.row() + ", " + claim.column() + " = " + match.label()) + "\n";
      out += "    " + printable(match.sentence()) + "\n";
      for (const std::string& difference : match.differences()) {
        const bool of_table =
            std::any_of(table.setting().begin(), table.setting().end(), [&](const auto& setting) {
              return !setting.here().empty() && difference.starts_with(setting.name() + ": ");
            });
        if (!of_table) out += "    " + printable(difference) + "\n";
      }
    }
  }
  return out;
}

}  // namespace

std::string render_papers(const v1::ListClaimsResponse& response) {
  std::vector<std::vector<std::string>> rows;
  for (const v1::ClaimPaper& paper : response.papers()) {
    rows.push_back({printable(paper.id()), std::to_string(paper.tables()), show_count(paper.claims()),
                    printable(paper.title())});
  }
  return render_text_table({{"PAPER"}, {"TABLES", Align::kRight}, {"NUMBERS", Align::kRight}, {"TITLE"}},
                           rows);
}

std::string render_claims(const v1::ListClaimsResponse& response) {
  std::string out, paper;
  for (const v1::ClaimTable& table : response.tables()) {
    if (table.paper() != paper) {
      paper = table.paper();
      out += (out.empty() ? "" : "\n") + printable(paper + ": " + table.title()) + "\n";
    }
    out += "\n" + printable(table.table() + ". " + table.caption()) + "\n";
    for (const v1::ClaimSetting& setting : table.setting()) out += "  " + setting_line(setting) + "\n";
    out += "\n" + grid(table);
    const std::string remarks = notes(table), measured = sentences(table);
    if (!remarks.empty()) out += "\n" + remarks;
    if (!measured.empty()) out += "\n" + measured;
  }
  return out;
}

}  // namespace locus
