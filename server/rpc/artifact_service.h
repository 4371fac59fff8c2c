// ArtifactService on gRPC: blobs in and out, in chunks, hashed before they count.
#pragma once

#include <atomic>

#include "core/base/clock.h"
#include "core/ports/artifacts.h"
#include "core/ports/store.h"
#include "locus/v1/artifact_service.grpc.pb.h"
#include "server/rpc/work_pool.h"

namespace locus::server {

// Thread-safe; everything given must outlive it. File I/O happens on the pool.
class ArtifactService final : public v1::ArtifactService::CallbackService {
 public:
  ArtifactService(Store& store, ArtifactStore& artifacts, WorkPool& pool, Clock& clock)
      : store_(store), artifacts_(artifacts), pool_(pool), clock_(clock) {}

  grpc::ServerReadReactor<v1::UploadArtifactRequest>* UploadArtifact(
      grpc::CallbackServerContext* context, v1::UploadArtifactResponse* response) override;
  grpc::ServerWriteReactor<v1::DownloadArtifactResponse>* DownloadArtifact(
      grpc::CallbackServerContext* context, const v1::DownloadArtifactRequest* request) override;

 private:
  Store& store_;
  ArtifactStore& artifacts_;
  WorkPool& pool_;
  Clock& clock_;
  std::atomic<int> transfers_{0};
};

}  // namespace locus::server
