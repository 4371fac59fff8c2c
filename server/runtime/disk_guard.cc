// What a disk that fills up forbids.
#include "server/runtime/disk_guard.h"

#include "core/base/error.h"

namespace locus::server {
namespace {

constexpr char kRetrySeconds[] = "10";

std::string sentence(DiskState state, std::int64_t free_bytes) {
  const std::string left = std::to_string(free_bytes >> 20) + " MiB free";
  if (state == DiskState::kFull) return "the disk of the data folder is full (" + left + ")";
  if (state == DiskState::kLow) return "the disk of the data folder is almost full (" + left + ")";
  return "";
}

}  // namespace

const char* to_string(DiskState state) {
  switch (state) {
    case DiskState::kOk:
      return "ok";
    case DiskState::kLow:
      return "disk-low";
    case DiskState::kFull:
      return "disk-full";
  }
  return "ok";
}

void DiskGuard::set(DiskState state, std::int64_t free_bytes, std::int64_t database_bytes) {
  absl::MutexLock lock(&mutex_);
  database_bytes_ = database_bytes;
  state_ = state;
  free_bytes_ = free_bytes;
}

DiskState DiskGuard::state() const {
  absl::MutexLock lock(&mutex_);
  return state_;
}

std::int64_t DiskGuard::free_bytes() const {
  absl::MutexLock lock(&mutex_);
  return free_bytes_;
}

std::int64_t DiskGuard::database_bytes() const {
  absl::MutexLock lock(&mutex_);
  return database_bytes_;
}

std::string DiskGuard::reason() const {
  absl::MutexLock lock(&mutex_);
  return sentence(state_, free_bytes_);
}

absl::Status DiskGuard::admit(DiskState refused_from, const char* consequence) const {
  absl::MutexLock lock(&mutex_);
  if (state_ < refused_from) return absl::OkStatus();
  return make_error(
      absl::StatusCode::kResourceExhausted, ErrorReason::kDiskFull,
      sentence(state_, free_bytes_) + ", so " + consequence + " until space is free on it; work resumes by itself then",
      "", {{"retry_seconds", kRetrySeconds}, {"free_bytes", std::to_string(free_bytes_)}});
}

}  // namespace locus::server
