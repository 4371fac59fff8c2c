// The pyramid in the database.
#include "storage/sqlite/pyramid.h"

#include <sqlite3.h>

#include <cmath>

#include "storage/rules/curve.h"

namespace locus::sqlite {
namespace {

constexpr int kFirstShift = 6, kShiftStep = 2, kLastShift = 48;
constexpr std::size_t kDense = 8;   // points a block, or a level is not worth its place
constexpr std::size_t kMarks = 64;  // of a chunk; with more of them it has no pyramid

// What each point of a block's blob is.
enum Tag : std::int64_t { kHead, kFirst, kLow, kHigh, kLast, kMark };

Point point_at(const PointColumns& c, std::size_t i) {
  return {c.step[i], c.epoch[i], c.images[i], c.time_us[i], c.value[i]};
}

void put(Tag tag, const Point& point, PointColumns& out) {
  out.series.push_back(tag);
  out.step.push_back(point.step);
  out.images.push_back(point.images);
  out.time_us.push_back(point.time_us);
  out.epoch.push_back(point.epoch);
  out.value.push_back(point.value);
}

bool take(Tag tag, const Point& point, SeriesBlock& block) {
  switch (tag) {
    case kFirst:
      block.first = point;
      return true;
    case kLow:
      block.low = point;
      return true;
    case kHigh:
      block.high = point;
      return true;
    case kLast:
      block.last = point;
      return true;
    case kMark:
      block.marks.push_back(point);
      return true;
    case kHead:
      break;
  }
  return false;
}

}  // namespace

std::string encode_blocks(const std::vector<SeriesBlock>& blocks) {
  PointColumns out;
  for (const SeriesBlock& block : blocks) {
    Point head = block.first;  // near its neighbors, so that differences stay small
    head.epoch = static_cast<double>(block.count);
    head.value = block.sum;
    put(kHead, head, out);
    put(kFirst, block.first, out);
    put(kLow, block.low, out);
    put(kHigh, block.high, out);
    put(kLast, block.last, out);
    for (const Point& mark : block.marks) put(kMark, mark, out);
  }
  return encode_points(out);
}

std::optional<std::vector<SeriesBlock>> decode_blocks(std::string_view bytes, int shift) {
  const auto columns = decode_points(bytes);
  if (!columns || columns->series.size() != columns->size()) return std::nullopt;
  std::vector<SeriesBlock> out;
  for (std::size_t i = 0; i < columns->size(); ++i) {
    const Point point = point_at(*columns, i);
    if (columns->series[i] == kHead) {
      SeriesBlock& block = out.emplace_back();
      block.index = point.step >> shift;
      block.count = static_cast<std::int64_t>(point.epoch);
      block.sum = point.value;
    } else if (out.empty() || !take(static_cast<Tag>(columns->series[i]), point, out.back())) {
      return std::nullopt;
    }
  }
  return out;
}

void store_pyramid(Connection& db, std::int64_t chunk_id, const PointColumns& points) {
  std::size_t marks = 0;
  for (const double value : points.value) marks += std::isfinite(value) ? 0 : 1;
  if (marks > kMarks) return;
  std::vector<SeriesBlock> blocks;
  for (int shift = kFirstShift; shift <= kLastShift; shift += kShiftStep) {
    BlockCollector collector(shift);
    for (const SeriesBlock& block : blocks) collector.merge(block);
    for (std::size_t i = 0; shift == kFirstShift && i < points.size(); ++i) collector.add(point_at(points, i));
    blocks = collector.take();
    if (blocks.size() * kDense > points.size()) continue;
    db.prepare("INSERT INTO pyramid (chunk_id, shift, blocks) VALUES (?, ?, ?)")
        .bind(chunk_id, shift, Blob{encode_blocks(blocks)})
        .run();
    if (blocks.size() <= 2) return;
  }
}

std::optional<std::vector<SeriesBlock>> load_pyramid(Connection& db, std::int64_t chunk_id, int shift) {
  auto level =
      db.prepare("SELECT shift, blocks FROM pyramid WHERE chunk_id = ? AND shift <= ? ORDER BY shift DESC LIMIT 1");
  if (!level.bind(chunk_id, shift).step()) return std::nullopt;
  auto blocks = decode_blocks(level.blob(1), static_cast<int>(level.integer(0)));
  if (!blocks) throw SqliteError(SQLITE_CORRUPT, "a block of points in pyramid fails its checksum");
  return blocks;
}

}  // namespace locus::sqlite
