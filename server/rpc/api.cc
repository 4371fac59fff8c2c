// What people may ask of Locus, without a transport.
#include "server/rpc/api.h"

#include "core/base/error.h"
#include "core/limits.h"
#include "server/rpc/convert.h"
#include "server/rpc/curves_query.h"
#include "server/rpc/table_query.h"

namespace locus::server {

Api::Api(Store& store, const Catalog& catalog, Coordinator& coordinator, Clock& clock, std::string version)
    : store_(store),
      catalog_(catalog),
      coordinator_(coordinator),
      outlines_(store),
      submissions_(store, catalog, coordinator, clock),
      views_(store, coordinator, outlines_, clock) {
  server_.set_version(std::move(version));
  server_.set_protocol_version(kProtocolVersion);
}

void Api::set_addresses(std::string grpc, std::string http) {
  absl::MutexLock lock(&mutex_);
  server_.set_grpc_address(std::move(grpc));
  server_.set_http_address(std::move(http));
}

absl::StatusOr<v1::Plan> Api::plan_experiment(const v1::PlanExperimentRequest& request) {
  return submissions_.plan(request);
}

absl::StatusOr<v1::CreateExperimentResponse> Api::create_experiment(
    const v1::CreateExperimentRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(auto response, submissions_.create(request));
  v1::GetExperimentRequest get;
  get.set_name(response.experiment().name());
  LOCUS_ASSIGN_OR_RETURN(*response.mutable_experiment(), views_.get(get));
  return response;
}

absl::StatusOr<v1::Experiment> Api::get_experiment(const v1::GetExperimentRequest& request) {
  return views_.get(request);
}

absl::StatusOr<v1::ListExperimentsResponse> Api::list_experiments(const v1::ListExperimentsRequest& request) {
  return views_.list(request);
}

absl::StatusOr<v1::Experiment> Api::set_state(const std::string& name, ExperimentState to) {
  LOCUS_ASSIGN_OR_RETURN(const ExperimentRow row, store_.experiment(name));
  if (row.state != to) {
    const Command command = call(coordinator_, ExperimentStateRequested{.id = row.id, .to = to});
    if (const auto* error = std::get_if<ReplyError>(&command)) return error->status;
  }
  v1::GetExperimentRequest get;
  get.set_name(name);
  return views_.get(get);
}

absl::StatusOr<v1::Experiment> Api::cancel_experiment(const v1::CancelExperimentRequest& request) {
  return set_state(request.name(), ExperimentState::kCancelled);
}

absl::StatusOr<v1::Experiment> Api::pause_experiment(const v1::PauseExperimentRequest& request) {
  return set_state(request.name(), ExperimentState::kPaused);
}

absl::StatusOr<v1::Experiment> Api::resume_experiment(const v1::ResumeExperimentRequest& request) {
  return set_state(request.name(), ExperimentState::kActive);
}

absl::StatusOr<v1::ListTrialsResponse> Api::list_trials(const v1::ListTrialsRequest& request) {
  return views_.trials(request);
}

absl::StatusOr<v1::TrialDetail> Api::get_trial(const v1::GetTrialRequest& request) {
  return views_.trial(request);
}

absl::StatusOr<v1::Table> Api::get_table(const v1::GetTableRequest& request) {
  return server::get_table(store_, outlines_, request);
}

absl::StatusOr<v1::Curves> Api::get_curves(const v1::GetCurvesRequest& request) {
  return server::get_curves(store_, request);
}

absl::StatusOr<v1::ListSeriesResponse> Api::list_series(const v1::ListSeriesRequest& request) {
  LOCUS_RETURN_IF_ERROR(store_.stage(request.stage()).status());
  LOCUS_ASSIGN_OR_RETURN(const auto rows, store_.series(request.stage()));
  v1::ListSeriesResponse out;
  for (const SeriesRow& row : rows) to_proto(row.key, out.add_series());
  return out;
}

absl::StatusOr<v1::QuerySeriesResponse> Api::query_series(const v1::QuerySeriesRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(const SeriesKey key, from_proto(request.key(), "key"));
  if (request.max_points() < 0) {
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                      "max_points is negative; give a positive number, or 0 for all points", "max_points");
  }
  LOCUS_ASSIGN_OR_RETURN(const SeriesPoints found, store_.points(request.stage(), key, request.max_points()));
  v1::QuerySeriesResponse out;
  out.set_reduced(found.reduced);
  for (const Point& point : found.points) {
    out.add_step(point.step);
    out.add_epoch(point.epoch);
    out.add_images(point.images);
    out.add_time_us(point.time_us);
    out.add_value(point.value);
  }
  return out;
}

absl::StatusOr<v1::Catalog> Api::get_catalog(const v1::GetCatalogRequest&) {
  v1::Catalog out;
  out.set_digest(catalog_.digest());
  out.set_json(canonical_json(catalog_.document()));
  return out;
}

absl::StatusOr<v1::Server> Api::get_server(const v1::GetServerRequest&) {
  LOCUS_ASSIGN_OR_RETURN(const std::int64_t started, store_.attempts_started());
  absl::MutexLock lock(&mutex_);
  v1::Server out = server_;
  out.set_attempts_started(started);
  return out;
}

absl::StatusOr<v1::ListWorkersResponse> Api::list_workers(const v1::ListWorkersRequest& request) {
  return views_.workers(request);
}

absl::Status Api::check_watch(std::int64_t cursor, const std::string& experiment) {
  if (cursor < -1) {
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kCursorInvalid,
                      "cursor " + std::to_string(cursor) +
                          " cannot be read; give the last one seen, 0 for everything or -1 "
                          "for what is to come",
                      "cursor", {{"cursor", std::to_string(cursor)}});
  }
  return experiment.empty() ? absl::OkStatus() : store_.experiment(experiment).status();
}

}  // namespace locus::server
