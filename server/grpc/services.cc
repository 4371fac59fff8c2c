// The services whose every call is a question to the application, on gRPC.
#include "server/grpc/services.h"

#include "server/grpc/pull_stream.h"

namespace locus::server {

LOCUS_CALLS_OF_AnalysisService(LOCUS_SERVE_CALL) LOCUS_CALLS_OF_MetricService(LOCUS_SERVE_CALL)
    LOCUS_CALLS_OF_CatalogService(LOCUS_SERVE_CALL) LOCUS_CALLS_OF_PictureService(LOCUS_SERVE_CALL)
        LOCUS_CALLS_OF_SearchService(LOCUS_SERVE_CALL) LOCUS_CALLS_OF_AdminService(LOCUS_SERVE_CALL)
            LOCUS_CALLS_OF_IdentityService(LOCUS_SERVE_CALL) LOCUS_CALLS_OF_EnrollmentService(LOCUS_SERVE_CALL)

                grpc::ServerWriteReactor<v1::BackupResponse>* AdminService::Backup(grpc::CallbackServerContext* context,
                                                                                   const v1::BackupRequest* request) {
  return serve_stream<v1::BackupResponse>(api_, LOCUS_RULE_OF(AdminService, Backup), pool_, context, request,
                                          &Api::backup);
}

}  // namespace locus::server
