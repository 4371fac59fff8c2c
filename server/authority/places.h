// How much of what takes long one caller may have under way at a time, whatever the pace of its calls (gate.h).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/limits.h"
#include "server/authority/rpcs.h"

namespace locus::server {

enum class Lasting { kCopy, kDownload, kStream, kUpload };

struct LastingCall {
  std::string_view rpc;
  Lasting kind;
};
inline constexpr LastingCall kLastingCalls[] = {{"AdminService/Backup", Lasting::kCopy},
                                                {"ArtifactService/DownloadArtifact", Lasting::kDownload},
                                                {"ArtifactService/UploadArtifact", Lasting::kUpload},
                                                {"ExperimentService/ExportExperiment", Lasting::kCopy},
                                                {"ExperimentService/WatchEvents", Lasting::kStream},
                                                {"WorkerService/ReportPoints", Lasting::kStream}};

constexpr int most_at_a_time(Lasting kind) {
  switch (kind) {
    case Lasting::kCopy:
      return kCopiesAtATime;
    case Lasting::kDownload:
      return 8;
    case Lasting::kStream:
      return kStreamsAtATime;
    case Lasting::kUpload:
      return kUploadsAtATime;
  }
  return 0;
}

// Of whoever calls from there, loopback excepted, so that many callers of one machine leave others some. 0: not counted.
constexpr int most_of_an_address(Lasting kind) { return kind == Lasting::kDownload ? 32 : 0; }

// One of what a caller has under way, until the last copy is gone, in whatever thread. Null: nothing that is counted.
using HeldPlace = std::shared_ptr<const void>;

// Thread-safe; what it gave may outlive it.
class Places {
 public:
  // Null for a call that is not counted. RESOURCE_EXHAUSTED (RATE_LIMITED) while `caller`, or whoever calls from
  // `address` (without port), has as many as it may; then nothing is taken.
  absl::StatusOr<HeldPlace> take(const std::string& caller, const std::string& address, const RpcRule& rule);

 private:
  enum class Of { kCaller, kAddress };
  using Key = std::tuple<Of, std::string, Lasting>;
  struct Counts {
    absl::Mutex mutex;
    std::map<Key, int> under_way ABSL_GUARDED_BY(mutex);  // only what is above zero
    int of(const Key& key) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
      const auto found = under_way.find(key);
      return found == under_way.end() ? 0 : found->second;
    }
  };
  const std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
};

}  // namespace locus::server
