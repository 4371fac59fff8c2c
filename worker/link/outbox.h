// The durable outbox of one attempt: numbered points on disk until the server has acknowledged them.
//
// One append-only file. Each record is a header (magic, payload length, first sequence, number of points,
// CRC-32 of all of it) and a PointColumns message. A record without points only says how far the numbering
// is, so that it goes on when everything before was acknowledged and dropped.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/fd.h"
#include "locus/v1/worker_service.pb.h"

namespace locus {

struct OutboxOptions {
  std::int64_t max_bytes = 64 << 20;       // of points not yet acknowledged
  std::int64_t compact_bytes = 256 << 10;  // acknowledged bytes worth a rewrite of the file
};

// Thread-safe.
class Outbox {
 public:
  // Opens or creates. Everything from the first torn or corrupt record on is cut off: it was never sent, for
  // only flushed records are.
  static absl::StatusOr<std::unique_ptr<Outbox>> open(const std::filesystem::path& path, OutboxOptions options = {});

  // Numbers the points and appends them, not yet flushed. RESOURCE_EXHAUSTED (LIMIT_EXCEEDED) when the outbox
  // or the disk is full: nothing was taken, try again when something is acknowledged. Other errors: the
  // medium failed.
  absl::Status append(const v1::PointColumns& points);

  struct Batch {
    std::int64_t first_seq = 0, last_seq = 0;
    v1::PointColumns points;
  };
  // The points after `seq`, at most kPointsPerBatch, flushed to the medium before they are returned; the
  // batch may begin earlier, at a record's first point. Nothing when there are none.
  absl::StatusOr<std::optional<Batch>> read_after(std::int64_t seq);

  // The server holds everything up to `seq`; drops it here sooner or later.
  absl::Status acknowledge(std::int64_t seq);
  absl::Status flush();

  std::int64_t last_seq() const;   // the highest number given; 0 before the first point
  std::int64_t acked_seq() const;  // the highest number acknowledged since it was opened, or known to be from the file

 private:
  struct Record {
    std::int64_t offset = 0, bytes = 0, first_seq = 0, count = 0;
  };

  Outbox(std::filesystem::path path, OutboxOptions options) : path_(std::move(path)), options_(options) {}
  absl::Status recover();
  absl::Status write_record(int fd, std::int64_t offset, const std::string& record) const;
  absl::StatusOr<v1::PointColumns> read_record(const Record& record) const;
  absl::Status flush_locked();
  absl::Status compact();
  std::string mark() const;

  const std::filesystem::path path_;
  const OutboxOptions options_;
  mutable std::mutex mutex_;
  Fd fd_;
  std::int64_t end_ = 0;      // of the last whole record
  std::int64_t flushed_ = 0;  // up to here on the medium
  std::int64_t last_seq_ = 0, acked_seq_ = 0;
  std::deque<Record> records_;  // those not wholly acknowledged
};

// Appends `from` to `to`, merging their series dictionaries. The sizes of the columns must agree.
void append_columns(const v1::PointColumns& from, v1::PointColumns& to);

}  // namespace locus
