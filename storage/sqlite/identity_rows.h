// The rules' view of the tables of identities, and their reads.
#pragma once

#include "core/ports/identity.h"
#include "storage/rules/identity_rows.h"
#include "storage/sqlite/connection.h"
#include "storage/sqlite/readers.h"

namespace locus::sqlite {

// Thread-compatible. Throws SqliteError.
class SqliteIdentityRows final : public IdentityRows {
 public:
  explicit SqliteIdentityRows(Connection& connection) : db_(connection) {}

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

 private:
  Connection& db_;
};

// Thread-safe. `readers` must outlive it.
class SqliteIdentityReads final : public IdentityReads {
 public:
  explicit SqliteIdentityReads(Readers& readers) : readers_(readers) {}

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
  Readers& readers_;
};

// Breaks in the chain of the audit; nothing of a file of an earlier schema.
std::vector<std::string> list_audit_problems(Connection& db);

}  // namespace locus::sqlite
