// Uploads and collection kept apart: a blob that is being uploaded is not collected, one that is being
// collected is uploaded anew.
#pragma once

#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace locus::server {

// Thread-safe.
class ArtifactGate {
 public:
  // Waits for a collection under way; the digest is safe until leave().
  void enter(const std::string& sha256) {
    absl::MutexLock lock(&mutex_);
    uploading_.insert(sha256);
  }
  void leave(const std::string& sha256) {
    absl::MutexLock lock(&mutex_);
    if (const auto at = uploading_.find(sha256); at != uploading_.end()) uploading_.erase(at);
  }
  // Runs `collect` unless the digest is being uploaded; no upload begins meanwhile.
  template <class Collect>
  void unless_uploading(const std::string& sha256, Collect collect) {
    absl::MutexLock lock(&mutex_);
    if (!uploading_.contains(sha256)) collect();
  }

 private:
  absl::Mutex mutex_;
  std::multiset<std::string> uploading_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locus::server
