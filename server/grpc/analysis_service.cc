// AnalysisService on gRPC.
#include "server/grpc/analysis_service.h"

#include "server/grpc/unary.h"

namespace locus::server {

grpc::ServerUnaryReactor* AnalysisService::ListClaims(grpc::CallbackServerContext* context,
                                                      const v1::ListClaimsRequest* request,
                                                      v1::ListClaimsResponse* response) {
  return serve_unary(pool_, context, request, response,
                     [this](const v1::ListClaimsRequest& r) { return api_.list_claims(r); });
}

grpc::ServerUnaryReactor* AnalysisService::GetPaperTable(grpc::CallbackServerContext* context,
                                                         const v1::GetPaperTableRequest* request,
                                                         v1::PaperTable* response) {
  return serve_unary(pool_, context, request, response,
                     [this](const v1::GetPaperTableRequest& r) { return api_.get_paper_table(r); });
}

}  // namespace locus::server
