// The durable outbox: see outbox.h for the promise and the format.
#include "worker/link/outbox.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/crc.hpp>
#include <cerrno>
#include <cstring>
#include <map>
#include <tuple>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/limits.h"

namespace locus {
namespace {

constexpr std::uint32_t kMagic = 0x31424f4c;  // "LOB1"
constexpr std::int64_t kRecordBytes = kMessageBytes;
constexpr std::int64_t kMostSeq = std::int64_t{1} << 62;  // numbers of points have room above them

struct Header {
  std::uint32_t magic = kMagic, length = 0;
  std::int64_t first_seq = 0;
  std::uint32_t count = 0, crc = 0;
};
static_assert(sizeof(Header) == 24);

std::uint32_t checksum(Header header, std::string_view payload) {
  header.crc = 0;
  boost::crc_32_type crc;
  crc.process_bytes(&header, sizeof(header));
  crc.process_bytes(payload.data(), payload.size());
  return crc.checksum();
}

std::string make_record(std::int64_t first_seq, std::int64_t count, const std::string& payload) {
  Header header;
  header.length = static_cast<std::uint32_t>(payload.size());
  header.first_seq = first_seq;
  header.count = static_cast<std::uint32_t>(count);
  header.crc = checksum(header, payload);
  std::string record(sizeof(header), '\0');
  std::memcpy(record.data(), &header, sizeof(header));
  return record += payload;
}

absl::Status medium_error(const std::string& doing, const std::filesystem::path& path) {
  const int error = errno;
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  return make_error(full ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kUnavailable,
                    full ? ErrorReason::kLimitExceeded : ErrorReason::kStorageFailed,
                    "cannot " + doing + " the outbox " + path.string() + ": " + std::strerror(error), "",
                    {{"path", path.string()}, {"found", std::strerror(error)}});
}

// Whether that many points are in every column.
bool holds(const v1::PointColumns& columns, std::int64_t count) {
  return columns.value_size() == count && columns.series_index_size() == count && columns.step_size() == count &&
         columns.epoch_size() == count && columns.images_size() == count && columns.time_us_size() == count;
}

// Reads exactly `size` bytes; false at the end of the file or on an error.
bool read_at(int fd, std::int64_t offset, char* to, std::size_t size) {
  while (size > 0) {
    const ssize_t n = ::pread(fd, to, size, offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    to += n;
    offset += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Outbox>> Outbox::open(const std::filesystem::path& path, OutboxOptions options) {
  std::unique_ptr<Outbox> outbox(new Outbox(path, options));
  outbox->fd_ = open_file(path, O_RDWR | O_CREAT, 0600);
  if (!outbox->fd_) return medium_error("open", path);
  LOCUS_RETURN_IF_ERROR(outbox->recover());
  return outbox;
}

absl::Status Outbox::recover() {
  bool first = true;
  while (true) {
    Header header;
    if (!read_at(fd_.get(), end_, reinterpret_cast<char*>(&header), sizeof(header))) break;
    if (header.magic != kMagic || header.length > kRecordBytes || header.first_seq < 1 || header.first_seq > kMostSeq ||
        header.count > kPointsPerBatch)
      break;
    std::string payload(header.length, '\0');
    if (!read_at(fd_.get(), end_ + static_cast<std::int64_t>(sizeof(header)), payload.data(), payload.size())) break;
    if (checksum(header, payload) != header.crc) break;
    if (!first && header.first_seq != last_seq_ + 1) break;
    const auto bytes = static_cast<std::int64_t>(sizeof(header) + payload.size());
    if (first) acked_seq_ = header.first_seq - 1;
    first = false;
    if (header.count > 0) records_.push_back({end_, bytes, header.first_seq, header.count});
    last_seq_ = header.first_seq + header.count - 1;
    end_ += bytes;
  }
  if (::ftruncate(fd_.get(), end_) != 0) return medium_error("repair", path_);
  flushed_ = 0;  // what a killed daemon had written may still be only in memory
  return absl::OkStatus();
}

absl::Status Outbox::write_record(int fd, std::int64_t offset, const std::string& record) const {
  std::size_t done = 0;
  while (done < record.size()) {
    const ssize_t n =
        ::pwrite(fd, record.data() + done, record.size() - done, offset + static_cast<std::int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return medium_error("write", path_);
    done += static_cast<std::size_t>(n);
  }
  return absl::OkStatus();
}

absl::Status Outbox::append(const v1::PointColumns& points) {
  const std::int64_t count = points.value_size();
  if (count == 0) return absl::OkStatus();
  if (!holds(points, count)) {
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                      "columns of different lengths");
  }
  const std::string payload = points.SerializeAsString();
  if (count > kPointsPerBatch || static_cast<std::int64_t>(payload.size()) > kRecordBytes) {
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kLimitExceeded,
                      std::to_string(count) + " points in one record; at most " + std::to_string(kPointsPerBatch));
  }
  std::lock_guard lock(mutex_);
  const std::int64_t waiting = records_.empty() ? 0 : end_ - records_.front().offset;
  if (waiting > 0 && waiting + static_cast<std::int64_t>(payload.size()) > options_.max_bytes) {
    return make_error(absl::StatusCode::kResourceExhausted, ErrorReason::kLimitExceeded,
                      "the outbox holds " + std::to_string(waiting) + " bytes that the server has not acknowledged", "",
                      {{"bytes", std::to_string(waiting)}, {"limit", std::to_string(options_.max_bytes)}});
  }
  const std::string record = make_record(last_seq_ + 1, count, payload);
  if (absl::Status written = write_record(fd_.get(), end_, record); !written.ok()) {
    if (::ftruncate(fd_.get(), end_) != 0) return medium_error("repair", path_);
    return written;
  }
  const auto bytes = static_cast<std::int64_t>(record.size());
  records_.push_back({end_, bytes, last_seq_ + 1, count});
  end_ += bytes;
  last_seq_ += count;
  return absl::OkStatus();
}

absl::StatusOr<v1::PointColumns> Outbox::read_record(const Record& record) const {
  std::string bytes(static_cast<std::size_t>(record.bytes), '\0');
  if (!read_at(fd_.get(), record.offset, bytes.data(), bytes.size())) return medium_error("read", path_);
  Header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const auto payload = std::string_view(bytes).substr(sizeof(header));
  v1::PointColumns columns;
  if (checksum(header, payload) != header.crc ||
      !columns.ParseFromArray(payload.data(), static_cast<int>(payload.size())) || !holds(columns, record.count)) {
    return make_error(absl::StatusCode::kDataLoss, ErrorReason::kStorageFailed,
                      "the outbox " + path_.string() + " has changed under us: record " +
                          std::to_string(record.first_seq) + " fails its checksum");
  }
  return columns;
}

absl::StatusOr<std::optional<Outbox::Batch>> Outbox::read_after(std::int64_t seq) {
  std::lock_guard lock(mutex_);
  if (seq >= last_seq_ || records_.empty()) return std::nullopt;
  LOCUS_RETURN_IF_ERROR(flush_locked());
  const auto after = [](std::int64_t s, const Record& r) { return s < r.first_seq; };
  auto next = std::upper_bound(records_.begin(), records_.end(), seq + 1, after);
  if (next != records_.begin()) --next;  // the record that holds seq + 1
  Batch batch;
  batch.first_seq = next->first_seq;
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  for (; next != records_.end() && count + next->count <= kPointsPerBatch &&
         (count == 0 || bytes + next->bytes < kChunkBytes);
       ++next) {
    LOCUS_ASSIGN_OR_RETURN(const v1::PointColumns columns, read_record(*next));
    append_columns(columns, batch.points);
    count += next->count;
    bytes += next->bytes;
  }
  batch.last_seq = batch.first_seq + count - 1;
  return batch;
}

absl::Status Outbox::flush_locked() {
  if (flushed_ == end_) return absl::OkStatus();
  if (::fdatasync(fd_.get()) != 0) return medium_error("flush", path_);
  flushed_ = end_;
  return absl::OkStatus();
}

absl::Status Outbox::flush() {
  std::lock_guard lock(mutex_);
  return flush_locked();
}

absl::Status Outbox::acknowledge(std::int64_t seq) {
  std::lock_guard lock(mutex_);
  if (seq <= acked_seq_) return absl::OkStatus();
  acked_seq_ = seq;
  while (!records_.empty() && records_.front().first_seq + records_.front().count - 1 <= seq) records_.pop_front();
  if (seq > last_seq_) {  // more than we remember: the file lost its tail, and the numbering must skip what
                          // the server has
    last_seq_ = seq;
    return compact();
  }
  const std::int64_t dropped = records_.empty() ? end_ : records_.front().offset;
  return dropped >= options_.compact_bytes && dropped * 2 >= end_ ? compact() : absl::OkStatus();
}

std::string Outbox::mark() const {
  const std::int64_t next = records_.empty() ? last_seq_ + 1 : records_.front().first_seq;
  return make_record(next, 0, "");
}

// Writes what is left beside the file and puts it in its place.
absl::Status Outbox::compact() {
  std::filesystem::path fresh_path = path_;
  fresh_path += ".new";
  Fd fresh = open_file(fresh_path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (!fresh) return medium_error("rewrite", path_);
  std::string content = mark();
  std::deque<Record> moved;
  for (const Record& record : records_) {
    std::string bytes(static_cast<std::size_t>(record.bytes), '\0');
    if (!read_at(fd_.get(), record.offset, bytes.data(), bytes.size())) return medium_error("read", path_);
    moved.push_back({static_cast<std::int64_t>(content.size()), record.bytes, record.first_seq, record.count});
    content += bytes;
  }
  absl::Status written = write_record(fresh.get(), 0, content);
  if (written.ok() && (::fdatasync(fresh.get()) != 0 || ::rename(fresh_path.c_str(), path_.c_str()) != 0)) {
    written = medium_error("rewrite", path_);
  }
  if (!written.ok()) {  // the old file is as good as before, only longer
    ::unlink(fresh_path.c_str());
    return absl::IsResourceExhausted(written) ? absl::OkStatus() : written;
  }
  fd_ = std::move(fresh);
  end_ = flushed_ = static_cast<std::int64_t>(content.size());
  records_ = std::move(moved);
  return absl::OkStatus();
}

std::int64_t Outbox::last_seq() const {
  std::lock_guard lock(mutex_);
  return last_seq_;
}

std::int64_t Outbox::acked_seq() const {
  std::lock_guard lock(mutex_);
  return acked_seq_;
}

void append_columns(const v1::PointColumns& from, v1::PointColumns& to) {
  std::map<std::tuple<std::string, std::string, std::string>, std::uint32_t> known;
  const auto key = [](const v1::SeriesKey& s) { return std::tuple(s.metric(), s.split(), s.labels()); };
  for (int i = 0; i < to.series_size(); ++i) known.emplace(key(to.series(i)), i);
  std::vector<std::uint32_t> index;
  for (const auto& series : from.series()) {
    const auto [place, added] = known.emplace(key(series), to.series_size());
    if (added) *to.add_series() = series;
    index.push_back(place->second);
  }
  for (const std::uint32_t i : from.series_index()) to.add_series_index(i < index.size() ? index[i] : i);
  to.mutable_step()->MergeFrom(from.step());
  to.mutable_epoch()->MergeFrom(from.epoch());
  to.mutable_images()->MergeFrom(from.images());
  to.mutable_time_us()->MergeFrom(from.time_us());
  to.mutable_value()->MergeFrom(from.value());
}

}  // namespace locus
