// What every store checks and changes of identities.
#include "storage/rules/identity.h"

#include <utility>

#include "core/base/ids.h"
#include "core/identity/audit.h"
#include "core/identity/principal.h"
#include "core/limits.h"
#include "storage/rules/refusals.h"

namespace locus {
namespace {

constexpr Microseconds kHour = 3'600'000'000;

absl::Status check_form(const std::string& name, const std::string& account) {
  if (!valid_name(name))
    return refusal::invalid("'" + name + "' is no name of a principal: use a-z, 0-9 and '-', a letter first", "name");
  if (!account.empty() && !valid_account(account))
    return refusal::invalid("'" + account + "' is no name of an account: use 1 to " + std::to_string(kNameLength) +
                                " characters, none of them a control character, no space at an end",
                            "account");
  return absl::OkStatus();
}

absl::Status taken(const std::string& noun, const std::string& name) {
  return refusal::wrong_state("a " + noun + " '" + name + "' is stored already: make another one", {{noun, name}});
}

}  // namespace

absl::Status change_identity(IdentityRows& rows, const PutPrincipal& asked, Microseconds now) {
  LOCUS_RETURN_IF_ERROR(check_form(asked.row.name, asked.row.account));
  PrincipalRow row = asked.row;
  const auto stored = rows.principal(row.name);
  row.created_us = stored ? stored->created_us : now;
  rows.put_principal(row);
  return absl::OkStatus();
}

absl::Status change_identity(IdentityRows& rows, const PutToken& asked, Microseconds now) {
  if (rows.token(asked.row.id)) return taken("token", asked.row.id);
  if (!rows.principal(asked.row.principal)) return refusal::credential_not_found("principal", asked.row.principal);
  if (asked.row.role == Role::kWorker)
    return refusal::invalid("a token cannot be a worker's: workers show certificates", "role");
  if (asked.row.expires_us <= now || asked.row.expires_us - now > kTokenMost.count())
    return refusal::invalid(
        "a token must expire after now and within " + std::to_string(kTokenMost.count() / kHour / 24) + " days",
        "expires");
  TokenRow row = asked.row;
  row.created_us = now;
  row.revoked_us = row.used_us = 0;
  rows.put_token(row);
  return absl::OkStatus();
}

absl::Status change_identity(IdentityRows& rows, const RevokeToken& asked, Microseconds now) {
  auto row = rows.token(asked.id);
  if (!row) return refusal::credential_not_found("token", asked.id);
  if (row->revoked_us == 0) row->revoked_us = now;
  rows.put_token(*row);
  rows.erase_sessions_of(asked.id);
  return absl::OkStatus();
}

absl::Status change_identity(IdentityRows& rows, const UseToken& asked, Microseconds now) {
  auto row = rows.token(asked.id);
  if (!row) return refusal::credential_not_found("token", asked.id);
  row->used_us = now - now % kHour;
  rows.put_token(*row);
  return absl::OkStatus();
}

absl::Status change_identity(IdentityRows& rows, const PutSession& asked, Microseconds now) {
  const auto token = rows.token(asked.row.token_id);
  if (!token || token->revoked_us != 0 || token->expires_us <= now)
    return refusal::credential_not_found("token", asked.row.token_id);
  SessionRow row = asked.row;
  const auto stored = rows.session(row.hash);
  row.created_us = stored ? stored->created_us : now;
  rows.put_session(row);
  return absl::OkStatus();
}

absl::Status change_identity(IdentityRows& rows, const EndSession& asked, Microseconds) {
  rows.erase_session(asked.hash);
  return absl::OkStatus();
}

absl::Status change_identity(IdentityRows& rows, const PutInvitation& asked, Microseconds now) {
  if (rows.invitation(asked.row.hash)) return taken("invitation", asked.row.hash);
  LOCUS_RETURN_IF_ERROR(check_form(asked.row.name, asked.row.account));
  InvitationRow row = asked.row;
  row.created_us = now;
  row.used_us = 0;
  rows.put_invitation(row);
  return absl::OkStatus();
}

absl::Status change_identity(IdentityRows& rows, const UseInvitation& asked, Microseconds now) {
  auto row = rows.invitation(asked.hash);
  if (!row) return refusal::invitation_refused("is not known here");
  if (row->used_us != 0) return refusal::invitation_refused("was used already");
  if (row->expires_us <= now) return refusal::invitation_refused("has expired");
  row->used_us = now;
  rows.put_invitation(*row);
  return absl::OkStatus();
}

absl::Status change_identity(IdentityRows& rows, const PutCertificate& asked, Microseconds) {
  if (rows.certificate(asked.row.serial)) return taken("certificate", asked.row.serial);
  if (!rows.principal(asked.row.principal)) return refusal::credential_not_found("principal", asked.row.principal);
  rows.put_certificate(asked.row);
  return absl::OkStatus();
}

absl::Status change_identity(IdentityRows& rows, const RevokeCertificate& asked, Microseconds now) {
  auto row = rows.certificate(asked.serial);
  if (!row) return refusal::credential_not_found("certificate", asked.serial);
  if (row->revoked_us == 0) row->revoked_us = now;
  rows.put_certificate(*row);
  return absl::OkStatus();
}

absl::Status change_identity(IdentityRows& rows, const AppendAudit& asked, Microseconds now) {
  AuditChain chain = rows.audit_chain();
  AuditRow row = asked.row;
  row.id = chain.last + 1;
  row.time_us = now;
  row.previous = chain.last == 0 ? kAuditBeginning : chain.last_digest;
  rows.put_audit(row);
  chain.last = row.id;
  chain.last_digest = audit_digest(row);
  rows.put_audit_chain(chain);
  return absl::OkStatus();
}

absl::Status change_identity(IdentityRows& rows, const ForgetIdentity& asked, Microseconds now) {
  AuditChain chain = rows.audit_chain();
  const auto first = rows.first_audit_since(asked.before_us);
  if (first && first->id > chain.first) {
    chain.first = first->id;
    chain.first_previous = first->previous;
    rows.erase_audit_before(first->id);
    rows.put_audit_chain(chain);
  }
  rows.erase_sessions_before(now);
  rows.erase_invitations_before(asked.before_us);
  return absl::OkStatus();
}

}  // namespace locus
