// AnalysisService on gRPC: translation only.
#pragma once

#include "locus/v1/analysis_service.grpc.pb.h"
#include "server/application/api.h"
#include "server/runtime/work_pool.h"

namespace locus::server {

// Thread-safe; `api` and `pool` must outlive it.
class AnalysisService final : public v1::AnalysisService::CallbackService {
 public:
  AnalysisService(Api& api, WorkPool& pool) : api_(api), pool_(pool) {}
  grpc::ServerUnaryReactor* ListClaims(grpc::CallbackServerContext* context, const v1::ListClaimsRequest* request,
                                       v1::ListClaimsResponse* response) override;
  grpc::ServerUnaryReactor* GetPaperTable(grpc::CallbackServerContext* context, const v1::GetPaperTableRequest* request,
                                          v1::PaperTable* response) override;

 private:
  Api& api_;
  WorkPool& pool_;
};

}  // namespace locus::server
