// The token of an invitation: whom to believe, and what to show them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace locus {

struct InvitationToken {
  std::string fingerprint;  // of a certificate that the server shows over HTTPS (Certificate::fingerprint)
  std::string secret;

  std::string text() const { return "locus-enroll_" + fingerprint + "_" + secret; }
};
// Nothing for a text of another form.
std::optional<InvitationToken> parse_invitation(std::string_view text);

}  // namespace locus
