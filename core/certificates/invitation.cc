// The token of an invitation.
#include "core/certificates/invitation.h"

namespace locus {

std::optional<InvitationToken> parse_invitation(std::string_view text) {
  constexpr std::string_view kStart = "locus-enroll_";
  constexpr std::size_t kFingerprint = 64;
  if (!text.starts_with(kStart)) return std::nullopt;
  text.remove_prefix(kStart.size());
  if (text.size() < kFingerprint + 2 || text[kFingerprint] != '_') return std::nullopt;
  const std::string_view fingerprint = text.substr(0, kFingerprint), secret = text.substr(kFingerprint + 1);
  if (fingerprint.find_first_not_of("0123456789abcdef") != std::string_view::npos) return std::nullopt;
  return InvitationToken{std::string(fingerprint), std::string(secret)};
}

}  // namespace locus
