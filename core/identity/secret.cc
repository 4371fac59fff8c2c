// Secrets that callers show: tokens, sessions, invitations.
#include "core/identity/secret.h"

#include <algorithm>
#include <cstdint>
#include <random>

#include "core/base/sha256.h"

namespace locus {
namespace {

constexpr std::string_view kSecretAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::string_view kIdAlphabet = "abcdefghijklmnopqrstuvwxyz234567";  // 32 of them: five bits each
constexpr std::string_view kTokenPrefix = "locus_";
constexpr std::size_t kIdLength = 8, kSecretLength = 43;
constexpr std::size_t kTokenLength = kTokenPrefix.size() + kIdLength + 1 + kSecretLength;

bool only_of(std::string_view text, std::string_view alphabet) {
  return text.find_first_not_of(alphabet) == std::string_view::npos;
}

}  // namespace

std::string new_secret() {
  std::random_device entropy;
  std::string out;
  for (std::size_t i = 0; i + 1 < kSecretLength; ++i) out += kSecretAlphabet[entropy() & 63u];
  out += kSecretAlphabet[(entropy() & 15u) << 2];  // 42 * 6 + 4 = 256 bits: the last two of 43 * 6 are zero
  return out;
}

bool well_formed_secret(std::string_view text) {
  return text.size() == kSecretLength && only_of(text, kSecretAlphabet);
}

std::string hash_of_secret(std::string_view secret) { return sha256_hex(secret); }

bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  volatile unsigned char difference = 0;  // volatile: the loop must not learn to end early
  for (std::size_t i = 0; i < a.size(); ++i)
    difference =
        static_cast<unsigned char>(difference | (static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i])));
  return difference == 0;
}

TokenText new_token() {
  std::random_device entropy;
  TokenText out;
  for (std::size_t i = 0; i < kIdLength; ++i) out.id += kIdAlphabet[entropy() & 31u];
  out.secret = new_secret();
  return out;
}

std::optional<TokenText> parse_token(std::string_view text) {
  if (text.size() != kTokenLength || !text.starts_with(kTokenPrefix)) return std::nullopt;
  const std::string_view id = text.substr(kTokenPrefix.size(), kIdLength);
  const std::string_view secret = text.substr(kTokenLength - kSecretLength);
  if (!only_of(id, kIdAlphabet) || text[kTokenPrefix.size() + kIdLength] != '_' || !well_formed_secret(secret))
    return std::nullopt;
  return TokenText{std::string(id), std::string(secret)};
}

std::string without_tokens(std::string text) {
  for (std::size_t at = text.find(kTokenPrefix); at != std::string::npos; at = text.find(kTokenPrefix, at + 1)) {
    const std::size_t keep = at + kTokenPrefix.size() + kIdLength + 1;
    const std::size_t end = std::min(text.find_first_not_of(kSecretAlphabet, at), text.size());
    if (end > keep) text.replace(keep, end - keep, "...");
  }
  return text;
}

}  // namespace locus
