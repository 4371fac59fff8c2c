// Addresses, keys and signatures of an object store.
#include "storage/s3/place.h"

#include <array>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <optional>

#include "core/base/error.h"
#include "core/base/sha256.h"

namespace locus {
namespace {

constexpr std::string_view kFolder = "sha256/";

absl::Status wrong_place(const std::string& message, const std::string& field) {
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument, message, field);
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string stripped(const std::string& text) {
  const auto from = text.find_first_not_of(" \t\r"), to = text.find_last_not_of(" \t\r");
  return from == std::string::npos ? "" : text.substr(from, to - from + 1);
}

// The section of an INI file, as Amazon's tools write it.
std::optional<S3Keys> read_profile(const std::filesystem::path& file, const std::string& profile) {
  std::ifstream in(file);
  S3Keys keys;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    line = stripped(line);
    if (line.starts_with('[')) inside = line == "[" + profile + "]";
    const auto equals = line.find('=');
    if (!inside || equals == std::string::npos) continue;
    const std::string name = stripped(line.substr(0, equals)), value = stripped(line.substr(equals + 1));
    if (name == "aws_access_key_id") keys.access = value;
    if (name == "aws_secret_access_key") keys.secret = value;
    if (name == "aws_session_token") keys.session = value;
  }
  if (keys.access.empty() || keys.secret.empty()) return std::nullopt;
  return keys;
}

// RFC 2104 over SHA-256; as bytes.
std::string hmac_sha256(std::string key, std::string_view text) {
  constexpr std::size_t kBlock = 64;
  const auto digest_of = [](const std::string& bytes) {
    Sha256 hash;
    hash.update(bytes);
    const auto digest = hash.digest();
    return std::string(digest.begin(), digest.end());
  };
  if (key.size() > kBlock) key = digest_of(key);
  key.resize(kBlock, '\0');
  std::string inner = key, outer = key;
  for (char& c : inner) c = static_cast<char>(c ^ 0x36);
  for (char& c : outer) c = static_cast<char>(c ^ 0x5c);
  return digest_of(outer + digest_of(inner + std::string(text)));
}

std::string hexadecimal(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

std::string utc(std::int64_t now_us, const char* format) {
  const std::time_t seconds = now_us / 1'000'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> out{};
  std::strftime(out.data(), out.size(), format, &parts);
  return out.data();
}

}  // namespace

absl::StatusOr<S3Place> parse_s3_place(std::string_view address, std::string endpoint, std::string region) {
  constexpr std::string_view kScheme = "s3://";
  const std::string asked(address);
  if (!address.starts_with(kScheme))
    return wrong_place("\"" + asked + "\" is no address of an object store: write s3://BUCKET/PREFIX", "artifacts");
  address.remove_prefix(kScheme.size());
  S3Place place;
  place.bucket = address.substr(0, address.find('/'));
  if (address.size() > place.bucket.size()) place.prefix = address.substr(place.bucket.size() + 1);
  while (place.prefix.ends_with('/')) place.prefix.pop_back();
  const bool plain = place.bucket.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-") == std::string::npos;
  if (place.bucket.size() < 3 || place.bucket.size() > 63 || !plain)
    return wrong_place("\"" + place.bucket + "\" of " + asked +
                           " is no bucket: those have 3 to 63 small letters, digits, dots and hyphens",
                       "artifacts");
  if (place.prefix.starts_with('/') || place.prefix.find("//") != std::string::npos)
    return wrong_place("the prefix \"" + place.prefix + "\" of " + asked + " has an empty part", "artifacts");
  place.region = region.empty() ? "us-east-1" : std::move(region);
  if (endpoint.empty()) endpoint = "https://s3." + place.region + ".amazonaws.com";
  while (endpoint.ends_with('/')) endpoint.pop_back();
  const std::size_t scheme = endpoint.starts_with("https://") ? 8 : endpoint.starts_with("http://") ? 7 : 0;
  if (scheme == 0 || endpoint.size() == scheme || endpoint.find_first_of("/?#@", scheme) != std::string::npos)
    return wrong_place("\"" + endpoint + "\" is no endpoint: write https://HOST or https://HOST:PORT", "s3_endpoint");
  place.endpoint = std::move(endpoint);
  return place;
}

absl::StatusOr<S3Keys> find_s3_keys(const std::filesystem::path& file) {
  S3Keys keys{environment("AWS_ACCESS_KEY_ID"), environment("AWS_SECRET_ACCESS_KEY"), environment("AWS_SESSION_TOKEN")};
  if (file.empty() && !keys.access.empty() && !keys.secret.empty()) return keys;
  std::filesystem::path path = file;
  if (path.empty()) path = environment("AWS_SHARED_CREDENTIALS_FILE");
  if (path.empty()) path = std::filesystem::path(environment("HOME")) / ".aws" / "credentials";
  std::string profile = environment("AWS_PROFILE");
  if (profile.empty()) profile = "default";
  if (auto found = read_profile(path, profile)) return *std::move(found);
  return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kInvalidArgument,
                    "no keys for the object store: " + path.string() + " has no profile [" + profile +
                        "] with aws_access_key_id and aws_secret_access_key; set AWS_ACCESS_KEY_ID and "
                        "AWS_SECRET_ACCESS_KEY or write that profile",
                    "s3_credentials", {{"file", path.string()}, {"profile", profile}});
}

std::string s3_key(const S3Place& place, std::string_view sha256) {
  const std::string folder = place.prefix.empty() ? "" : place.prefix + "/";
  return folder + std::string(kFolder) + std::string(sha256.substr(0, 2)) + "/" + std::string(sha256);
}

std::string_view s3_digest(const S3Place& place, std::string_view key) {
  constexpr std::size_t kDigest = 64;
  if (key.size() < kDigest) return {};
  const std::string_view digest = key.substr(key.size() - kDigest);
  return key == s3_key(place, digest) ? digest : std::string_view();
}

std::string percent_encoded(std::string_view text, bool path) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || std::string_view("-._~").find(c) != std::string_view::npos || (path && c == '/')) {
      out += c;
    } else {
      out += '%';
      out += kDigits[static_cast<unsigned char>(c) >> 4];
      out += kDigits[static_cast<unsigned char>(c) & 15];
    }
  }
  return out;
}

std::string s3_url(const S3Place& place, std::string_view key) {
  return place.endpoint + "/" + place.bucket + (key.empty() ? "" : "/" + percent_encoded(key, true));
}

std::string s3_presigned_url(const S3Place& place, const S3Keys& keys, std::string_view key,
                             std::chrono::seconds lifetime, std::int64_t now_us) {
  const std::string day = utc(now_us, "%Y%m%d"), moment = utc(now_us, "%Y%m%dT%H%M%SZ");
  const std::string scope = day + "/" + place.region + "/s3/aws4_request";
  std::map<std::string, std::string> query = {{"X-Amz-Algorithm", "AWS4-HMAC-SHA256"},
                                              {"X-Amz-Credential", keys.access + "/" + scope},
                                              {"X-Amz-Date", moment},
                                              {"X-Amz-Expires", std::to_string(lifetime.count())},
                                              {"X-Amz-SignedHeaders", "host"}};
  if (!keys.session.empty()) query["X-Amz-Security-Token"] = keys.session;
  std::string parameters;
  for (const auto& [name, value] : query)
    parameters += (parameters.empty() ? "" : "&") + name + "=" + percent_encoded(value, false);
  const std::string path = "/" + place.bucket + "/" + percent_encoded(key, true);
  const std::string host = place.endpoint.substr(place.endpoint.find("://") + 3);
  const std::string request = "GET\n" + path + "\n" + parameters + "\nhost:" + host + "\n\nhost\nUNSIGNED-PAYLOAD";
  const std::string text = "AWS4-HMAC-SHA256\n" + moment + "\n" + scope + "\n" + sha256_hex(request);
  std::string signing = "AWS4" + keys.secret;
  for (const std::string& part : {day, place.region, std::string("s3"), std::string("aws4_request")})
    signing = hmac_sha256(signing, part);
  return place.endpoint + path + "?" + parameters + "&X-Amz-Signature=" + hexadecimal(hmac_sha256(signing, text));
}

}  // namespace locus
