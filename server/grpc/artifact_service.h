// ArtifactService on gRPC: blobs in and out, in chunks, hashed before they count.
#pragma once

#include <atomic>

#include "core/base/clock.h"
#include "core/ports/artifacts.h"
#include "core/ports/store.h"
#include "locus/v1/artifact_service.grpc.pb.h"
#include "server/application/api.h"
#include "server/grpc/unary.h"
#include "server/runtime/artifact_gate.h"
#include "server/runtime/disk_guard.h"
#include "server/runtime/work_pool.h"

namespace locus::server {

// Thread-safe; everything given must outlive it. File I/O happens on the pool.
class ArtifactService final : public v1::ArtifactService::CallbackService {
 public:
  ArtifactService(Api& api, Store& store, ArtifactStore& artifacts, ArtifactGate& gate, const DiskGuard& disk,
                  WorkPool& pool, Clock& clock)
      : api_(api), store_(store), artifacts_(artifacts), gate_(gate), disk_(disk), pool_(pool), clock_(clock) {}

  LOCUS_CALLS_OF_ArtifactService(LOCUS_DECLARE_CALL) grpc::ServerReadReactor<v1::UploadArtifactRequest>* UploadArtifact(
      grpc::CallbackServerContext* context, v1::UploadArtifactResponse* response) override;
  grpc::ServerWriteReactor<v1::DownloadArtifactResponse>* DownloadArtifact(
      grpc::CallbackServerContext* context, const v1::DownloadArtifactRequest* request) override;

 private:
  Api& api_;
  Store& store_;
  ArtifactStore& artifacts_;
  ArtifactGate& gate_;
  const DiskGuard& disk_;
  WorkPool& pool_;
  Clock& clock_;
  std::atomic<int> transfers_{0};
};

}  // namespace locus::server
