// The tables of identities as maps.
#include "storage/memory/identity.h"

#include "core/identity/audit.h"
#include "storage/rules/refusals.h"

namespace locus {
namespace {

template <class Key, class Row>
std::optional<Row> found(const Table<Key, Row>& table, const Key& key) {
  const Row* row = table.find(key);
  return row ? std::optional(*row) : std::nullopt;
}

template <class Row>
absl::StatusOr<Row> known(const Table<std::string, Row>& table, const std::string& noun, const std::string& key) {
  const Row* row = table.find(key);
  if (!row) return refusal::credential_not_found(noun, key);
  return *row;
}

template <class Row>
std::vector<Row> every(const Table<std::string, Row>& table) {
  std::vector<Row> out;
  for (const auto& [key, row] : table.rows()) out.push_back(row);
  return out;
}

template <class Key, class Row, class Gone>
void erase_those(Table<Key, Row>& table, Gone gone) {
  std::vector<Key> keys;
  for (const auto& [key, row] : table.rows()) {
    if (gone(row)) keys.push_back(key);
  }
  for (const Key& key : keys) table.erase(key);
}

}  // namespace

MemoryIdentityRows::MemoryIdentityRows(Journal& journal)
    : principals(journal),
      tokens(journal),
      sessions(journal),
      invitations(journal),
      certificates(journal),
      audits(journal),
      chains(journal) {}

std::optional<PrincipalRow> MemoryIdentityRows::principal(const std::string& name) { return found(principals, name); }
void MemoryIdentityRows::put_principal(const PrincipalRow& row) { principals.put(row.name, row); }
std::optional<TokenRow> MemoryIdentityRows::token(const std::string& id) { return found(tokens, id); }
void MemoryIdentityRows::put_token(const TokenRow& row) { tokens.put(row.id, row); }
std::optional<SessionRow> MemoryIdentityRows::session(const std::string& hash) { return found(sessions, hash); }
void MemoryIdentityRows::put_session(const SessionRow& row) { sessions.put(row.hash, row); }
void MemoryIdentityRows::erase_session(const std::string& hash) { sessions.erase(hash); }

void MemoryIdentityRows::erase_sessions_of(const std::string& token_id) {
  erase_those(sessions, [&](const SessionRow& row) { return row.token_id == token_id; });
}

std::optional<InvitationRow> MemoryIdentityRows::invitation(const std::string& hash) {
  return found(invitations, hash);
}
void MemoryIdentityRows::put_invitation(const InvitationRow& row) { invitations.put(row.hash, row); }

std::optional<CertificateRow> MemoryIdentityRows::certificate(const std::string& serial) {
  return found(certificates, serial);
}
void MemoryIdentityRows::put_certificate(const CertificateRow& row) { certificates.put(row.serial, row); }

AuditChain MemoryIdentityRows::audit_chain() {
  const AuditChain* chain = chains.find(0);
  return chain ? *chain : AuditChain{.first_previous = kAuditBeginning};
}
void MemoryIdentityRows::put_audit_chain(const AuditChain& chain) { chains.put(0, chain); }
void MemoryIdentityRows::put_audit(const AuditRow& row) { audits.put(row.id, row); }

std::optional<AuditRow> MemoryIdentityRows::first_audit_since(Microseconds time_us) {
  for (const auto& [id, row] : audits.rows()) {
    if (row.time_us >= time_us) return row;
  }
  return audits.rows().empty() ? std::nullopt : std::optional(audits.rows().rbegin()->second);
}

void MemoryIdentityRows::erase_audit_before(std::int64_t id) {
  erase_those(audits, [&](const AuditRow& row) { return row.id < id; });
}

void MemoryIdentityRows::erase_sessions_before(Microseconds expires_us) {
  erase_those(sessions, [&](const SessionRow& row) { return row.expires_us < expires_us; });
}

void MemoryIdentityRows::erase_invitations_before(Microseconds time_us) {
  erase_those(invitations, [&](const InvitationRow& row) {
    return row.expires_us < time_us || (row.used_us != 0 && row.used_us < time_us);
  });
}

absl::StatusOr<PrincipalRow> MemoryIdentityReads::principal(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return known(rows_.principals, "principal", name);
}

absl::StatusOr<std::vector<PrincipalRow>> MemoryIdentityReads::principals() {
  const std::lock_guard lock(mutex_);
  return every(rows_.principals);
}

absl::StatusOr<TokenRow> MemoryIdentityReads::token(const std::string& id) {
  const std::lock_guard lock(mutex_);
  return known(rows_.tokens, "token", id);
}

absl::StatusOr<std::vector<TokenRow>> MemoryIdentityReads::tokens() {
  const std::lock_guard lock(mutex_);
  return every(rows_.tokens);
}

absl::StatusOr<SessionRow> MemoryIdentityReads::session(const std::string& hash) {
  const std::lock_guard lock(mutex_);
  return known(rows_.sessions, "session", hash);
}

absl::StatusOr<std::vector<SessionRow>> MemoryIdentityReads::sessions() {
  const std::lock_guard lock(mutex_);
  return every(rows_.sessions);
}

absl::StatusOr<InvitationRow> MemoryIdentityReads::invitation(const std::string& hash) {
  const std::lock_guard lock(mutex_);
  return known(rows_.invitations, "invitation", hash);
}

absl::StatusOr<std::vector<InvitationRow>> MemoryIdentityReads::invitations() {
  const std::lock_guard lock(mutex_);
  return every(rows_.invitations);
}

absl::StatusOr<CertificateRow> MemoryIdentityReads::certificate(const std::string& serial) {
  const std::lock_guard lock(mutex_);
  return known(rows_.certificates, "certificate", serial);
}

absl::StatusOr<std::vector<CertificateRow>> MemoryIdentityReads::certificates() {
  const std::lock_guard lock(mutex_);
  return every(rows_.certificates);
}

absl::StatusOr<std::vector<AuditRow>> MemoryIdentityReads::audit(std::int64_t after, int limit) {
  const std::lock_guard lock(mutex_);
  std::vector<AuditRow> out;
  const auto& rows = rows_.audits.rows();
  for (auto at = rows.upper_bound(after); at != rows.end() && static_cast<int>(out.size()) < limit; ++at)
    out.push_back(at->second);
  return out;
}

absl::StatusOr<AuditChain> MemoryIdentityReads::audit_chain() {
  const std::lock_guard lock(mutex_);
  return rows_.audit_chain();
}

absl::StatusOr<std::vector<AccountRow>> MemoryIdentityReads::accounts() {
  const std::lock_guard lock(mutex_);
  return every(account_rows_.accounts);
}

absl::StatusOr<std::vector<UsageRow>> MemoryIdentityReads::usage() {
  const std::lock_guard lock(mutex_);
  return every(account_rows_.usage);
}

}  // namespace locus
