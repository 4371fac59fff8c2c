// Reads the tables as they are, not through the store: the store is among the accused.
#include "tests/chaos/ledger.h"

#include <sqlite3.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <stdexcept>

#include "core/base/json.h"
#include "storage/sqlite/point_codec.h"

namespace locus::chaos {
namespace {

class Database {
 public:
  explicit Database(const std::filesystem::path& path) {
    if (::sqlite3_open_v2(path.c_str(), &db_, SQLITE_OPEN_READWRITE, nullptr) != SQLITE_OK)
      throw std::runtime_error("cannot open " + path.string());
  }
  ~Database() { ::sqlite3_close(db_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void each(const char* sql, const std::function<void(sqlite3_stmt*)>& row) {
    sqlite3_stmt* statement = nullptr;
    if (::sqlite3_prepare_v2(db_, sql, -1, &statement, nullptr) != SQLITE_OK)
      throw std::runtime_error(::sqlite3_errmsg(db_));
    while (::sqlite3_step(statement) == SQLITE_ROW) row(statement);
    if (::sqlite3_finalize(statement) != SQLITE_OK) throw std::runtime_error(::sqlite3_errmsg(db_));
  }

 private:
  sqlite3* db_ = nullptr;
};

std::string text(sqlite3_stmt* row, int column) {
  return reinterpret_cast<const char*>(::sqlite3_column_text(row, column));
}

sqlite::PointColumns columns(sqlite3_stmt* row, int column) {
  const std::string_view bytes(static_cast<const char*>(::sqlite3_column_blob(row, column)),
                               static_cast<std::size_t>(::sqlite3_column_bytes(row, column)));
  auto decoded = sqlite::decode_points(bytes);
  if (!decoded) throw std::runtime_error("a damaged blob of points");
  return *std::move(decoded);
}

// The points that a reader of the curve is shown: of every attempt those up to the step that each later one
// went on from.
std::vector<SeenPoint> live(const Ledger& ledger, std::int64_t stage) {
  std::vector<SeenPoint> out;
  for (auto at = ledger.resumed_at.lower_bound({stage, 0}); at != ledger.resumed_at.end() && at->first.first == stage;
       ++at) {
    const std::int64_t resumed = at->second;
    std::erase_if(out, [&](const SeenPoint& point) { return point.step > resumed || resumed == 0; });
    const auto own = ledger.points.find(at->first);
    if (own != ledger.points.end()) out.insert(out.end(), own->second.begin(), own->second.end());
  }
  std::sort(out.begin(), out.end());
  return out;
}

// The decision of one row, comparable between two runs.
std::string decided(sqlite3_stmt* row) {
  const std::string kind = text(row, 4);
  Json json = Json::parse(text(row, 5));
  if (kind == "observe") {
    for (const char* own : {"stage", "attempt", "revises"}) json.erase(own);
  }
  return std::to_string(::sqlite3_column_int64(row, 2)) + " " + std::to_string(::sqlite3_column_int64(row, 3)) + " " +
         kind + " " + text(row, 6) + " " + json.dump();
}

void read_searches(Database& db, Ledger& out) {
  db.each("SELECT name, s.state FROM search s JOIN experiment e ON e.id = s.experiment_id",
          [&](sqlite3_stmt* row) { out.searches[text(row, 0)] = text(row, 1); });
  std::map<std::string, std::int64_t> last;
  db.each(
      "SELECT name, number, d.generation, phase, kind, json, rule FROM decision d JOIN experiment e ON e.id = "
      "d.experiment_id ORDER BY d.experiment_id, number",
      [&](sqlite3_stmt* row) {
        const std::string name = text(row, 0);
        out.gapless = out.gapless && ::sqlite3_column_int64(row, 1) == ++last[name];
        out.decisions[name].insert(decided(row));
      });
}

}  // namespace

Ledger read_ledger(const std::filesystem::path& path) {
  Database db(path);
  Ledger out;
  std::map<std::int64_t, std::string> series, identities;
  std::map<std::int64_t, std::int64_t> stages;  // of series
  db.each("SELECT id, metric, split, labels, stage_id FROM series", [&](sqlite3_stmt* row) {
    const std::int64_t id = ::sqlite3_column_int64(row, 0);
    series[id] = text(row, 1) + " " + text(row, 2) + " " + text(row, 3);
    stages[id] = ::sqlite3_column_int64(row, 4);
  });
  const auto add = [&](std::int64_t id, std::int64_t attempt, const sqlite::PointColumns& c, std::size_t i) {
    out.points[{stages.at(id), attempt}].push_back(
        {series.at(id), c.step[i], std::bit_cast<std::uint64_t>(c.value[i])});
  };
  db.each("SELECT number, columns FROM point_log", [&](sqlite3_stmt* row) {
    const auto c = columns(row, 1);
    for (std::size_t i = 0; i < c.size(); ++i) add(c.series[i], ::sqlite3_column_int64(row, 0), c, i);
  });
  db.each("SELECT series_id, number, columns FROM chunk", [&](sqlite3_stmt* row) {
    const auto c = columns(row, 2);
    for (std::size_t i = 0; i < c.size(); ++i)
      add(::sqlite3_column_int64(row, 0), ::sqlite3_column_int64(row, 1), c, i);
  });
  db.each("SELECT stage_id, number, resume_step FROM attempt", [&](sqlite3_stmt* row) {
    out.resumed_at[{::sqlite3_column_int64(row, 0), ::sqlite3_column_int64(row, 1)}] = ::sqlite3_column_int64(row, 2);
  });
  db.each("SELECT id, identity, state FROM stage", [&](sqlite3_stmt* row) {
    const std::int64_t id = ::sqlite3_column_int64(row, 0);
    identities[id] = text(row, 1);
    out.states[text(row, 1)] = text(row, 2);
    out.curves[text(row, 1)] = live(out, id);
  });
  db.each("SELECT stage_id, slot, sha256 FROM stage_output ORDER BY stage_id, slot", [&](sqlite3_stmt* row) {
    out.outputs[identities.at(::sqlite3_column_int64(row, 0))] += text(row, 1) + " " + text(row, 2) + "\n";
  });
  read_searches(db, out);
  return out;
}

void check_acknowledged(Ledger& ledger, const std::map<Token, SeenAttempt>& seen_attempts, Findings& out) {
  for (auto& [token, stored] : ledger.points) std::sort(stored.begin(), stored.end());
  for (const auto& [token, seen] : seen_attempts) {
    const std::string name = std::to_string(token.first) + "/" + std::to_string(token.second);
    const std::vector<SeenPoint>& stored = ledger.points[token];
    if (std::adjacent_find(stored.begin(), stored.end()) != stored.end())
      out.problems.push_back(name + " has a point twice");
    for (std::int64_t i = 0; i < seen.acked; ++i) {
      if (!std::binary_search(stored.begin(), stored.end(), seen.points.at(static_cast<std::size_t>(i))))
        out.problems.push_back(name + " lost its acknowledged point " + std::to_string(i + 1));
    }
    std::vector<SeenPoint> sent = seen.points;
    std::sort(sent.begin(), sent.end());
    if (!std::includes(sent.begin(), sent.end(), stored.begin(), stored.end()))
      out.problems.push_back(name + " has points that were never sent");
    out.acknowledged += static_cast<std::size_t>(seen.acked);
  }
}

void compare(const Ledger& calm, const Ledger& disturbed, Findings& out) {
  const auto found = [](const auto& map, const std::string& key) {
    const auto at = map.find(key);
    return at == map.end() ? nullptr : &at->second;
  };
  if (calm.states != disturbed.states) out.problems.push_back("not every stage ended alike");
  for (const auto& [identity, outputs] : calm.outputs) {
    const auto* other = found(disturbed.outputs, identity);
    if (!other || *other != outputs) out.problems.push_back("stage " + identity.substr(0, 12) + " made other weights");
  }
  for (const auto& [identity, curve] : calm.curves) {
    const auto* other = found(disturbed.curves, identity);
    if (!other || *other != curve) out.problems.push_back("stage " + identity.substr(0, 12) + " drew another curve");
    out.curve_points += curve.size();
  }
  if (!calm.gapless || !disturbed.gapless) out.problems.push_back("the numbers of a search's log have a gap");
  if (calm.searches != disturbed.searches) out.problems.push_back("not every search ended alike");
  for (const auto& [experiment, decisions] : calm.decisions) {
    const auto* other = found(disturbed.decisions, experiment);
    if (!other || *other != decisions) out.problems.push_back("the search of " + experiment + " decided otherwise");
  }
}

}  // namespace locus::chaos
