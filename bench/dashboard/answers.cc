// How long the server takes to compute and write what the dashboard reads, without HTTP and browser, on a
// folder that dashboard_fill made.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "server/analysis/curves_query.h"
#include "server/analysis/leaderboard_query.h"
#include "server/analysis/pivot_query.h"
#include "server/http/routes.h"
#include "storage/sqlite/store.h"

namespace locus::server {
namespace {

using Timer = std::chrono::steady_clock;

double milliseconds_since(Timer::time_point start) {
  return std::chrono::duration<double, std::milli>(Timer::now() - start).count();
}

// Asks `runs` times and says what computing and what writing took.
template <class Message>
bool measure(const char* what, const std::function<absl::StatusOr<Message>()>& ask) {
  std::vector<double> computed, written;
  std::size_t bytes = 0;
  for (int run = 0; run < 7; ++run) {
    auto start = Timer::now();
    const auto answer = ask();
    computed.push_back(milliseconds_since(start));
    if (!answer.ok()) {
      std::fprintf(stderr, "%s: %s\n", what, answer.status().ToString().c_str());
      return false;
    }
    start = Timer::now();
    bytes = to_json(*answer).size();
    written.push_back(milliseconds_since(start));
  }
  const double first = computed.front();
  std::sort(computed.begin(), computed.end());
  std::sort(written.begin(), written.end());
  std::printf(
      "%s: computed in %.0f ms (least %.0f, first %.0f), written as %.1f MB of JSON in %.0f ms (least "
      "%.0f)\n",
      what, computed[3], computed[0], first, static_cast<double>(bytes) / 1e6, written[3], written[0]);
  return true;
}

bool measure_curves(Store& store, const char* what, std::int64_t from, std::int64_t to, bool means_only) {
  v1::GetCurvesRequest request;
  request.set_experiment("long-curves");
  request.set_metric("loss");
  request.set_split("train");
  request.set_max_points(400);
  request.set_from_step(from);
  request.set_to_step(to);
  request.set_means_only(means_only);
  OutlineCache outlines(store);
  return measure<v1::Curves>(what, [&]() -> absl::StatusOr<v1::Curves> {
    LOCUS_ASSIGN_OR_RETURN(const auto row, store.experiment(request.experiment()));
    LOCUS_ASSIGN_OR_RETURN(const auto outline, outlines.get(row));
    return get_curves(store, *outline, request);
  });
}

bool measure_tables(Store& store) {
  OutlineCache outlines(store);
  v1::GetTableRequest table;
  table.set_experiment("many-trials");
  v1::GetPaperTableRequest paper;
  paper.add_experiments("many-trials");
  paper.add_columns("prior");
  Leaderboards leaderboards(store, outlines);
  const auto whole = [&]() -> absl::StatusOr<v1::Table> {
    LOCUS_ASSIGN_OR_RETURN(const auto row, store.experiment(table.experiment()));
    LOCUS_ASSIGN_OR_RETURN(const LeaderboardSource source, read_leaderboard_source(store, outlines, row));
    return leaderboard_of(source, table);
  };
  const auto kept = [&]() -> absl::StatusOr<v1::Table> {
    LOCUS_ASSIGN_OR_RETURN(const auto found, leaderboards.get(table));
    return *found;
  };
  return measure<v1::Table>("the leaderboard of 10,000 trials, computed each time", whole) &&
         measure<v1::Table>("the same, kept", kept) &&
         measure<v1::PaperTable>("its pivot table, computed each time",
                                 [&] { return read_pivot_table(store, outlines, paper); });
}

int run(const std::filesystem::path& folder) {
  auto store = open_sqlite_store(folder, system_clock());
  if (!store.ok()) {
    std::fprintf(stderr, "%s\n", store.status().ToString().c_str());
    return 1;
  }
  const bool ok = measure_tables(**store) &&
                  measure_curves(**store, "means of 200 curves of 100,000 points", 0, 0, true) &&
                  measure_curves(**store, "the 200 curves too", 0, 0, false) &&
                  measure_curves(**store, "2,000 steps of each", 50'000, 52'000, false);
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace locus::server

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: dashboard_answers FOLDER   (made by dashboard_fill; no server may have it open)\n");
    return 2;
  }
  return locus::server::run(argv[1]);
}
