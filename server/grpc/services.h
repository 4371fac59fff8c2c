// The services whose every call is a question to the application, on gRPC: translation only.
#pragma once

#include "locus/v1/admin_service.grpc.pb.h"
#include "locus/v1/analysis_service.grpc.pb.h"
#include "locus/v1/catalog_service.grpc.pb.h"
#include "locus/v1/enrollment_service.grpc.pb.h"
#include "locus/v1/identity_service.grpc.pb.h"
#include "locus/v1/metric_service.grpc.pb.h"
#include "locus/v1/picture_service.grpc.pb.h"
#include "locus/v1/search_service.grpc.pb.h"
#include "server/application/api.h"
#include "server/grpc/unary.h"
#include "server/runtime/work_pool.h"

namespace locus::server {

// All are thread-safe; `api` and `pool` must outlive them.
class AnalysisService final : public v1::AnalysisService::CallbackService {
 public:
  AnalysisService(Api& api, WorkPool& pool) : api_(api), pool_(pool) {}
  LOCUS_CALLS_OF_AnalysisService(LOCUS_DECLARE_CALL)

      private : Api& api_;
  WorkPool& pool_;
};

class MetricService final : public v1::MetricService::CallbackService {
 public:
  MetricService(Api& api, WorkPool& pool) : api_(api), pool_(pool) {}
  LOCUS_CALLS_OF_MetricService(LOCUS_DECLARE_CALL)

      private : Api& api_;
  WorkPool& pool_;
};

class CatalogService final : public v1::CatalogService::CallbackService {
 public:
  CatalogService(Api& api, WorkPool& pool) : api_(api), pool_(pool) {}
  LOCUS_CALLS_OF_CatalogService(LOCUS_DECLARE_CALL)

      private : Api& api_;
  WorkPool& pool_;
};

class PictureService final : public v1::PictureService::CallbackService {
 public:
  PictureService(Api& api, WorkPool& pool) : api_(api), pool_(pool) {}
  LOCUS_CALLS_OF_PictureService(LOCUS_DECLARE_CALL)

      private : Api& api_;
  WorkPool& pool_;
};

class SearchService final : public v1::SearchService::CallbackService {
 public:
  SearchService(Api& api, WorkPool& pool) : api_(api), pool_(pool) {}
  LOCUS_CALLS_OF_SearchService(LOCUS_DECLARE_CALL)

      private : Api& api_;
  WorkPool& pool_;
};

class EnrollmentService final : public v1::EnrollmentService::CallbackService {
 public:
  EnrollmentService(Api& api, WorkPool& pool) : api_(api), pool_(pool) {}
  LOCUS_CALLS_OF_EnrollmentService(LOCUS_DECLARE_CALL)

      private : Api& api_;
  WorkPool& pool_;
};

class IdentityService final : public v1::IdentityService::CallbackService {
 public:
  IdentityService(Api& api, WorkPool& pool) : api_(api), pool_(pool) {}
  LOCUS_CALLS_OF_IdentityService(LOCUS_DECLARE_CALL)

      private : Api& api_;
  WorkPool& pool_;
};

class AdminService final : public v1::AdminService::CallbackService {
 public:
  AdminService(Api& api, WorkPool& pool) : api_(api), pool_(pool) {}
  LOCUS_CALLS_OF_AdminService(LOCUS_DECLARE_CALL) grpc::ServerWriteReactor<v1::BackupResponse>* Backup(
      grpc::CallbackServerContext* context, const v1::BackupRequest* request) override;

 private:
  Api& api_;
  WorkPool& pool_;
};

}  // namespace locus::server
