// Curves out of the database.
#include "storage/sqlite/curves.h"

#include <algorithm>
#include <string>

#include "storage/rules/curve.h"
#include "storage/sqlite/point_log.h"
#include "storage/sqlite/pyramid.h"

namespace locus::sqlite {
namespace {

// Takes what a curve is made of, attempt by attempt in the order stored.
class Visitor {
 public:
  virtual ~Visitor() = default;
  // A chunk that lies wholly inside; true when its points need not be read.
  virtual bool chunk(std::int64_t id) = 0;
  virtual void point(const Point& point) = 0;
};

struct Part {  // of one attempt
  std::int64_t series_id = 0;
  AttemptRow attempt;
  StepRange range;  // asked for and not superseded
};

void visit_columns(const PointColumns& c, const Part& part, Visitor& visitor) {
  for (std::size_t i = 0; i < c.size(); ++i) {
    if (!c.series.empty() && c.series[i] != part.series_id) continue;
    if (part.range.contains(c.step[i])) visitor.point({c.step[i], c.epoch[i], c.images[i], c.time_us[i], c.value[i]});
  }
}

void visit_part(Connection& db, const Part& part, Visitor& visitor) {
  auto chunks = db.prepare(
      "SELECT id, first_step, last_step FROM chunk WHERE series_id = ? AND number = ? AND first_step <= ? "
      "AND last_step >= ? ORDER BY first_seq");
  chunks.bind(part.series_id, part.attempt.number, part.range.last, part.range.first);
  while (chunks.step()) {
    const bool inside = part.range.contains(chunks.integer(1)) && part.range.contains(chunks.integer(2));
    if (inside && visitor.chunk(chunks.integer(0))) continue;
    auto columns = db.prepare("SELECT columns FROM chunk WHERE id = ?");
    columns.bind(chunks.integer(0)).step();
    visit_columns(checked_points(columns.blob(0), "chunk"), part, visitor);
  }
  auto log = db.prepare("SELECT columns FROM point_log WHERE stage_id = ? AND number = ? ORDER BY first_seq");
  log.bind(part.attempt.stage_id, part.attempt.number);
  while (log.step()) visit_columns(checked_points(log.blob(0), "point_log"), part, visitor);
}

void visit(Connection& db, std::int64_t series_id, std::span<const AttemptRow> attempts, StepRange range,
           Visitor& visitor) {
  const auto live = live_until(attempts);
  for (const AttemptRow& attempt : attempts) {
    const auto bound = live.find(attempt.number);
    if (bound == live.end()) continue;  // wholly superseded
    visit_part(db, {series_id, attempt, {range.first, std::min(range.last, bound->second)}}, visitor);
  }
}

class Points final : public Visitor {
 public:
  bool chunk(std::int64_t) override { return false; }
  void point(const Point& point) override { points.push_back(point); }
  std::vector<Point> points;
};

class Blocks final : public Visitor {
 public:
  Blocks(Connection& db, int shift) : db_(db), shift_(shift), collector_(shift) {}
  bool chunk(std::int64_t id) override {
    const auto level = load_pyramid(db_, id, shift_);
    if (!level) return false;
    for (const SeriesBlock& block : *level) collector_.merge(block);
    return true;
  }
  void point(const Point& point) override { collector_.add(point); }
  std::vector<SeriesBlock> take() { return collector_.take(); }

 private:
  Connection& db_;
  int shift_;
  BlockCollector collector_;
};

// How many points the chunks within the range hold, and which part of it they span. Points still in the log
// are not counted: there are never many of them.
std::int64_t sealed_in(Connection& db, std::int64_t series_id, StepRange& range) {
  auto chunks = db.prepare(
      "SELECT COALESCE(SUM(count), 0), MIN(first_step), MAX(last_step) FROM chunk WHERE series_id = ? AND "
      "first_step <= ? AND last_step >= ?");
  chunks.bind(series_id, range.last, range.first).step();
  const std::int64_t count = chunks.integer(0);
  if (count > 0) range = {std::max(range.first, chunks.integer(1)), std::min(range.last, chunks.integer(2))};
  return count;
}

}  // namespace

std::vector<Point> read_points(Connection& db, std::int64_t series_id, std::span<const AttemptRow> attempts,
                               StepRange range) {
  Points out;
  visit(db, series_id, attempts, range, out);
  sort_by_step(out.points);
  return std::move(out.points);
}

std::vector<SeriesBlock> read_blocks(Connection& db, std::int64_t series_id, std::span<const AttemptRow> attempts,
                                     StepRange range, int shift) {
  Blocks out(db, shift);
  visit(db, series_id, attempts, range, out);
  return out.take();
}

std::int64_t stored_points(Connection& db, std::int64_t series_id, StageId stage) {
  auto sealed = db.prepare("SELECT COALESCE(SUM(count), 0) FROM chunk WHERE series_id = ?");
  sealed.bind(series_id).step();
  std::int64_t out = sealed.integer(0);
  auto log = db.prepare("SELECT columns FROM point_log WHERE stage_id = ?");
  log.bind(stage);
  while (log.step()) {
    const auto columns = checked_points(log.blob(0), "point_log");
    out += std::count(columns.series.begin(), columns.series.end(), series_id);
  }
  return out;
}

Drawn draw_curve(Connection& db, std::int64_t series_id, std::span<const AttemptRow> attempts, StepRange range,
                 int max_points) {
  StepRange spanned = range;
  const std::int64_t sealed = max_points > 0 ? sealed_in(db, series_id, spanned) : 0;
  if (const auto shift = drawing_shift(sealed, spanned, max_points)) {
    if (auto drawn = draw_blocks(read_blocks(db, series_id, attempts, range, *shift), max_points))
      return {std::move(*drawn), true};
  }
  const auto points = read_points(db, series_id, attempts, range);
  Drawn out{reduce_points(points, max_points), false};
  out.reduced = out.points.size() < points.size();
  return out;
}

}  // namespace locus::sqlite
