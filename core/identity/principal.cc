// Who calls.
#include "core/identity/principal.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/ids.h"
#include "core/base/utf8.h"
#include "core/limits.h"

namespace locus {
namespace {

constexpr std::string_view kTrustDomain = "spiffe://locus/";

absl::Status not_ours(std::string_view uri) {
  return make_error(absl::StatusCode::kUnauthenticated, ErrorReason::kNotAuthenticated,
                    "the certificate names '" + std::string(uri.substr(0, 200)) +
                        "', not one spiffe://locus/<role>/<name>: enroll this machine again");
}

}  // namespace

const char* to_string(Via via) {
  switch (via) {
    case Via::kLoopback:
      return "loopback";
    case Via::kCertificate:
      return "certificate";
    case Via::kToken:
      return "token";
    case Via::kSession:
      return "session";
    case Via::kNobody:
      return "nobody";
  }
  return "";
}

Principal local_principal(std::string address) {
  return {.name = kLocalName, .account = {}, .role = Role::kAdmin, .address = std::move(address)};
}

Principal nobody(std::string address) {
  return {.name = {}, .account = {}, .via = Via::kNobody, .address = std::move(address)};
}

bool may_change_of(const Principal& principal, const std::string& account) {
  if (unasked(principal) || includes(principal.role, Role::kOperator)) return true;
  return includes(principal.role, Role::kSubmitter) && principal.account == account;
}

absl::StatusOr<SpiffeName> parse_spiffe(std::string_view uri) {
  if (!uri.starts_with(kTrustDomain)) return not_ours(uri);
  const std::string_view path = uri.substr(kTrustDomain.size());
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos) return not_ours(uri);
  const auto role = parse_role(path.substr(0, slash));
  const std::string_view name = path.substr(slash + 1);
  if (!role || !valid_name(name)) return not_ours(uri);
  return SpiffeName{*role, std::string(name)};
}

std::string spiffe_uri(Role role, std::string_view name) {
  return std::string(kTrustDomain) + to_string(role) + "/" + std::string(name);
}

bool valid_account(std::string_view text) {
  if (text.empty() || text.size() > static_cast<std::size_t>(kNameLength) || first_not_utf8(text)) return false;
  if (text.front() == ' ' || text.back() == ' ') return false;
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

}  // namespace locus
