// Who calls.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/identity/role.h"

namespace locus {

// How a caller showed who it is.
enum class Via { kLoopback, kCertificate, kToken, kSession, kNobody };
const char* to_string(Via via);  // "loopback"

inline constexpr char kLocalName[] = "local";

// A caller and the role it has in this call. Account and owner of experiments are the same word.
struct Principal {
  std::string name, account;
  Role role = Role::kViewer;
  Via via = Via::kLoopback;
  std::string credential = {};  // serial of the certificate, id of the token; empty on loopback
  std::string address = {};     // it calls from, without port
  Microseconds expires_us = 0;  // when what it showed runs out, by the wall clock; 0: not, or nothing was shown

  bool operator==(const Principal&) const = default;
};

// Everyone, where the server asks nobody who they are: an admin by the name of "local", of no account.
Principal local_principal(std::string address = {});
// Who showed nothing, where the server asks: without a name, and permitted only what anybody is.
Principal nobody(std::string address = {});
// Whether nobody was asked: then owners are free text, and everyone owns everything.
inline bool unasked(const Principal& principal) { return principal.via == Via::kLoopback; }
// Whether what belongs to `account` is the principal's own to change: it is of that account, or at least an operator.
bool may_change_of(const Principal& principal, const std::string& account);

// What a certificate says of its holder.
struct SpiffeName {
  Role role = Role::kViewer;
  std::string name;

  bool operator==(const SpiffeName&) const = default;
};
// "spiffe://locus/<role>/<name>". NOT_AUTHENTICATED for any other text: another trust domain, an unknown role, a name
// outside the form of names, more or fewer parts.
absl::StatusOr<SpiffeName> parse_spiffe(std::string_view uri);
std::string spiffe_uri(Role role, std::string_view name);

// An account as it may be written: 1 to kNameLength bytes of UTF-8 without control characters or space at an end.
bool valid_account(std::string_view text);

}  // namespace locus
