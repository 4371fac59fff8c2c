// What callers show, as principals.
#include "server/authority/credentials.h"

#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "core/identity/secret.h"
#include "core/limits.h"
#include "core/log/log.h"
#include "server/authority/caller.h"

namespace locus::server {
namespace {

constexpr Microseconds kSecond = 1'000'000, kHour = 3600 * kSecond;
constexpr Microseconds kSessionNoted = 60 * kSecond;  // a session's use is written this often

absl::Status not_known(const std::string& message) {
  return make_error(absl::StatusCode::kUnauthenticated, ErrorReason::kNotAuthenticated, message);
}

absl::Status wrong_token() {
  return not_known("the token is not known here, or is not in force any more: ask an administrator for one");
}

absl::Status no_session() { return not_known("you are not signed in, or no longer: sign in with a token"); }

}  // namespace

absl::Status too_often(const std::string& what, Microseconds wait) {
  const std::string seconds = std::to_string(std::max<Microseconds>(1, (wait + kSecond - 1) / kSecond));
  return make_error(absl::StatusCode::kResourceExhausted, ErrorReason::kRateLimited,
                    what + ": try again in " + seconds + " s", "", {{"retry_seconds", seconds}});
}

absl::Status Credentials::append(const Mutation& mutation) { return store_.apply({&mutation, 1}, clock_.wall()); }

absl::StatusOr<Principal> Credentials::principal_of(const TokenRow& token, Via via, const std::string& address) {
  LOCUS_ASSIGN_OR_RETURN(const PrincipalRow row, store_.identity().principal(token.principal));
  return Principal{row.name, row.account, token.role, via, token.id, address, token.expires_us};
}

absl::Status Credentials::failed(const std::string& id, const std::string& address) {
  const Microseconds now = clock_.steady();
  Microseconds wait = 0;
  {
    absl::MutexLock lock(&mutex_);
    if (!id.empty()) lockouts_.fail(id, now);
    wait = failures_.take(address, now);
  }
  if (wait > 0) return too_often("too many wrong tokens came from " + address, wait);
  Principal who = nobody(address);
  who.credential = id;
  const absl::Status refused = wrong_token();
  const absl::Status kept = append(AppendAudit{audit_row(who, "token", "", refused)});
  if (!kept.ok()) log_warning("the audit of a wrong token: {}", std::string(kept.message()));
  return refused;
}

absl::StatusOr<Principal> Credentials::check_token(const std::string& text, const std::string& address) {
  const auto token = parse_token(text);
  if (!token) return failed("", address);
  {
    absl::MutexLock lock(&mutex_);
    if (const Microseconds left = lockouts_.locked_for(token->id, clock_.steady()); left > 0)
      return too_often("token " + token->id + " is locked, because wrong secrets were given for it", left);
  }
  const auto row = store_.identity().token(token->id);
  if (!row.ok() && !absl::IsNotFound(row.status())) return row.status();
  // An unknown token is compared, too: it must not be answered faster.
  const std::string stored = row.ok() ? row->secret_hash : std::string(64, '0');
  const bool same = same_secret(stored, hash_of_secret(token->secret));
  if (!row.ok() || !same) return failed(row.ok() ? token->id : "", address);
  {
    absl::MutexLock lock(&mutex_);
    lockouts_.succeed(token->id);
  }
  const Microseconds now = clock_.wall();
  if (row->revoked_us != 0 || row->expires_us <= now) return wrong_token();
  if (row->used_us + kHour <= now) {  // who is let in does not depend on whether this can be noted
    if (const absl::Status noted = append(UseToken{row->id}); !noted.ok())
      log_warning("the use of token {}: {}", row->id, std::string(noted.message()));
  }
  return principal_of(*row, Via::kToken, address);
}

absl::StatusOr<Principal> Credentials::by_token(const std::string& token, const std::string& address) {
  return check_token(token, address);
}

absl::StatusOr<Principal> Credentials::by_session(const std::string& secret, const std::string& address) {
  if (!well_formed_secret(secret)) return no_session();
  const auto session = store_.identity().session(hash_of_secret(secret));
  if (absl::IsNotFound(session.status())) return no_session();
  LOCUS_RETURN_IF_ERROR(session.status());
  LOCUS_ASSIGN_OR_RETURN(const TokenRow token, store_.identity().token(session->token_id));
  const Microseconds now = clock_.wall();
  if (session->expires_us <= now || token.revoked_us != 0 || token.expires_us <= now) return no_session();
  if (session->address != address) {  // the cookie has moved: whoever has it now shows the token again
    const std::vector<Mutation> ending = {
        EndSession{session->hash},
        AppendAudit{audit_row(nobody(address), "session", "tokens/" + token.id, no_session())}};
    LOCUS_RETURN_IF_ERROR(store_.apply(ending, now));
    return no_session();
  }
  if (session->used_us + kSessionNoted <= now) {
    SessionRow row = *session;
    row.used_us = now;
    row.expires_us = std::min({now + kSessionIdle.count(), row.created_us + kSessionMost.count(), token.expires_us});
    if (const absl::Status noted = append(PutSession{row}); !noted.ok())
      log_warning("a session's use: {}", std::string(noted.message()));
  }
  return principal_of(token, Via::kSession, address);
}

absl::StatusOr<Principal> Credentials::by_certificate(const SpiffeName& name, const std::string& serial,
                                                      const std::string& address) {
  const auto row = store_.identity().certificate(serial);
  if (foreign_ && absl::IsNotFound(row.status())) {
    const auto known = store_.identity().principal(name.name);
    const std::string account = known.ok() ? known->account : name.name;
    return Principal{name.name, account, name.role, Via::kCertificate, serial, address, 0};
  }
  if (absl::IsNotFound(row.status()))
    return not_known("the certificate " + serial + " was not issued by this server: enroll again");
  LOCUS_RETURN_IF_ERROR(row.status());
  if (row->revoked_us != 0) return not_known("the certificate " + serial + " was revoked: enroll again");
  if (row->expires_us <= clock_.wall()) return not_known("the certificate " + serial + " has expired: enroll again");
  if (row->principal != name.name || row->role != name.role)
    return not_known("the certificate " + serial + " was issued to another: enroll again");
  LOCUS_ASSIGN_OR_RETURN(const PrincipalRow principal, store_.identity().principal(name.name));
  return Principal{principal.name, principal.account, row->role, Via::kCertificate, serial, address, row->expires_us};
}

absl::StatusOr<std::string> Credentials::log_in(const std::string& token, const std::string& address) {
  LOCUS_ASSIGN_OR_RETURN(Principal who, check_token(token, address));
  LOCUS_ASSIGN_OR_RETURN(const TokenRow row, store_.identity().token(who.credential));
  const std::string secret = new_secret();
  const Microseconds now = clock_.wall();
  const SessionRow session{.hash = hash_of_secret(secret),
                           .token_id = who.credential,
                           .address = address,
                           .used_us = now,
                           .expires_us = std::min(now + kSessionIdle.count(), row.expires_us)};
  const std::vector<Mutation> begun = {PutSession{session},
                                       AppendAudit{audit_row(who, "login", "tokens/" + row.id, absl::OkStatus())}};
  LOCUS_RETURN_IF_ERROR(store_.apply(begun, now));
  return secret;
}

absl::Status Credentials::log_out(const std::string& secret, const std::string& address) {
  const auto who = by_session(secret, address);
  if (!who.ok()) return absl::OkStatus();
  const std::vector<Mutation> ended = {
      EndSession{hash_of_secret(secret)},
      AppendAudit{audit_row(*who, "logout", "tokens/" + who->credential, absl::OkStatus())}};
  return store_.apply(ended, clock_.wall());
}

}  // namespace locus::server
