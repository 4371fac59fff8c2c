// AnalysisService on gRPC.
#include "server/rpc/analysis_service.h"

#include "server/rpc/unary.h"

namespace locus::server {

grpc::ServerUnaryReactor* AnalysisService::GetPaperTable(grpc::CallbackServerContext* context,
                                                         const v1::GetPaperTableRequest* request,
                                                         v1::PaperTable* response) {
  return serve_unary(pool_, context, request, response,
                     [this](const v1::GetPaperTableRequest& r) { return api_.get_paper_table(r); });
}

}  // namespace locus::server
