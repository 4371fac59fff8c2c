// WorkerService on gRPC.
#include "server/grpc/worker_service.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/invalid.h"
#include "core/base/json_document.h"
#include "core/base/utf8.h"
#include "core/limits.h"
#include "server/analysis/system_series.h"
#include "server/grpc/acquire_call.h"
#include "server/grpc/announcement.h"
#include "server/grpc/point_stream.h"
#include "server/grpc/pull_stream.h"
#include "server/grpc/unary.h"
#include "server/wire/convert.h"
#include "server/wire/status.h"

namespace locus::server {
// Who makes this call of the service, by the context that it has.
#define LOCUS_CALLER_OF(Method) \
  Caller(principal_of(api_.gate(), *context), LOCUS_RULE_OF(WorkerService, Method), *request)

template <class Request, class Response>
grpc::ServerUnaryReactor* WorkerService::serve_own(
    const RpcRule& rule, grpc::CallbackServerContext* context, const Request* request, Response* response,
    absl::StatusOr<Response> (WorkerService::*function)(const Request&)) {
  return serve_unary(pool_, context, request, response,
                     [this, function, &rule, who = principal_of(api_.gate(), *context)](const Request& asked) {
                       return answer_call(api_.gate(), rule, who, asked,
                                          [&](const Caller&) { return (this->*function)(asked); });
                     });
}

LOCUS_CALLS_OF_WorkerService(LOCUS_SERVE_CALL)

    grpc::ServerUnaryReactor* WorkerService::RegisterWorker(grpc::CallbackServerContext* context,
                                                            const v1::RegisterWorkerRequest* request,
                                                            v1::RegisterWorkerResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const Caller caller = LOCUS_CALLER_OF(RegisterWorker);
  absl::Status status = api_.gate().admit(caller, *request);
  if (status.ok()) status = check_announcement(*request);
  WorkerRegistered event = announced(*request);
  if (status.ok()) {
    auto labels = announced_labels(store_, caller.principal, *request);
    status = labels.status();
    if (status.ok()) event.labels = *std::move(labels);
  }
  if (!status.ok()) {
    reactor->Finish(to_grpc_status(status));
    return reactor;
  }
  const auto answered = [this, reactor, response, caller](const Command& command) {
    if (const auto* error = std::get_if<ReplyError>(&command)) {
      const auto refuse = [reactor, wire = to_grpc_status(error->status)] { reactor->Finish(wire); };
      // Two daemons that show one certificate: somebody may have a copy of it. The row is there before the answer.
      const auto note = [this, caller, refuse, status = error->status] {
        api_.gate().note_refusal(caller, status);
        refuse();
      };
      if (!has_reason(error->status, ErrorReason::kWorkerNameTaken) || !pool_.try_post(note)) refuse();
      return;
    }
    *response->mutable_heartbeat() = to_duration(kHeartbeat);
    *response->mutable_fence() = to_duration(kWorkerFence);
    *response->mutable_lease() = to_duration(kLease);
    *response->mutable_grace() = to_duration(kReattachGrace);
    response->set_server_version(version_);
    reactor->Finish(grpc::Status::OK);
  };
  if (request->extensions().empty()) {
    coordinator_.post(std::move(event), answered, caller.deed());
    return reactor;
  }
  // What it brings is stored first, off the strand.
  auto learn = [this, request, reactor, answered, event = std::move(event), deed = caller.deed()]() mutable {
    if (const absl::Status learned = api_.learn_extensions(*request); !learned.ok())
      return reactor->Finish(to_grpc_status(learned));
    coordinator_.post(std::move(event), answered, deed);
  };
  if (!pool_.try_post(std::move(learn))) reactor->Finish(to_grpc_status(busy_error()));
  return reactor;
}

grpc::ServerUnaryReactor* WorkerService::AcquireStage(grpc::CallbackServerContext* context,
                                                      const v1::AcquireStageRequest* request,
                                                      v1::AcquireStageResponse* response) {
  if (const absl::Status status = api_.gate().admit(LOCUS_CALLER_OF(AcquireStage), *request); !status.ok()) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(to_grpc_status(status));
    return reactor;
  }
  auto* call = new AcquireCall(coordinator_, api_.memory(), response);  // deletes itself in OnDone
  call->begin(*request);
  return call;
}

grpc::ServerUnaryReactor* WorkerService::SyncLeases(grpc::CallbackServerContext* context,
                                                    const v1::SyncLeasesRequest* request,
                                                    v1::SyncLeasesResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  if (const absl::Status status = api_.gate().admit(LOCUS_CALLER_OF(SyncLeases), *request); !status.ok()) {
    reactor->Finish(to_grpc_status(status));
    return reactor;
  }
  if (request->held_size() > kHeldMost) {
    reactor->Finish(to_grpc_status(invalid("held", "a worker holds at most 4096 attempts")));
    return reactor;
  }
  const bool sampled = request->has_sample() || std::any_of(request->held().begin(), request->held().end(),
                                                            [](const auto& one) { return one.has_sample(); });
  if (sampled && disk_.admit_data().ok())  // off the strand: leases never wait for samples
    pool_.try_post([this, copy = *request] { keep_samples(store_, copy, clock_.wall()); });
  LeasesSynced event{.session = request->session(), .running = from_proto(request->held())};
  coordinator_.post(std::move(event), [reactor, response](const Command& command) {
    if (const auto* error = std::get_if<ReplyError>(&command)) return reactor->Finish(to_grpc_status(error->status));
    if (const auto* wishes = std::get_if<ReplyWishes>(&command)) {
      for (const auto& [lease, wish] : wishes->wishes) {
        auto* out = response->add_wishes();
        out->set_stage(lease.stage_id);
        out->set_attempt(lease.attempt);
        out->set_wish(to_proto(wish));
        const auto until = wishes->until.find(lease.stage_id);
        if (until != wishes->until.end() && wish != LeaseWish::kDrop) out->set_until_step(until->second);
      }
      response->set_drain(wishes->drain);
    }
    reactor->Finish(grpc::Status::OK);
  });
  return reactor;
}

grpc::ServerBidiReactor<v1::ReportPointsRequest, v1::ReportPointsResponse>* WorkerService::ReportPoints(
    grpc::CallbackServerContext* context) {
  return new PointStream(api_.gate(), store_, coordinator_, disk_, pool_, clock_, streams_,
                         context);  // deletes itself in OnDone
}

absl::StatusOr<v1::CommitCheckpointResponse> WorkerService::commit_checkpoint(
    const v1::CommitCheckpointRequest& request) {
  if (request.step() < 0)
    return invalid("step", "step " + std::to_string(request.step()) + " is negative; steps count from 0");
  LOCUS_RETURN_IF_ERROR(store_.artifact(request.sha256()).status());
  CheckpointCommitted event{.session = request.session(),
                            .stage_id = request.stage(),
                            .attempt = request.attempt(),
                            .step = request.step(),
                            .sha256 = request.sha256(),
                            .best = request.best()};
  const Command command = call(coordinator_, std::move(event));
  if (const auto* error = std::get_if<ReplyError>(&command)) return error->status;
  return v1::CommitCheckpointResponse();
}

grpc::ServerUnaryReactor* WorkerService::CommitCheckpoint(grpc::CallbackServerContext* context,
                                                          const v1::CommitCheckpointRequest* request,
                                                          v1::CommitCheckpointResponse* response) {
  return serve_own(LOCUS_RULE_OF(WorkerService, CommitCheckpoint), context, request, response,
                   &WorkerService::commit_checkpoint);
}

// Whether the store holds this very outcome already: a completion sent again. Also refuses one whose points
// are not all here.
absl::StatusOr<bool> WorkerService::repeats(const v1::CompleteAttemptRequest& request, AttemptState outcome) {
  LOCUS_ASSIGN_OR_RETURN(const auto attempts, store_.attempts(request.stage()));
  const auto attempt = std::find_if(attempts.begin(), attempts.end(),
                                    [&](const AttemptRow& row) { return row.number == request.attempt(); });
  if (attempt == attempts.end()) return false;
  if (attempt->state != AttemptState::kRunning)
    return attempt->state == outcome && attempt->session == request.session();
  if (attempt->acked_seq < request.last_seq()) {
    return make_error(absl::StatusCode::kOutOfRange, ErrorReason::kSequenceGap,
                      "points up to " + std::to_string(request.last_seq()) + " were sent and " +
                          std::to_string(attempt->acked_seq) + " are stored; send the others first",
                      "last_seq", {{"expected_sequence", std::to_string(attempt->acked_seq + 1)}});
  }
  return false;
}

absl::StatusOr<v1::CompleteAttemptResponse> WorkerService::complete_attempt(const v1::CompleteAttemptRequest& request) {
  const auto outcome = parse_attempt_state(request.outcome());
  if (!outcome || *outcome == AttemptState::kRunning || *outcome == AttemptState::kLost) {
    return invalid("outcome",
                   "outcome is \"" + request.outcome() + "\"; give succeeded, failed, stopped, cancelled or parked");
  }
  if (*outcome == AttemptState::kParked && request.step() <= 0) {
    return invalid("step", "a parked attempt says at which step, that of the checkpoint it committed last, and not " +
                               std::to_string(request.step()));
  }
  FailureClass failure = FailureClass::kNone;
  if (!request.failure_class().empty()) {
    const auto parsed = parse_failure_class(request.failure_class());
    if (!parsed) return invalid("failure_class", "failure_class \"" + request.failure_class() + "\" is not known");
    failure = *parsed;
  }
  if (*outcome == AttemptState::kFailed && failure == FailureClass::kNone) {
    return invalid("failure_class", "a failed attempt says why; give a failure_class such as code or out-of-memory");
  }
  const std::string environment = request.environment_json().empty() ? "{}" : request.environment_json();
  LOCUS_ASSIGN_OR_RETURN(const Json parsed, parse_json(environment, ErrorReason::kInvalidArgument, "environment_json"));
  if (!parsed.is_object()) return invalid("environment_json", "environment_json is not a JSON object");
  LOCUS_ASSIGN_OR_RETURN(auto results, from_proto(request.results()));
  LOCUS_ASSIGN_OR_RETURN(const bool again, repeats(request, *outcome));
  if (again) return v1::CompleteAttemptResponse();
  AttemptCompleted event;
  event.session = request.session();
  event.stage_id = request.stage();
  event.attempt = request.attempt();
  event.outcome = *outcome;
  event.failure_class = failure;
  event.reason = valid_utf8(request.reason().substr(0, kReasonLength));
  event.environment_json = environment;
  if (*outcome == AttemptState::kParked) event.step = request.step();
  event.results = std::move(results);
  for (const auto& output : request.outputs()) {
    LOCUS_RETURN_IF_ERROR(store_.artifact(output.sha256()).status());
    event.outputs.push_back({output.slot(), output.sha256(), output.step()});
  }
  const Command command = call(coordinator_, std::move(event));
  const auto* error = std::get_if<ReplyError>(&command);
  if (error == nullptr) {
    const auto stage =
        MemoryDesk::tells(request) ? store_.stage(request.stage()) : absl::StatusOr<StageRow>(StageRow());
    if (stage.ok() && stage->id != 0) api_.memory().learn(*stage, request);
    return v1::CompleteAttemptResponse();
  }
  if (has_reason(error->status, ErrorReason::kStaleAttempt)) {  // the same call may have won in between
    LOCUS_ASSIGN_OR_RETURN(const bool won, repeats(request, *outcome));
    if (won) return v1::CompleteAttemptResponse();
  }
  return error->status;
}

grpc::ServerUnaryReactor* WorkerService::CompleteAttempt(grpc::CallbackServerContext* context,
                                                         const v1::CompleteAttemptRequest* request,
                                                         v1::CompleteAttemptResponse* response) {
  return serve_own(LOCUS_RULE_OF(WorkerService, CompleteAttempt), context, request, response,
                   &WorkerService::complete_attempt);
}

absl::StatusOr<v1::ReportLogResponse> WorkerService::report_log(const v1::ReportLogRequest& request) {
  LOCUS_RETURN_IF_ERROR(disk_.admit_data());
  const Mutation append =
      AppendLog{request.stage(), request.attempt(), request.session(), request.offset(), request.text()};
  LOCUS_RETURN_IF_ERROR(store_.apply({&append, 1}, clock_.wall()));
  coordinator_.note_log(request.stage());
  v1::ReportLogResponse out;
  out.set_next_offset(request.offset() + static_cast<std::int64_t>(request.text().size()));
  return out;
}

grpc::ServerUnaryReactor* WorkerService::ReportLog(grpc::CallbackServerContext* context,
                                                   const v1::ReportLogRequest* request,
                                                   v1::ReportLogResponse* response) {
  return serve_own(LOCUS_RULE_OF(WorkerService, ReportLog), context, request, response, &WorkerService::report_log);
}

}  // namespace locus::server
