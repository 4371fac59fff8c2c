// The tables of identities as maps.
#pragma once

#include <mutex>

#include "core/ports/identity.h"
#include "storage/memory/accounts.h"
#include "storage/memory/table.h"
#include "storage/rules/identity_rows.h"

namespace locus {

// Thread-compatible.
class MemoryIdentityRows final : public IdentityRows {
 public:
  explicit MemoryIdentityRows(Journal& journal);

  std::optional<PrincipalRow> principal(const std::string& name) override;
  void put_principal(const PrincipalRow& row) override;
  std::optional<TokenRow> token(const std::string& id) override;
  void put_token(const TokenRow& row) override;
  std::optional<SessionRow> session(const std::string& hash) override;
  void put_session(const SessionRow& row) override;
  void erase_session(const std::string& hash) override;
  void erase_sessions_of(const std::string& token_id) override;
  std::optional<InvitationRow> invitation(const std::string& hash) override;
  void put_invitation(const InvitationRow& row) override;
  std::optional<CertificateRow> certificate(const std::string& serial) override;
  void put_certificate(const CertificateRow& row) override;
  AuditChain audit_chain() override;
  void put_audit_chain(const AuditChain& chain) override;
  void put_audit(const AuditRow& row) override;
  std::optional<AuditRow> first_audit_since(Microseconds time_us) override;
  void erase_audit_before(std::int64_t id) override;
  void erase_sessions_before(Microseconds expires_us) override;
  void erase_invitations_before(Microseconds time_us) override;

  Table<std::string, PrincipalRow> principals;
  Table<std::string, TokenRow> tokens;
  Table<std::string, SessionRow> sessions;
  Table<std::string, InvitationRow> invitations;
  Table<std::string, CertificateRow> certificates;
  Table<std::int64_t, AuditRow> audits;
  Table<int, AuditChain> chains;  // one, once there is a row
};

// The reads, under the lock of their store. All must outlive it.
class MemoryIdentityReads final : public IdentityReads {
 public:
  MemoryIdentityReads(std::mutex& mutex, MemoryIdentityRows& rows, MemoryAccountRows& account_rows)
      : mutex_(mutex), rows_(rows), account_rows_(account_rows) {}

  absl::StatusOr<PrincipalRow> principal(const std::string& name) override;
  absl::StatusOr<std::vector<PrincipalRow>> principals() override;
  absl::StatusOr<TokenRow> token(const std::string& id) override;
  absl::StatusOr<std::vector<TokenRow>> tokens() override;
  absl::StatusOr<SessionRow> session(const std::string& hash) override;
  absl::StatusOr<std::vector<SessionRow>> sessions() override;
  absl::StatusOr<InvitationRow> invitation(const std::string& hash) override;
  absl::StatusOr<std::vector<InvitationRow>> invitations() override;
  absl::StatusOr<CertificateRow> certificate(const std::string& serial) override;
  absl::StatusOr<std::vector<CertificateRow>> certificates() override;
  absl::StatusOr<std::vector<AuditRow>> audit(std::int64_t after, int limit) override;
  absl::StatusOr<AuditChain> audit_chain() override;
  absl::StatusOr<std::vector<AccountRow>> accounts() override;
  absl::StatusOr<std::vector<UsageRow>> usage() override;

 private:
  std::mutex& mutex_;
  MemoryIdentityRows& rows_;
  MemoryAccountRows& account_rows_;
};

}  // namespace locus
