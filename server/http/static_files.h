// The dashboard's files. A path from a client is looked up among the files found, never used as a path.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/clock.h"
#include "server/http/exchange.h"

namespace locus::server {

// Thread-safe; blocks on the file system. Links are not followed.
class StaticFiles {
 public:
  // `root` may be empty or missing: then every page says how to build the dashboard.
  StaticFiles(std::filesystem::path root, Clock& clock);
  // A file of the build, or its index.html for a path without an extension; 404 otherwise.
  HttpResponse get(const std::string& path);

 private:
  struct File {
    std::filesystem::path path;
    std::string content_type;
    bool immutable = false;
  };
  void scan() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool find(const std::string& path, File* out);

  const std::filesystem::path root_;
  Clock& clock_;
  absl::Mutex mutex_;
  std::map<std::string, File> files_ ABSL_GUARDED_BY(mutex_);  // by the path as a browser asks for it
  Microseconds scanned_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace locus::server
