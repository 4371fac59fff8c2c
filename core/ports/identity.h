// The part of the store port that is about identities: its mutations, and what is asked of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/identity/account.h"
#include "core/identity/rows.h"

namespace locus {

struct PutPrincipal {
  PrincipalRow row;
};  // upsert by name; INVALID_ARGUMENT for a name or an account outside its form. A stored one keeps its creation
// WRONG_STATE if the id is taken; CREDENTIAL_NOT_FOUND without the principal; INVALID_ARGUMENT for a worker's role, or
// an end that is not after its creation or is more than kTokenMost after it.
struct PutToken {
  TokenRow row;
};
struct RevokeToken {  // CREDENTIAL_NOT_FOUND; idempotent. Its sessions go
  std::string id;
};
struct UseToken {  // CREDENTIAL_NOT_FOUND; the time is that of the commit, cut to the hour
  std::string id;
};
struct PutSession {  // upsert by hash; CREDENTIAL_NOT_FOUND unless its token is there, not revoked and not expired
  SessionRow row;
};
struct EndSession {  // idempotent
  std::string hash;
};
struct PutInvitation {  // WRONG_STATE if the hash is taken; INVALID_ARGUMENT for a name or account outside its form
  InvitationRow row;
};
struct UseInvitation {  // INVITATION_REFUSED if there is none, it was used, or it has expired at the commit
  std::string hash;
};
struct PutCertificate {  // WRONG_STATE if the serial is taken; CREDENTIAL_NOT_FOUND without the principal
  CertificateRow row;
};
struct RevokeCertificate {  // CREDENTIAL_NOT_FOUND; idempotent
  std::string serial;
};
// Adds a row to the audit: its id, its time and what it follows are the store's to fill in.
struct AppendAudit {
  AuditRow row;
};
// Lets go of audit rows before a time, the newest row excepted, of expired sessions, and of invitations that expired
// or were used before it; tokens and certificates stay.
struct ForgetIdentity {
  Microseconds before_us = 0;
};

struct PutAccount {
  AccountRow row;
};                      // upsert by name; as check_account(). A stored one keeps its creation
struct RemoveAccount {  // ACCOUNT_NOT_FOUND. What it has used stays known
  std::string name;
};
// What an account has used becomes this. Of its days those named do; those more than kQuotaDays before the last one named
// are let go, or all where none is named.
struct ChargeAccount {
  UsageRow row;
};

// Reads. Thread-safe; errors as those of Store.
class IdentityReads {
 public:
  virtual ~IdentityReads() = default;
  virtual absl::StatusOr<PrincipalRow> principal(const std::string& name) = 0;  // CREDENTIAL_NOT_FOUND, as all here
  virtual absl::StatusOr<std::vector<PrincipalRow>> principals() = 0;           // by name
  virtual absl::StatusOr<TokenRow> token(const std::string& id) = 0;
  virtual absl::StatusOr<std::vector<TokenRow>> tokens() = 0;  // by id
  virtual absl::StatusOr<SessionRow> session(const std::string& hash) = 0;
  virtual absl::StatusOr<std::vector<SessionRow>> sessions() = 0;  // by hash
  virtual absl::StatusOr<InvitationRow> invitation(const std::string& hash) = 0;
  virtual absl::StatusOr<std::vector<InvitationRow>> invitations() = 0;  // by hash
  virtual absl::StatusOr<CertificateRow> certificate(const std::string& serial) = 0;
  virtual absl::StatusOr<std::vector<CertificateRow>> certificates() = 0;                  // by serial
  virtual absl::StatusOr<std::vector<AuditRow>> audit(std::int64_t after, int limit) = 0;  // by id
  virtual absl::StatusOr<AuditChain> audit_chain() = 0;
  virtual absl::StatusOr<std::vector<AccountRow>> accounts() = 0;  // by name
  virtual absl::StatusOr<std::vector<UsageRow>> usage() = 0;       // by account
};

}  // namespace locus
