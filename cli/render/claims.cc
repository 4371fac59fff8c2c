// What `locus claims` prints.
#include "cli/render/claims.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
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
  return dot == std::string::npos || text.find('e') != std::string::npos ? 0 : static_cast<int>(text.size() - dot - 1);
}

std::string with_unit(const v1::Claim& claim) {
  // "%" stands in the heading of nearly every column; K, M and G are part of the number.
  return claim.unit() == "K" || claim.unit() == "M" || claim.unit() == "G" ? " " + claim.unit() : "";
}

std::string setting_line(const v1::ClaimSetting& setting) {
  std::string out = setting.name() + ": " + setting.value();
  if (setting.from() == "code") out += " (known from the published code)";
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

// What print and code say of options beyond the priors' ids, each once.
std::string options(const v1::ClaimTable& table) {
  std::string out;
  std::set<std::string> seen;
  for (const v1::Claim& claim : table.claims()) {
    for (const v1::ClaimSetting& option : claim.options()) {
      const std::string line = setting_line(option);
      if (seen.insert(line).second) out += "  " + line + "\n";
    }
  }
  return out;
}

std::string notes(const v1::ClaimTable& table) {
  std::string out = table.note().empty() ? "" : printable(table.note()) + "\n";
  if (std::any_of(table.claims().begin(), table.claims().end(),
                  [](const v1::Claim& claim) { return !std::isnan(claim.std()); }))
    out += "± is the standard deviation, as printed.\n";
  std::set<std::string> unmeasured;
  for (const v1::Claim& claim : table.claims()) {
    if (!claim.unmeasured().empty() && unmeasured.insert(claim.metric()).second)
      out += "No counterpart here for " + printable(claim.metric() + ": " + claim.unmeasured()) + ".\n";
  }
  std::string last;
  for (const v1::Claim& claim : table.claims()) {
    if (claim.note().empty() || claim.row() + claim.note() == last) continue;
    last = claim.row() + claim.note();
    out += "* " + printable(claim.row() + ", " + claim.column() + ": " + claim.note()) + "\n";
  }
  return out;
}

std::string verdict_of(const v1::ClaimMatch& match) {
  if (match.verdict().empty() || match.verdict() == "not-comparable") return "";
  return printable(match.verdict()) + ": ";
}

std::string sentences(const v1::ClaimTable& table) {
  std::string out;
  for (const v1::Claim& claim : table.claims()) {
    for (const v1::ClaimMatch& match : claim.measured()) {
      out += printable(claim.row() + ", " + claim.column() + " = " + match.label()) + "\n";
      out += "    " + verdict_of(match) + printable(match.sentence()) + "\n";
      for (const std::string& difference : match.differences()) {
        const bool of_table = std::any_of(table.setting().begin(), table.setting().end(), [&](const auto& setting) {
          return !setting.here().empty() && difference.starts_with(setting.name() + ": ");
        });
        if (!of_table) out += "    " + printable(difference) + "\n";
      }
    }
  }
  return out;
}

// "120: 80 setting, 40 no-method".
std::string not_comparable(const v1::ClaimSummary& summary) {
  std::string out = show_count(summary.not_comparable());
  for (int i = 0; i < summary.why_size(); ++i)
    out += (i == 0 ? ": " : ", ") + show_count(summary.why(i).count()) + " " + summary.why(i).name();
  return printable(out);
}

std::vector<std::string> summary_row(const std::string& name, const v1::ClaimSummary& summary) {
  return {printable(name),
          show_count(summary.numbers()),
          show_count(summary.agrees()),
          show_count(summary.contradicts()),
          show_count(summary.undecided()),
          show_count(summary.same_direction()),
          show_count(summary.opposite_direction()),
          show_count(summary.open_direction()),
          not_comparable(summary)};
}

// Whether anything measured stands beside a number of it.
bool says_something(const v1::ClaimSummary& summary) {
  return summary.numbers() > summary.not_comparable() ||
         std::any_of(summary.why().begin(), summary.why().end(), [](const v1::ClaimCount& why) {
           return why.name() == "setting" || why.name() == "no-baseline" || why.name() == "no-pairs";
         });
}

// Each reason once, with what it means; and what the settings differ in.
std::string legend(const std::vector<const v1::ClaimSummary*>& shown) {
  std::map<std::string, std::string> reasons;
  std::map<std::string, int> settings;
  for (const v1::ClaimSummary* summary : shown) {
    for (const v1::ClaimCount& why : summary->why()) reasons[why.name()] = why.text();
    for (const v1::ClaimCount& one : summary->settings()) settings[one.name()] += one.count();
  }
  std::vector<std::pair<int, std::string>> order;
  for (const auto& [name, count] : settings) order.emplace_back(-count, name);
  std::sort(order.begin(), order.end());
  std::string differs;
  for (const auto& [count, name] : order) differs += (differs.empty() ? "" : ", ") + name + " " + show_count(-count);
  std::string out;
  for (const auto& [name, text] : reasons) {
    out += "  " + printable(name + ": " + text);
    if (name == "setting" && !differs.empty()) out += printable(" (" + differs + ")");
    out += "\n";
  }
  return out;
}

}  // namespace

std::string render_claims_summary(const v1::ListClaimsResponse& response, const std::string& experiment) {
  std::vector<const v1::ClaimSummary*> papers, tables, silent;
  for (const v1::ClaimSummary& one : response.summaries())
    (one.table().empty() ? papers : says_something(one) ? tables : silent).push_back(&one);
  const bool by_table = papers.size() == 1;
  std::vector<std::vector<std::string>> rows;
  for (const v1::ClaimSummary* one : by_table ? tables : papers)
    rows.push_back(summary_row(by_table ? one->table() : one->paper(), *one));
  if (by_table) rows.push_back(summary_row("all", *papers.front()));
  std::string out = render_text_table({{by_table ? "TABLE" : "PAPER"},
                                       {"NUMBERS", Align::kRight},
                                       {"AGREES", Align::kRight},
                                       {"CONTRADICTS", Align::kRight},
                                       {"UNDECIDED", Align::kRight},
                                       {"SAME WAY", Align::kRight},
                                       {"OTHER WAY", Align::kRight},
                                       {"OPEN", Align::kRight},
                                       {"NOT COMPARABLE"}},
                                      rows);
  if (by_table && !silent.empty()) {
    out += "\nNothing measured of";
    for (std::size_t i = 0; i < silent.size(); ++i) out += (i == 0 ? " " : ", ") + printable(silent[i]->table());
    out += ".\n";
  }
  out += "\nNot comparable, because of:\n" + legend(papers);
  out += "Same way, other way, open: of another setting, where the 95 % interval of the measured difference lies.\n";
  const std::string beside = " --experiment " + printable(experiment);
  if (by_table) {
    const std::string paper = printable(papers.front()->paper());
    out += "Every number: locus claims " + paper + beside + " --table 'Table 1', or --all\n";
  } else {
    out += "By table: locus claims PAPER" + beside + "; every number: --table 'Table 1', or --all\n";
  }
  return out;
}

std::string render_papers(const v1::ListClaimsResponse& response) {
  std::vector<std::vector<std::string>> rows;
  for (const v1::ClaimPaper& paper : response.papers()) {
    rows.push_back(
        {printable(paper.id()), std::to_string(paper.tables()), show_count(paper.claims()), printable(paper.title())});
  }
  return render_text_table({{"PAPER"}, {"TABLES", Align::kRight}, {"NUMBERS", Align::kRight}, {"TITLE"}}, rows);
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
    out += options(table) + "\n" + grid(table);
    const std::string remarks = notes(table), measured = sentences(table);
    if (!remarks.empty()) out += "\n" + remarks;
    if (!measured.empty()) out += "\n" + measured;
  }
  return out;
}

}  // namespace locus
