// PictureService on gRPC.
#include "server/grpc/picture_service.h"

#include "server/grpc/unary.h"

namespace locus::server {

grpc::ServerUnaryReactor* PictureService::DrawPrior(grpc::CallbackServerContext* context,
                                                    const v1::DrawPriorRequest* request, v1::Drawing* response) {
  return serve_unary(pool_, context, request, response,
                     [this](const v1::DrawPriorRequest& r) { return api_.draw_prior(r); });
}

grpc::ServerUnaryReactor* PictureService::DrawTrial(grpc::CallbackServerContext* context,
                                                    const v1::DrawTrialRequest* request, v1::Drawing* response) {
  return serve_unary(pool_, context, request, response,
                     [this](const v1::DrawTrialRequest& r) { return api_.draw_trial(r); });
}

}  // namespace locus::server
