// The tables of identities as the rules of writing see them.
#pragma once

#include <optional>
#include <string>

#include "core/identity/rows.h"

namespace locus {

// As Rows. What is put replaces the row of its key.
class IdentityRows {
 public:
  virtual ~IdentityRows() = default;

  virtual std::optional<PrincipalRow> principal(const std::string& name) = 0;
  virtual void put_principal(const PrincipalRow& row) = 0;
  virtual std::optional<TokenRow> token(const std::string& id) = 0;
  virtual void put_token(const TokenRow& row) = 0;
  virtual std::optional<SessionRow> session(const std::string& hash) = 0;
  virtual void put_session(const SessionRow& row) = 0;
  virtual void erase_session(const std::string& hash) = 0;
  virtual void erase_sessions_of(const std::string& token_id) = 0;
  virtual std::optional<InvitationRow> invitation(const std::string& hash) = 0;
  virtual void put_invitation(const InvitationRow& row) = 0;
  virtual std::optional<CertificateRow> certificate(const std::string& serial) = 0;
  virtual void put_certificate(const CertificateRow& row) = 0;
  virtual AuditChain audit_chain() = 0;
  virtual void put_audit_chain(const AuditChain& chain) = 0;
  virtual void put_audit(const AuditRow& row) = 0;
  // The oldest not before that time, else the newest.
  virtual std::optional<AuditRow> first_audit_since(Microseconds time_us) = 0;
  virtual void erase_audit_before(std::int64_t id) = 0;
  virtual void erase_sessions_before(Microseconds expires_us) = 0;
  virtual void erase_invitations_before(Microseconds time_us) = 0;  // expired or used before it
};

}  // namespace locus
