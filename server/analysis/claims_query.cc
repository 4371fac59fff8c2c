// The tables printed in papers, alone or beside what an experiment measured.
#include "server/analysis/claims_query.h"

#include <algorithm>

#include "core/base/error.h"
#include "server/analysis/claims_writer.h"

namespace locus::server {
namespace {

absl::Status unknown(const std::string& field, const std::string& asked, const std::vector<std::string>& known) {
  std::string list;
  for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                    "there is no " + field + " '" + asked + "'; choose one of: " + list, field,
                    {{field, asked}, {"known", list}});
}

// Whether what is asked for exists, so that a slip is not an empty answer.
absl::Status check_known(const std::vector<PaperClaims>& papers, const v1::ListClaimsRequest& request) {
  if (papers.empty()) return absl::OkStatus();  // installed without: nothing to choose from
  std::vector<std::string> ids, tables;
  bool paper = request.paper().empty(), table = request.table().empty();
  for (const PaperClaims& one : papers) {
    ids.push_back(one.id);
    paper |= one.id == request.paper();
    if (!request.paper().empty() && one.id != request.paper()) continue;
    for (const ClaimTable& each : one.tables) {
      if (std::find(tables.begin(), tables.end(), each.table) == tables.end()) tables.push_back(each.table);
      table |= each.table == request.table();
    }
  }
  if (!paper) return unknown("paper", request.paper(), ids);
  if (!table) return unknown("table", request.table(), tables);
  if (request.experiment().empty() && (request.matched() || request.summary())) {
    const std::string what = request.matched() ? "`matched` asks for what an experiment has a cell for"
                                               : "`summary` counts what an experiment says";
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                      what + ", but no experiment is named; name one", "experiment");
  }
  return absl::OkStatus();
}

void fill_paper(const PaperClaims& paper, v1::ClaimPaper* out) {
  out->set_id(paper.id);
  out->set_title(paper.title);
  for (const std::string& author : paper.authors) out->add_authors(author);
  out->set_year(paper.year);
  out->set_arxiv(paper.arxiv);
  out->set_note(paper.note);
  out->set_tables(static_cast<int>(paper.tables.size()));
  int claims = 0;
  for (const ClaimTable& table : paper.tables) claims += static_cast<int>(table.values.size());
  out->set_claims(claims);
}

}  // namespace

absl::StatusOr<v1::ListClaimsResponse> list_claims(Store& store, OutlineCache& outlines, const Catalog& catalog,
                                                   const std::vector<PaperClaims>& papers,
                                                   const v1::ListClaimsRequest& request) {
  LOCUS_RETURN_IF_ERROR(check_known(papers, request));
  std::optional<MeasuredExperiment> measured;
  if (!request.experiment().empty()) {
    LOCUS_ASSIGN_OR_RETURN(measured, MeasuredExperiment::load(store, outlines, catalog, request.experiment()));
  }
  std::optional<ClaimMatcher> matcher;
  if (measured) matcher.emplace(measured->cells(), catalog);
  v1::ListClaimsResponse out;
  for (const PaperClaims& paper : papers) {
    fill_paper(paper, out.add_papers());
    if (!request.paper().empty() && paper.id != request.paper()) continue;
    ClaimCounts whole;
    v1::ClaimSummary* of_paper = measured ? out.add_summaries() : nullptr;
    for (const ClaimTable& table : paper.tables) {
      if (!request.table().empty() && table.table != request.table()) continue;
      ClaimTableWriter writer(paper, table, measured ? &*measured : nullptr, matcher ? &*matcher : nullptr);
      v1::ClaimTable written = writer.write(request.matched());
      if (measured) fill_summary(paper.id, table.table, writer.counts(), out.add_summaries());
      whole.add(writer.counts());
      if (!request.summary() && (!request.matched() || written.claims_size() > 0))
        *out.add_tables() = std::move(written);
    }
    if (measured) fill_summary(paper.id, "", whole, of_paper);
  }
  return out;
}

}  // namespace locus::server
