// ExperimentService, MetricService, CatalogService and AdminService on gRPC: translation only.
#pragma once

#include "locus/v1/admin_service.grpc.pb.h"
#include "locus/v1/catalog_service.grpc.pb.h"
#include "locus/v1/experiment_service.grpc.pb.h"
#include "locus/v1/metric_service.grpc.pb.h"
#include "server/application/api.h"
#include "server/runtime/event_feed.h"
#include "server/runtime/work_pool.h"

namespace locus::server {

// One line per call: the method of the service and the method of Api that answers it.
#define LOCUS_UNARY(Method, RequestType, ResponseType)                                                   \
  grpc::ServerUnaryReactor* Method(grpc::CallbackServerContext* context, const v1::RequestType* request, \
                                   v1::ResponseType* response) override;

// All are thread-safe; `api`, `pool` and `feed` must outlive them.
class ExperimentService final : public v1::ExperimentService::CallbackService {
 public:
  ExperimentService(Api& api, WorkPool& pool, EventFeed& feed) : api_(api), pool_(pool), feed_(feed) {}
  LOCUS_UNARY(PlanExperiment, PlanExperimentRequest, Plan)
  LOCUS_UNARY(CreateExperiment, CreateExperimentRequest, CreateExperimentResponse)
  LOCUS_UNARY(GetExperiment, GetExperimentRequest, Experiment)
  LOCUS_UNARY(ListExperiments, ListExperimentsRequest, ListExperimentsResponse)
  LOCUS_UNARY(CancelExperiment, CancelExperimentRequest, Experiment)
  LOCUS_UNARY(PauseExperiment, PauseExperimentRequest, Experiment)
  LOCUS_UNARY(ResumeExperiment, ResumeExperimentRequest, Experiment)
  LOCUS_UNARY(RerunExperiment, RerunExperimentRequest, RerunExperimentResponse)
  LOCUS_UNARY(DeleteExperiment, DeleteExperimentRequest, DeleteExperimentResponse)
  LOCUS_UNARY(Annotate, AnnotateRequest, Annotation)
  LOCUS_UNARY(Explain, ExplainRequest, Explanation)
  LOCUS_UNARY(ReadLog, ReadLogRequest, ReadLogResponse)
  LOCUS_UNARY(Compare, CompareRequest, Comparison)
  grpc::ServerWriteReactor<v1::ExportExperimentResponse>* ExportExperiment(
      grpc::CallbackServerContext* context, const v1::ExportExperimentRequest* request) override;
  LOCUS_UNARY(ListTrials, ListTrialsRequest, ListTrialsResponse)
  LOCUS_UNARY(GetTrial, GetTrialRequest, TrialDetail)
  LOCUS_UNARY(GetTable, GetTableRequest, Table)
  LOCUS_UNARY(GetCurves, GetCurvesRequest, Curves)
  grpc::ServerWriteReactor<v1::WatchEventsResponse>* WatchEvents(grpc::CallbackServerContext* context,
                                                                 const v1::WatchEventsRequest* request) override;

 private:
  Api& api_;
  WorkPool& pool_;
  EventFeed& feed_;
};

class MetricService final : public v1::MetricService::CallbackService {
 public:
  MetricService(Api& api, WorkPool& pool) : api_(api), pool_(pool) {}
  LOCUS_UNARY(ListSeries, ListSeriesRequest, ListSeriesResponse)
  LOCUS_UNARY(QuerySeries, QuerySeriesRequest, QuerySeriesResponse)

 private:
  Api& api_;
  WorkPool& pool_;
};

class CatalogService final : public v1::CatalogService::CallbackService {
 public:
  CatalogService(Api& api, WorkPool& pool) : api_(api), pool_(pool) {}
  LOCUS_UNARY(GetCatalog, GetCatalogRequest, Catalog)
  LOCUS_UNARY(GetPicture, GetPictureRequest, Picture)
  LOCUS_UNARY(GetServer, GetServerRequest, Server)

 private:
  Api& api_;
  WorkPool& pool_;
};

class AdminService final : public v1::AdminService::CallbackService {
 public:
  AdminService(Api& api, WorkPool& pool) : api_(api), pool_(pool) {}
  LOCUS_UNARY(Check, CheckRequest, CheckReport)
  LOCUS_UNARY(CollectGarbage, CollectGarbageRequest, CollectGarbageResponse)
  grpc::ServerWriteReactor<v1::BackupResponse>* Backup(grpc::CallbackServerContext* context,
                                                       const v1::BackupRequest* request) override;

 private:
  Api& api_;
  WorkPool& pool_;
};

#undef LOCUS_UNARY

}  // namespace locus::server
