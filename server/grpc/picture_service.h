// PictureService on gRPC: translation only.
#pragma once

#include "locus/v1/picture_service.grpc.pb.h"
#include "server/application/api.h"
#include "server/runtime/work_pool.h"

namespace locus::server {

// Thread-safe; `api` and `pool` must outlive it.
class PictureService final : public v1::PictureService::CallbackService {
 public:
  PictureService(Api& api, WorkPool& pool) : api_(api), pool_(pool) {}
  grpc::ServerUnaryReactor* DrawPrior(grpc::CallbackServerContext* context, const v1::DrawPriorRequest* request,
                                      v1::Drawing* response) override;
  grpc::ServerUnaryReactor* DrawTrial(grpc::CallbackServerContext* context, const v1::DrawTrialRequest* request,
                                      v1::Drawing* response) override;

 private:
  Api& api_;
  WorkPool& pool_;
};

}  // namespace locus::server
