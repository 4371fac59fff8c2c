// Pictures made on demand by the trainer: catalog priors with other options, and what training made of trials.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/ports/artifacts.h"
#include "locus/v1/picture_service.pb.h"
#include "locus/v1/trial.pb.h"
#include "server/application/catalogs.h"

namespace locus::server {

// The trainer's tool `picture`: what it prints when run with these arguments. Blocks within bounds of its own.
// Errors: as PictureService says. Called by two threads at most.
struct PictureProgram {
  std::function<absl::StatusOr<std::string>(const std::vector<std::string>& arguments)> run;
  std::string identity;  // changes with the program, so that what an older one drew is not handed out
};

// Keeps what was drawn in a folder, the least recently asked for going first, and lets two be drawn at a time;
// two more wait, others are refused. Nothing of a request becomes a path or an argument that was not checked.
// Thread-safe; blocks. Everything given must outlive it.
class PictureDesk {
 public:
  // `folder` is made when first needed; empty: one of its own among the system's temporary ones. `data_root`:
  // where datasets lie.
  PictureDesk(ArtifactStore& artifacts, const Catalogs& catalogs, PictureProgram program, std::filesystem::path folder,
              std::filesystem::path data_root);
  ~PictureDesk();

  absl::StatusOr<v1::Drawing> draw(const v1::DrawPriorRequest& request);
  absl::StatusOr<v1::Drawing> draw(const v1::DrawTrialRequest& request, const v1::TrialDetail& trial);

 private:
  absl::StatusOr<std::string> drawn(const Json& question, const std::function<absl::StatusOr<std::string>()>& draw);
  absl::StatusOr<std::string> run_trained(const Json& request, const std::string& weights);
  absl::Status copy_blob(const std::string& sha256, const std::filesystem::path& to);
  void keep(const std::filesystem::path& file, const std::string& document);

  ArtifactStore& artifacts_;
  const Catalogs& catalogs_;
  const PictureProgram program_;
  const std::filesystem::path data_root_;
  std::filesystem::path folder_;
  bool own_folder_ = false;
  absl::Mutex mutex_;
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0, running_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t number_ ABSL_GUARDED_BY(mutex_) = 0;  // of the next request's files
};

}  // namespace locus::server
