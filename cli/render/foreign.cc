// Imports as text.
#include "cli/render/foreign.h"

#include <algorithm>
#include <vector>

#include "cli/render/text_table.h"

namespace locus {
namespace {

constexpr std::size_t kDigestShown = 12;
constexpr int kSeriesNamed = 4;

std::string series_name(const v1::SeriesKey& key) {
  return (key.split().empty() ? "" : key.split() + "/") + key.metric() +
         (key.labels().empty() || key.labels() == "{}" ? "" : " " + key.labels());
}

std::string series_names(const v1::ForeignImport& import) {
  std::string out;
  for (int i = 0; i < std::min(import.series_size(), kSeriesNamed); ++i)
    out += (i == 0 ? "" : ", ") + series_name(import.series(i).key());
  const int more = import.series_size() - kSeriesNamed;
  return more > 0 ? out + " and " + std::to_string(more) + " more" : out;
}

}  // namespace

std::string render_imports(const v1::ListForeignSeriesResponse& response, bool dry_run) {
  if (response.imports().empty()) return "nothing was imported beside it; see: locus import --help\n";
  std::vector<std::vector<std::string>> rows;
  for (const v1::ForeignImport& one : response.imports()) {
    std::int64_t points = 0;
    for (const v1::ForeignSeries& series : one.series()) points += series.points();
    rows.push_back({dry_run ? "-" : one.digest().substr(0, kDigestShown), one.source(), one.format(),
                    std::to_string(points), series_names(one), one.existing() ? "was there already" : ""});
  }
  return render_text_table({{"digest"}, {"source"}, {"format"}, {"points", Align::kRight}, {"series"}, {""}}, rows) +
         (dry_run ? "nothing was imported\n" : "");
}

}  // namespace locus
