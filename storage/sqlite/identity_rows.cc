// The rules' view of the tables of identities, and their reads.
#include "storage/sqlite/identity_rows.h"

#include "core/identity/audit.h"
#include "storage/rules/refusals.h"
#include "storage/sqlite/account_rows.h"
#include "storage/sqlite/columns.h"

namespace locus::sqlite {
namespace {

constexpr std::int64_t kIdentitySchema = 10;  // the first that has identities

#define LOCUS_PRINCIPAL_COLUMNS "name, account, created_us"
PrincipalRow read_principal(const Statement& s) { return {s.text(0), s.text(1), s.integer(2)}; }

#define LOCUS_TOKEN_COLUMNS "id, secret_hash, principal, role, created_us, expires_us, revoked_us, used_us"
TokenRow read_token(const Statement& s) {
  return {s.text(0),    s.text(1),    s.text(2),    parse_word(s, 3, parse_role),
          s.integer(4), s.integer(5), s.integer(6), s.integer(7)};
}

#define LOCUS_SESSION_COLUMNS "hash, token_id, address, created_us, used_us, expires_us"
SessionRow read_session(const Statement& s) {
  return {s.text(0), s.text(1), s.text(2), s.integer(3), s.integer(4), s.integer(5)};
}

#define LOCUS_INVITATION_COLUMNS "hash, name, account, labels_json, role, made_by, created_us, expires_us, used_us"
InvitationRow read_invitation(const Statement& s) {
  return {s.text(0), s.text(1),    s.text(2),    s.text(3),   parse_word(s, 4, parse_role),
          s.text(5), s.integer(6), s.integer(7), s.integer(8)};
}

#define LOCUS_CERTIFICATE_COLUMNS "serial, principal, role, labels_json, issued_us, expires_us, revoked_us"
CertificateRow read_certificate(const Statement& s) {
  return {s.text(0), s.text(1), parse_word(s, 2, parse_role), s.text(3), s.integer(4), s.integer(5), s.integer(6)};
}

#define LOCUS_AUDIT_COLUMNS "id, time_us, principal, via, address, rpc, subject, outcome, detail_json, previous"
AuditRow read_audit(const Statement& s) {
  return {s.integer(0), s.integer(1), s.text(2), s.text(3), s.text(4),
          s.text(5),    s.text(6),    s.text(7), s.text(8), s.text(9)};
}

template <class Read>
auto one(Statement& s, Read read) -> std::optional<decltype(read(s))> {
  if (!s.step()) return std::nullopt;
  return read(s);
}

template <class Read>
auto rest(Statement& s, Read read) {
  std::vector<decltype(read(s))> out;
  while (s.step()) out.push_back(read(s));
  return out;
}

template <class Row>
absl::StatusOr<Row> or_refused(std::optional<Row> row, const std::string& noun, const std::string& name) {
  if (!row) return refusal::credential_not_found(noun, name);
  return *std::move(row);
}

std::vector<AuditRow> list_audit(Connection& db, std::int64_t after, int limit) {
  auto s = db.prepare("SELECT " LOCUS_AUDIT_COLUMNS " FROM audit WHERE id > ? ORDER BY id LIMIT ?");
  return rest(s.bind(after, limit), read_audit);
}

}  // namespace

std::optional<PrincipalRow> SqliteIdentityRows::principal(const std::string& name) {
  auto s = db_.prepare("SELECT " LOCUS_PRINCIPAL_COLUMNS " FROM principal WHERE name = ?");
  return one(s.bind(name), read_principal);
}

void SqliteIdentityRows::put_principal(const PrincipalRow& row) {
  db_.prepare("INSERT INTO principal (" LOCUS_PRINCIPAL_COLUMNS
              ") VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET account = excluded.account")
      .bind(row.name, row.account, row.created_us)
      .run();
}

std::optional<TokenRow> SqliteIdentityRows::token(const std::string& id) {
  auto s = db_.prepare("SELECT " LOCUS_TOKEN_COLUMNS " FROM token WHERE id = ?");
  return one(s.bind(id), read_token);
}

void SqliteIdentityRows::put_token(const TokenRow& row) {
  // No REPLACE: it would delete the row that sessions refer to.
  db_.prepare("INSERT INTO token (" LOCUS_TOKEN_COLUMNS
              ") VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
              "ON CONFLICT (id) DO UPDATE SET revoked_us = excluded.revoked_us, used_us = excluded.used_us")
      .bind(row.id, row.secret_hash, row.principal, to_string(row.role), row.created_us, row.expires_us, row.revoked_us,
            row.used_us)
      .run();
}

std::optional<SessionRow> SqliteIdentityRows::session(const std::string& hash) {
  auto s = db_.prepare("SELECT " LOCUS_SESSION_COLUMNS " FROM session WHERE hash = ?");
  return one(s.bind(hash), read_session);
}

void SqliteIdentityRows::put_session(const SessionRow& row) {
  db_.prepare("INSERT OR REPLACE INTO session (" LOCUS_SESSION_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?)")
      .bind(row.hash, row.token_id, row.address, row.created_us, row.used_us, row.expires_us)
      .run();
}

void SqliteIdentityRows::erase_session(const std::string& hash) {
  db_.prepare("DELETE FROM session WHERE hash = ?").bind(hash).run();
}

void SqliteIdentityRows::erase_sessions_of(const std::string& token_id) {
  db_.prepare("DELETE FROM session WHERE token_id = ?").bind(token_id).run();
}

std::optional<InvitationRow> SqliteIdentityRows::invitation(const std::string& hash) {
  auto s = db_.prepare("SELECT " LOCUS_INVITATION_COLUMNS " FROM invitation WHERE hash = ?");
  return one(s.bind(hash), read_invitation);
}

void SqliteIdentityRows::put_invitation(const InvitationRow& row) {
  db_.prepare("INSERT OR REPLACE INTO invitation (" LOCUS_INVITATION_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .bind(row.hash, row.name, row.account, row.labels_json, to_string(row.role), row.made_by, row.created_us,
            row.expires_us, row.used_us)
      .run();
}

std::optional<CertificateRow> SqliteIdentityRows::certificate(const std::string& serial) {
  auto s = db_.prepare("SELECT " LOCUS_CERTIFICATE_COLUMNS " FROM certificate WHERE serial = ?");
  return one(s.bind(serial), read_certificate);
}

void SqliteIdentityRows::put_certificate(const CertificateRow& row) {
  db_.prepare("INSERT OR REPLACE INTO certificate (" LOCUS_CERTIFICATE_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?)")
      .bind(row.serial, row.principal, to_string(row.role), row.labels_json, row.issued_us, row.expires_us,
            row.revoked_us)
      .run();
}

AuditChain SqliteIdentityRows::audit_chain() {
  auto s = db_.prepare("SELECT first, first_previous, last, last_digest FROM audit_chain");
  if (!s.step()) throw SqliteError(SQLITE_CORRUPT, "the ends of the audit's chain are gone");
  return {s.integer(0), s.text(1), s.integer(2), s.text(3)};
}

void SqliteIdentityRows::put_audit_chain(const AuditChain& chain) {
  db_.prepare("UPDATE audit_chain SET first = ?, first_previous = ?, last = ?, last_digest = ?")
      .bind(chain.first, chain.first_previous, chain.last, chain.last_digest)
      .run();
}

void SqliteIdentityRows::put_audit(const AuditRow& row) {
  db_.prepare("INSERT INTO audit (" LOCUS_AUDIT_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .bind(row.id, row.time_us, row.principal, row.via, row.address, row.rpc, row.subject, row.outcome,
            row.detail_json, row.previous)
      .run();
}

std::optional<AuditRow> SqliteIdentityRows::first_audit_since(Microseconds time_us) {
  auto since = db_.prepare("SELECT " LOCUS_AUDIT_COLUMNS " FROM audit WHERE time_us >= ? ORDER BY id LIMIT 1");
  if (auto row = one(since.bind(time_us), read_audit)) return row;
  auto newest = db_.prepare("SELECT " LOCUS_AUDIT_COLUMNS " FROM audit ORDER BY id DESC LIMIT 1");
  return one(newest, read_audit);
}

void SqliteIdentityRows::erase_audit_before(std::int64_t id) {
  db_.prepare("DELETE FROM audit WHERE id < ?").bind(id).run();
}

void SqliteIdentityRows::erase_sessions_before(Microseconds expires_us) {
  db_.prepare("DELETE FROM session WHERE expires_us < ?").bind(expires_us).run();
}

void SqliteIdentityRows::erase_invitations_before(Microseconds time_us) {
  db_.prepare("DELETE FROM invitation WHERE expires_us < ?1 OR (used_us <> 0 AND used_us < ?1)").bind(time_us).run();
}

absl::StatusOr<PrincipalRow> SqliteIdentityReads::principal(const std::string& name) {
  return readers_.run(
      [&](Connection& db) { return or_refused(SqliteIdentityRows(db).principal(name), "principal", name); });
}

absl::StatusOr<std::vector<PrincipalRow>> SqliteIdentityReads::principals() {
  return readers_.run([](Connection& db) -> absl::StatusOr<std::vector<PrincipalRow>> {
    auto s = db.prepare("SELECT " LOCUS_PRINCIPAL_COLUMNS " FROM principal ORDER BY name");
    return rest(s, read_principal);
  });
}

absl::StatusOr<TokenRow> SqliteIdentityReads::token(const std::string& id) {
  return readers_.run([&](Connection& db) { return or_refused(SqliteIdentityRows(db).token(id), "token", id); });
}

absl::StatusOr<std::vector<TokenRow>> SqliteIdentityReads::tokens() {
  return readers_.run([](Connection& db) -> absl::StatusOr<std::vector<TokenRow>> {
    auto s = db.prepare("SELECT " LOCUS_TOKEN_COLUMNS " FROM token ORDER BY id");
    return rest(s, read_token);
  });
}

absl::StatusOr<SessionRow> SqliteIdentityReads::session(const std::string& hash) {
  return readers_.run(
      [&](Connection& db) { return or_refused(SqliteIdentityRows(db).session(hash), "session", hash); });
}

absl::StatusOr<std::vector<SessionRow>> SqliteIdentityReads::sessions() {
  return readers_.run([](Connection& db) -> absl::StatusOr<std::vector<SessionRow>> {
    auto s = db.prepare("SELECT " LOCUS_SESSION_COLUMNS " FROM session ORDER BY hash");
    return rest(s, read_session);
  });
}

absl::StatusOr<InvitationRow> SqliteIdentityReads::invitation(const std::string& hash) {
  return readers_.run(
      [&](Connection& db) { return or_refused(SqliteIdentityRows(db).invitation(hash), "invitation", hash); });
}

absl::StatusOr<std::vector<InvitationRow>> SqliteIdentityReads::invitations() {
  return readers_.run([](Connection& db) -> absl::StatusOr<std::vector<InvitationRow>> {
    auto s = db.prepare("SELECT " LOCUS_INVITATION_COLUMNS " FROM invitation ORDER BY hash");
    return rest(s, read_invitation);
  });
}

absl::StatusOr<CertificateRow> SqliteIdentityReads::certificate(const std::string& serial) {
  return readers_.run(
      [&](Connection& db) { return or_refused(SqliteIdentityRows(db).certificate(serial), "certificate", serial); });
}

absl::StatusOr<std::vector<CertificateRow>> SqliteIdentityReads::certificates() {
  return readers_.run([](Connection& db) -> absl::StatusOr<std::vector<CertificateRow>> {
    auto s = db.prepare("SELECT " LOCUS_CERTIFICATE_COLUMNS " FROM certificate ORDER BY serial");
    return rest(s, read_certificate);
  });
}

absl::StatusOr<std::vector<AuditRow>> SqliteIdentityReads::audit(std::int64_t after, int limit) {
  return readers_.run(
      [&](Connection& db) -> absl::StatusOr<std::vector<AuditRow>> { return list_audit(db, after, limit); });
}

absl::StatusOr<AuditChain> SqliteIdentityReads::audit_chain() {
  return readers_.run(
      [](Connection& db) -> absl::StatusOr<AuditChain> { return SqliteIdentityRows(db).audit_chain(); });
}

absl::StatusOr<std::vector<AccountRow>> SqliteIdentityReads::accounts() {
  return readers_.run([](Connection& db) -> absl::StatusOr<std::vector<AccountRow>> { return list_accounts(db); });
}

absl::StatusOr<std::vector<UsageRow>> SqliteIdentityReads::usage() {
  return readers_.run([](Connection& db) -> absl::StatusOr<std::vector<UsageRow>> { return list_usage(db); });
}

std::vector<std::string> list_audit_problems(Connection& db) {
  if (db.number("PRAGMA user_version") < kIdentitySchema) return {};
  AuditVerifier verifier(SqliteIdentityRows(db).audit_chain());
  auto s = db.prepare("SELECT " LOCUS_AUDIT_COLUMNS " FROM audit ORDER BY id");
  while (s.step()) verifier.add(read_audit(s));
  std::vector<std::string> out = verifier.finish();
  for (std::string& problem : out) problem = "the audit is broken: " + problem;
  return out;
}

}  // namespace locus::sqlite
