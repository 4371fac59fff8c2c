// Secrets that callers show: tokens, sessions, invitations. Only their hashes are stored.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace locus {

// 43 characters of base64url (RFC 4648, without padding) for 32 bytes of the system's entropy. Thread-safe.
std::string new_secret();
bool well_formed_secret(std::string_view text);
// What is stored of a secret: its SHA-256 in hex. 256 random bits need no salt and no slow hash.
std::string hash_of_secret(std::string_view secret);
// Compares in time that depends on the length of `a` and `b` alone.
bool same_secret(std::string_view a, std::string_view b);

// `locus_<id>_<secret>`: the id, 8 lower-case letters and digits, is no secret and names the token's row.
struct TokenText {
  std::string id, secret;

  std::string text() const { return "locus_" + id + "_" + secret; }
};
TokenText new_token();
std::optional<TokenText> parse_token(std::string_view text);
// `text` with every token in it cut to "locus_<id>_...", for logs and messages that repeat what others sent.
std::string without_tokens(std::string text);

}  // namespace locus
