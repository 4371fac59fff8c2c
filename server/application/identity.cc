// Tokens and the audit, as people see them: the calls of IdentityService.
#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/base/invalid.h"
#include "core/identity/secret.h"
#include "core/limits.h"
#include "server/application/api.h"
#include "server/wire/convert.h"

namespace locus::server {
namespace {

constexpr int kAuditUsual = 100, kAuditMost = 1000;

void fill_token(const TokenRow& row, const std::string& account, Microseconds now, v1::Token* out) {
  out->set_id(row.id);
  out->set_principal(row.principal);
  out->set_account(account);
  out->set_role(to_string(row.role));
  out->set_state(row.revoked_us != 0 ? "revoked" : row.expires_us <= now ? "expired" : "active");
  *out->mutable_create_time() = to_timestamp(row.created_us);
  *out->mutable_expire_time() = to_timestamp(row.expires_us);
  if (row.revoked_us != 0) *out->mutable_revoke_time() = to_timestamp(row.revoked_us);
  if (row.used_us != 0) *out->mutable_use_time() = to_timestamp(row.used_us);
}

}  // namespace

absl::StatusOr<v1::CreateTokenResponse> Api::create_token(const v1::CreateTokenRequest& request, const Caller& caller) {
  const auto role = parse_role(request.role());
  if (!role || *role == Role::kWorker) {
    return invalid("role",
                   "role is \"" + request.role().substr(0, 40) +
                       "\"; give viewer, submitter, operator, admin or provisioner (workers show certificates)");
  }
  const Microseconds life = request.has_ttl() ? from_duration(request.ttl()) : kTokenMost.count();
  if (life <= 0 || life > kTokenMost.count()) return invalid("ttl", "a token lives more than 0 s and at most 90 days");
  const auto known = store_.identity().principal(request.principal());
  if (!known.ok() && !absl::IsNotFound(known.status())) return known.status();
  PrincipalRow principal{.name = request.principal(), .account = request.account()};
  if (principal.account.empty()) principal.account = known.ok() ? known->account : principal.name;
  const TokenText token = new_token();
  const Microseconds now = clock_.wall();
  const TokenRow row{.id = token.id,
                     .secret_hash = hash_of_secret(token.secret),
                     .principal = principal.name,
                     .role = *role,
                     .created_us = now,
                     .expires_us = now + life};
  const std::vector<Mutation> changes = {PutPrincipal{principal}, PutToken{row}, caller.deed()};
  LOCUS_RETURN_IF_ERROR(store_.apply(changes, now));
  v1::CreateTokenResponse out;
  out.set_token(token.text());
  fill_token(row, principal.account, now, out.mutable_stored());
  return out;
}

absl::StatusOr<v1::ListTokensResponse> Api::list_tokens(const v1::ListTokensRequest&) {
  LOCUS_ASSIGN_OR_RETURN(const auto rows, store_.identity().tokens());
  LOCUS_ASSIGN_OR_RETURN(const auto principals, store_.identity().principals());
  std::map<std::string, std::string> accounts;
  for (const PrincipalRow& row : principals) accounts[row.name] = row.account;
  v1::ListTokensResponse out;
  for (const TokenRow& row : rows) fill_token(row, accounts[row.principal], clock_.wall(), out.add_tokens());
  return out;
}

absl::StatusOr<v1::Token> Api::revoke_token(const v1::RevokeTokenRequest& request, const Caller& caller) {
  const std::vector<Mutation> changes = {RevokeToken{request.id()}, caller.deed()};
  LOCUS_RETURN_IF_ERROR(store_.apply(changes, clock_.wall()));
  if (end_calls_) end_calls_("tokens/" + request.id());
  LOCUS_ASSIGN_OR_RETURN(const TokenRow row, store_.identity().token(request.id()));
  LOCUS_ASSIGN_OR_RETURN(const PrincipalRow principal, store_.identity().principal(row.principal));
  v1::Token out;
  fill_token(row, principal.account, clock_.wall(), &out);
  return out;
}

absl::StatusOr<v1::ListAuditResponse> Api::list_audit(const v1::ListAuditRequest& request) {
  if (request.limit() < 0 || request.limit() > kAuditMost)
    return invalid("limit", "limit is " + std::to_string(request.limit()) + "; give 1 to 1000, or 0 for 100");
  LOCUS_ASSIGN_OR_RETURN(const AuditChain chain, store_.identity().audit_chain());
  LOCUS_ASSIGN_OR_RETURN(
      const auto rows, store_.identity().audit(request.after(), request.limit() == 0 ? kAuditUsual : request.limit()));
  v1::ListAuditResponse out;
  for (const AuditRow& row : rows) {
    auto* entry = out.add_entries();
    entry->set_id(row.id);
    entry->set_time_us(row.time_us);
    entry->set_principal(row.principal);
    entry->set_via(row.via);
    entry->set_address(row.address);
    entry->set_rpc(row.rpc);
    entry->set_subject(row.subject);
    entry->set_outcome(row.outcome);
    entry->set_detail_json(row.detail_json);
    entry->set_previous(row.previous);
  }
  out.set_first(chain.first);
  out.set_first_previous(chain.first_previous);
  out.set_last(chain.last);
  out.set_last_digest(chain.last_digest);
  return out;
}

absl::StatusOr<v1::Identity> Api::who_am_i(const v1::WhoAmIRequest&, const Caller& caller) {
  v1::Identity out;
  out.set_asked(gate_.asks());
  out.set_name(caller.principal.name);
  out.set_account(caller.principal.account);
  if (caller.principal.via != Via::kNobody) out.set_role(to_string(caller.principal.role));
  out.set_via(to_string(caller.principal.via));
  return out;
}

}  // namespace locus::server
