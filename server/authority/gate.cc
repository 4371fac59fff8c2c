// The one place where it is decided whether a call is answered.
#include "server/authority/gate.h"

#include "core/base/error.h"
#include "core/log/log.h"

namespace locus::server {
namespace {

constexpr std::int64_t kRecordedOf = 100;  // of the refusals beyond the limit, one of so many is kept

// By what a caller's calls are counted.
std::string counted_as(const Principal& who) { return who.name.empty() ? "from " + who.address : who.name; }

}  // namespace

void Gate::record(const Caller* caller, const Principal& who, const RpcRule& rule, const absl::Status& refused) {
  {
    absl::MutexLock lock(&mutex_);
    const std::string key = who.name.empty() ? who.address : who.name;
    if (recorded_.take(key, clock_.steady()) > 0 && ++unrecorded_ % kRecordedOf != 0) return;
  }
  const Mutation row =
      caller != nullptr ? caller->row(refused) : AppendAudit{audit_row(who, std::string(rule.rpc), "", refused)};
  if (const absl::Status kept = store_.apply({&row, 1}, clock_.wall()); !kept.ok())
    log_warning("the audit of a refusal: {}", std::string(kept.message()));
}

void Gate::note_refusal(const Caller& caller, const absl::Status& refused) {
  if (!unasked(caller.principal)) record(&caller, caller.principal, caller.rule, refused);
}

absl::Status Gate::permit(const Principal& who, const RpcRule& rule) {
  if (rule.access.anybody) return absl::OkStatus();
  if (who.via == Via::kNobody) {
    return make_error(absl::StatusCode::kUnauthenticated, ErrorReason::kNotAuthenticated,
                      "this server asks who calls: show a token or a certificate, or sign in");
  }
  if (unasked(who) || rule.access.roles.permits(who.role)) return absl::OkStatus();
  const absl::Status refused = make_error(
      absl::StatusCode::kPermissionDenied, ErrorReason::kNotPermitted,
      "'" + who.name + "' calls as " + to_string(who.role) + "; " + std::string(rule.rpc) + " is for " +
          rule.access.roles.to_text() + ": ask an administrator for that role",
      "", {{"role", to_string(who.role)}, {"rpc", std::string(rule.rpc)}, {"needed", rule.access.roles.to_text()}});
  record(nullptr, who, rule, refused);
  return refused;
}

absl::Status Gate::limit(const Principal& who, const RpcRule& rule) {
  if (unasked(who)) return absl::OkStatus();
  const std::string key = counted_as(who);
  absl::MutexLock lock(&mutex_);
  const Microseconds wait = (rule.changes() ? writes_ : reads_).take(key, clock_.steady());
  if (wait == 0) return absl::OkStatus();
  return too_often("'" + key + "' calls more often than one caller may", wait);
}

absl::StatusOr<HeldPlace> Gate::hold(const Principal& who, const RpcRule& rule) {
  if (unasked(who)) return HeldPlace();
  return places_.take(counted_as(who), who.address, rule);
}

absl::Status Gate::admit(const Caller& caller, const google::protobuf::Message& request) {
  LOCUS_RETURN_IF_ERROR(limit(caller.principal, caller.rule));
  return admit_message(caller, request);
}

absl::Status Gate::admit_message(const Caller& caller, const google::protobuf::Message& request) {
  LOCUS_RETURN_IF_ERROR(permit(caller.principal, caller.rule));
  const absl::Status owned = ownership_.check(caller.principal, caller.rule, request);
  if (has_reason(owned, ErrorReason::kNotPermitted)) record(&caller, caller.principal, caller.rule, owned);
  return owned;
}

absl::Status Gate::finish(const Caller& caller, const absl::Status& outcome) {
  if (!caller.rule.changes() || (outcome.ok() && caller.took_deed())) return absl::OkStatus();
  // What failed for what it asked, not for who asked, has changed nothing and concerns nobody.
  if (!outcome.ok() && !absl::IsPermissionDenied(outcome) && !absl::IsUnauthenticated(outcome)) return absl::OkStatus();
  const Mutation row = caller.row(outcome);
  return store_.apply({&row, 1}, clock_.wall());
}

}  // namespace locus::server
