// Whether what a request is about is the caller's own.
#include "server/authority/ownership.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"

namespace locus::server {
namespace {

std::string text_of(const google::protobuf::Message& request, const std::string& name) {
  const auto* field = request.GetDescriptor()->FindFieldByName(name);
  if (field == nullptr || field->is_repeated() ||
      field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_STRING)
    return "";
  return request.GetReflection()->GetString(request, field);
}

std::int64_t number_of(const google::protobuf::Message& request, const std::string& name) {
  const auto* field = request.GetDescriptor()->FindFieldByName(name);
  if (field == nullptr || field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_INT64) return 0;
  return request.GetReflection()->GetInt64(request, field);
}

// "experiments/{name}" -> "name".
std::string field_of(std::string_view subject) {
  const std::size_t open = subject.find('{'), close = subject.find('}');
  return open == std::string_view::npos ? "" : std::string(subject.substr(open + 1, close - open - 1));
}

absl::Status not_yours(const Principal& who, const std::string& what) {
  return make_error(absl::StatusCode::kPermissionDenied, ErrorReason::kNotPermitted,
                    what + " is not for '" + who.name + "' to use", "", {{"principal", who.name}});
}

absl::Status no_artifact(const std::string& sha256) {
  return make_error(absl::StatusCode::kNotFound, ErrorReason::kArtifactNotFound,
                    "no artifact " + sha256.substr(0, 64) + " is stored that you may see", "sha256");
}

}  // namespace

absl::Status not_own(const Principal& who, const std::string& what, const std::string& account) {
  return make_error(absl::StatusCode::kPermissionDenied, ErrorReason::kNotPermitted,
                    what + " belongs to '" + account + "', and '" + who.name + "' is of the account '" + who.account +
                        "': ask its owner or an operator",
                    "", {{"owner", account}, {"account", who.account}, {"principal", who.name}});
}

absl::Status OwnershipCheck::check_experiment(const Principal& who, const std::string& name) {
  const auto row = store_.experiment(name.substr(0, name.find('/')));
  if (absl::IsNotFound(row.status())) return absl::OkStatus();
  LOCUS_RETURN_IF_ERROR(row.status());
  return may_change_of(who, row->owner) ? absl::OkStatus() : not_own(who, "experiment '" + row->name + "'", row->owner);
}

absl::Status OwnershipCheck::check_session(const Principal& who, const std::string& session) {
  const std::string key = "session " + session;  // a worker chooses its text: no key of an attempt may come of it
  {
    absl::MutexLock lock(&mutex_);
    if (const std::string* name = workers_.find(key); name != nullptr)
      return *name == who.name ? absl::OkStatus() : not_yours(who, "the session of worker '" + *name + "'");
  }
  LOCUS_ASSIGN_OR_RETURN(const auto workers, store_.workers());
  const auto found =
      std::find_if(workers.begin(), workers.end(), [&](const WorkerRow& row) { return row.session == session; });
  if (found == workers.end()) return absl::OkStatus();  // the scheduler says that it is not known
  {
    absl::MutexLock lock(&mutex_);
    workers_.at(key) = found->name;
  }
  return found->name == who.name ? absl::OkStatus() : not_yours(who, "the session of worker '" + found->name + "'");
}

absl::Status OwnershipCheck::check_attempt(const Principal& who, const google::protobuf::Message& request) {
  LOCUS_RETURN_IF_ERROR(check_session(who, text_of(request, "session")));
  const std::int64_t stage = number_of(request, "stage"), number = number_of(request, "attempt");
  const std::string key = "attempt " + std::to_string(stage) + "/" + std::to_string(number);
  {
    absl::MutexLock lock(&mutex_);
    if (const std::string* name = workers_.find(key); name != nullptr && *name == who.name) return absl::OkStatus();
  }
  const auto attempts = store_.attempts(stage);
  if (!attempts.ok()) return absl::OkStatus();  // the call itself says that it is not there
  const auto attempt =
      std::find_if(attempts->begin(), attempts->end(), [&](const AttemptRow& row) { return row.number == number; });
  if (attempt == attempts->end()) return absl::OkStatus();
  LOCUS_ASSIGN_OR_RETURN(const std::set<WorkerId> own, workers_of(who));
  if (!own.contains(attempt->worker_id))
    return not_yours(who, "attempt " + std::to_string(number) + " of stage " + std::to_string(stage));
  absl::MutexLock lock(&mutex_);
  workers_.at(key) = who.name;
  return absl::OkStatus();
}

absl::StatusOr<std::set<WorkerId>> OwnershipCheck::workers_of(const Principal& who) {
  LOCUS_ASSIGN_OR_RETURN(const auto workers, store_.workers());
  std::set<WorkerId> out;
  for (const WorkerRow& row : workers) {
    if (row.name == who.name) out.insert(row.id);
  }
  return out;
}

// What runs is nearly always among the newest, which are looked at first.
absl::Status OwnershipCheck::check_runs_something(const Principal& who) {
  LOCUS_ASSIGN_OR_RETURN(const std::set<WorkerId> own, workers_of(who));
  for (const WorkerId id : own) {
    for (const int limit : {64, 4096, std::numeric_limits<int>::max()}) {
      LOCUS_ASSIGN_OR_RETURN(const auto attempts, store_.attempts_of_worker(id, limit));
      const bool runs = std::any_of(attempts.begin(), attempts.end(),
                                    [](const AttemptRow& row) { return row.state == AttemptState::kRunning; });
      if (runs) return absl::OkStatus();
      if (attempts.size() < static_cast<std::size_t>(limit)) break;
    }
  }
  return not_yours(who, "a place for artifacts, as long as it runs no attempt,");
}

// A hash is no capability: somebody's checkpoint is read by its account, and by the workers that need it now.
absl::Status OwnershipCheck::check_read(const Principal& who, const std::string& sha256) {
  LOCUS_ASSIGN_OR_RETURN(const auto stages, store_.stages_naming(sha256));
  if (who.role == Role::kWorker) {
    LOCUS_ASSIGN_OR_RETURN(const std::set<WorkerId> own, workers_of(who));
    for (const StageId id : stages) {
      LOCUS_ASSIGN_OR_RETURN(const auto attempts, store_.attempts(id));
      for (const AttemptRow& attempt : attempts) {
        if (attempt.state == AttemptState::kRunning && own.contains(attempt.worker_id)) return absl::OkStatus();
      }
    }
    return no_artifact(sha256);
  }
  if (stages.empty()) return no_artifact(sha256);
  const auto row = store_.artifact(sha256);
  if (!row.ok()) return no_artifact(sha256);
  if (row->kind != "checkpoint") return absl::OkStatus();
  return check_change(who, sha256);
}

absl::Status OwnershipCheck::check_change(const Principal& who, const std::string& sha256) {
  LOCUS_ASSIGN_OR_RETURN(const auto stages, store_.stages_naming(sha256));
  std::string owner;
  bool named = false;
  for (const StageId id : stages) {
    LOCUS_ASSIGN_OR_RETURN(const auto references, store_.references(id));
    for (const StageReference& reference : references) {
      const auto experiment = store_.experiment(reference.experiment);
      if (!experiment.ok()) continue;
      if (experiment->owner == who.account) return absl::OkStatus();
      named = true;
      owner = experiment->owner;
    }
  }
  return named ? not_own(who, "artifact " + sha256.substr(0, 12), owner) : no_artifact(sha256);
}

absl::Status OwnershipCheck::check(const Principal& who, const RpcRule& rule,
                                   const google::protobuf::Message& request) {
  if (unasked(who) || includes(who.role, Role::kOperator)) return absl::OkStatus();
  switch (rule.ownership) {
    case Ownership::kNothing:
    case Ownership::kNewExperiment:  // known once the specification has been read: Submissions
      return absl::OkStatus();
    case Ownership::kExperiment:
      return check_experiment(who, text_of(request, field_of(rule.subject)));
    case Ownership::kArtifactRead:
      return check_read(who, text_of(request, "sha256"));
    case Ownership::kArtifactChange:
      return check_change(who, text_of(request, "sha256"));
    case Ownership::kWorkerName:
      if (text_of(request, "name") == who.name) return absl::OkStatus();
      return not_yours(who, "the name '" + text_of(request, "name").substr(0, 100) + "' of a worker");
    case Ownership::kSession:
      return check_session(who, text_of(request, "session"));
    case Ownership::kAttempt:
      return check_attempt(who, request);
    case Ownership::kRunningAttempt:
      return check_runs_something(who);
  }
  return absl::InternalError("an ownership that nobody checks");
}

}  // namespace locus::server
