// A call with who makes it.
#include "server/authority/caller.h"

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/utf8.h"
#include "core/identity/secret.h"

namespace locus::server {
namespace {

constexpr std::size_t kSubjectLength = 200;

std::string expanded(std::string_view pattern, const google::protobuf::Message& request) {
  const std::size_t open = pattern.find('{'), close = pattern.find('}');
  if (open == std::string_view::npos || close == std::string_view::npos) return std::string(pattern);
  const auto* field = request.GetDescriptor()->FindFieldByName(std::string(pattern.substr(open + 1, close - open - 1)));
  std::string value;
  if (field != nullptr && field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_STRING &&
      !field->is_repeated())
    value = request.GetReflection()->GetString(request, field);
  // What others sent goes into a record for ever: no secret that was put in the wrong field, no broken text.
  return std::string(pattern.substr(0, open)) + valid_utf8(without_tokens(value).substr(0, kSubjectLength)) +
         std::string(pattern.substr(close + 1));
}

std::string outcome_of(const absl::Status& status) {
  if (status.ok()) return "ok";
  const auto detail = error_detail(status);
  return detail ? std::string(to_string(detail->reason)) : absl::StatusCodeToString(status.code());
}

}  // namespace

AuditRow audit_row(const Principal& who, std::string rpc, std::string subject, const absl::Status& outcome) {
  AuditRow row;
  row.principal = who.name;
  row.via = to_string(who.via);
  row.address = who.address;
  row.rpc = std::move(rpc);
  row.subject = std::move(subject);
  row.outcome = outcome_of(outcome);
  Json detail = Json::object();
  if (!who.credential.empty()) detail["credential"] = who.credential;
  if (who.via != Via::kNobody) detail["role"] = to_string(who.role);
  row.detail_json = detail.dump();
  return row;
}

Caller::Caller(Principal who, const RpcRule& of, const google::protobuf::Message& request)
    : principal(std::move(who)), rule(of), subject_(expanded(of.subject, request)) {}

AppendAudit Caller::deed() const {
  taken_ = true;
  return {audit_row(principal, std::string(rule.rpc), subject_, absl::OkStatus())};
}

AppendAudit Caller::row(const absl::Status& outcome) const {
  AppendAudit out{audit_row(principal, std::string(rule.rpc), subject_, outcome)};
  if (!outcome.ok()) return out;
  Json detail = Json::parse(out.row.detail_json);
  detail["changed"] = false;
  out.row.detail_json = detail.dump();
  return out;
}

}  // namespace locus::server
