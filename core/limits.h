// Every bound in one place. Hitting one is an error with a name (LIMIT_EXCEEDED, TOO_MANY_TRIALS), never
// growth.
#pragma once

#include <chrono>
#include <cstdint>

namespace locus {
using namespace std::chrono_literals;

// Leases. The worker fences itself before the server may grant again: heartbeat < fence < lease.
inline constexpr std::chrono::microseconds kHeartbeat = 5s;
inline constexpr std::chrono::microseconds kWorkerFence = 20s;  // since the last *sent* heartbeat that was answered
inline constexpr std::chrono::microseconds kLease = 30s;
inline constexpr std::chrono::microseconds kReattachGrace =
    10min;  // a silent worker may be training through a partition
static_assert(kHeartbeat < kWorkerFence && kWorkerFence < kLease && kLease < kReattachGrace);

// Retries.
inline constexpr int kFailuresPerStage = 5;       // faults of the work itself, of whatever class, at most
inline constexpr int kInfrastructureFaults = 20;  // lost workers, pre-emption: do not count as failures
inline constexpr std::chrono::microseconds kRetryFirst = 2s;
inline constexpr std::chrono::microseconds kRetryMost = 5min;

// Shares.
inline constexpr std::chrono::microseconds kUsageHalfLife = 24h;  // of what an account has used
inline constexpr std::chrono::microseconds kUsageCharged = 1h;    // at the latest, of what is held for long

// Sizes.
inline constexpr std::int64_t kTrialsPerExperiment = 100'000;
inline constexpr std::int64_t kSpecBytes = 1 << 20;
inline constexpr std::int64_t kMessageBytes = 4 << 20;
inline constexpr std::int64_t kChunkBytes = 1 << 20;  // artifact upload and download
inline constexpr std::int64_t kPointsPerBatch = 8192;
inline constexpr std::int64_t kLogBytes = 1 << 20;         // kept of what an attempt's trainer printed
inline constexpr std::int64_t kLogPieceBytes = 256 << 10;  // of one report
inline constexpr int kDevicesMost = 64;                    // that a stage trains on together
inline constexpr int kTagsMost = 32;                       // of an experiment or a trial
inline constexpr int kTagLength = 40;
inline constexpr int kNoteBytes = 4000;
inline constexpr int kSamplesPerAttempt = 240;  // of what its machine did; then every second one is let go
inline constexpr std::chrono::microseconds kWorkerSamplesKept = 1h;
inline constexpr int kSystemValuesMost = 64;  // of one sample
inline constexpr int kSeriesPerStage = 4096;
inline constexpr int kPageSizeDefault = 100;
inline constexpr int kPageSizeMost = 1000;
inline constexpr int kNameLength = 63;  // ^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$
inline constexpr int kReasonLength = 4096;
inline constexpr std::chrono::seconds kLongPoll = 20s;
inline constexpr std::chrono::seconds kUnaryDeadline = 10s;
// Worker <-> server. A worker of kProtocolOldest is taken, too; it is given no stage over several devices.
inline constexpr int kProtocolVersion = 3, kProtocolOldest = 2;
inline constexpr std::chrono::microseconds kArtifactGrace = std::chrono::hours(1);  // of one nothing names yet

// Identities.
inline constexpr std::chrono::microseconds kTokenMost = std::chrono::hours(24 * 90);
inline constexpr std::chrono::microseconds kSessionIdle = 12h;  // a session ends this long after its last use,
inline constexpr std::chrono::microseconds kSessionMost = std::chrono::hours(24 * 7);  // or after its login
inline constexpr std::chrono::microseconds kAuditKept = std::chrono::hours(24 * 400);

// What one caller may have under way at a time.
inline constexpr int kStreamsAtATime = 16;  // of events, of points
inline constexpr int kCopiesAtATime = 4;    // exports and backups
inline constexpr int kUploadsAtATime = 2;

}  // namespace locus
