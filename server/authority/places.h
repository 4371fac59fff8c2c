// How much of what takes long one caller may have under way at a time, whatever the pace of its calls (gate.h).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/limits.h"
#include "server/authority/rpcs.h"

namespace locus::server {

enum class Lasting { kCopy, kStream, kUpload };

struct LastingCall {
  std::string_view rpc;
  Lasting kind;
};
inline constexpr LastingCall kLastingCalls[] = {{"AdminService/Backup", Lasting::kCopy},
                                                {"ArtifactService/UploadArtifact", Lasting::kUpload},
                                                {"ExperimentService/ExportExperiment", Lasting::kCopy},
                                                {"ExperimentService/WatchEvents", Lasting::kStream},
                                                {"WorkerService/ReportPoints", Lasting::kStream}};

constexpr int most_at_a_time(Lasting kind) {
  return kind == Lasting::kCopy ? kCopiesAtATime : kind == Lasting::kStream ? kStreamsAtATime : kUploadsAtATime;
}

// One of what a caller has under way, until the last copy is gone, in whatever thread. Null: nothing that is counted.
using HeldPlace = std::shared_ptr<const void>;

// Thread-safe; what it gave may outlive it.
class Places {
 public:
  // Null for a call that is not counted. RESOURCE_EXHAUSTED (RATE_LIMITED) while `caller` has as many as it may.
  absl::StatusOr<HeldPlace> take(const std::string& caller, const RpcRule& rule);

 private:
  using Key = std::pair<std::string, Lasting>;
  struct Counts {
    absl::Mutex mutex;
    std::map<Key, int> under_way ABSL_GUARDED_BY(mutex);  // only what is above zero
  };
  const std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
};

}  // namespace locus::server
