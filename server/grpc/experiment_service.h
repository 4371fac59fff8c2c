// ExperimentService on gRPC: translation only.
#pragma once

#include "locus/v1/experiment_service.grpc.pb.h"
#include "server/application/api.h"
#include "server/grpc/unary.h"
#include "server/runtime/event_feed.h"
#include "server/runtime/work_pool.h"

namespace locus::server {

// Thread-safe; `api`, `pool` and `feed` must outlive it.
class ExperimentService final : public v1::ExperimentService::CallbackService {
 public:
  ExperimentService(Api& api, WorkPool& pool, EventFeed& feed) : api_(api), pool_(pool), feed_(feed) {}
  LOCUS_CALLS_OF_ExperimentService(LOCUS_DECLARE_CALL)
      grpc::ServerWriteReactor<v1::ExportExperimentResponse>* ExportExperiment(
          grpc::CallbackServerContext* context, const v1::ExportExperimentRequest* request) override;
  grpc::ServerWriteReactor<v1::WatchEventsResponse>* WatchEvents(grpc::CallbackServerContext* context,
                                                                 const v1::WatchEventsRequest* request) override;

 private:
  Api& api_;
  WorkPool& pool_;
  EventFeed& feed_;
};

}  // namespace locus::server
