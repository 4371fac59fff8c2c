// What is stored of identities: rows as the store keeps them.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/clock.h"
#include "core/identity/role.h"

namespace locus {

struct PrincipalRow {
  std::string name = {}, account = {};
  Microseconds created_us = 0;

  bool operator==(const PrincipalRow&) const = default;
};
struct TokenRow {
  std::string id = {}, secret_hash = {}, principal = {};
  Role role = Role::kViewer;
  Microseconds created_us = 0, expires_us = 0;
  Microseconds revoked_us = 0;  // 0: it is not
  Microseconds used_us = 0;     // last, cut to the hour; 0: never

  bool operator==(const TokenRow&) const = default;
};
// A browser that showed a token. Good until it expires, or its token does or is revoked.
struct SessionRow {
  std::string hash = {}, token_id = {}, address = {};
  Microseconds created_us = 0, used_us = 0, expires_us = 0;

  bool operator==(const SessionRow&) const = default;
};
// The right to one certificate. Its secret is shown once.
struct InvitationRow {
  std::string hash = {}, name = {}, account = {}, labels_json = "{}";
  Role role = Role::kWorker;
  std::string made_by = {};  // principal
  Microseconds created_us = 0, expires_us = 0;
  Microseconds used_us = 0;  // 0: it is not

  bool operator==(const InvitationRow&) const = default;
};
struct CertificateRow {
  std::string serial = {}, principal = {};  // serial: lower-case hex without leading zeros
  Role role = Role::kWorker;
  std::string labels_json = "{}";
  Microseconds issued_us = 0, expires_us = 0;
  Microseconds revoked_us = 0;  // 0: it is not

  bool operator==(const CertificateRow&) const = default;
};
// Who did, or was refused, what. Rows form a chain: each holds the digest of the one before it.
struct AuditRow {
  std::int64_t id = 0;  // from 1, without gap
  Microseconds time_us = 0;
  std::string principal = {}, via = {}, address = {};
  std::string rpc = {};      // "ExperimentService/CancelExperiment", or an occurrence: "login"
  std::string subject = {};  // what it was about: "experiments/priors"
  std::string outcome = {};  // "ok", or the reason of the refusal
  std::string detail_json = "{}";
  std::string previous = {};  // audit_digest of the row before it; of the first: 64 zeros

  bool operator==(const AuditRow&) const = default;
};
// Where the chain begins and ends: old rows are let go, and a last one that is missing must show.
struct AuditChain {
  std::int64_t first = 1;           // id of the oldest row kept
  std::string first_previous = {};  // its `previous`
  std::int64_t last = 0;            // id of the newest row; 0: there never was one
  std::string last_digest = {};

  bool operator==(const AuditChain&) const = default;
};

}  // namespace locus
