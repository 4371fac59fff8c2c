// The server's own certificate authority: a folder with a key, and while one takes over from another with two.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/certificates/issue.h"

namespace locus::server {

inline constexpr std::int64_t kDay = 86'400;  // seconds
inline constexpr std::int64_t kAuthorityDays = 3650, kServerDays = 90;
// Certificates begin a while ago: clocks differ.
inline constexpr std::int64_t kClockSlack = 300;

// Immutable: what the folder held when it was read. Thread-safe.
//
// The folder has authority.key (0600) and authority.crt and, since `renew` until `retire`, former.key and former.crt.
// Certificates of both are trusted; the new one signs for clients, the former for the server as long as its key is there,
// because clients learn of the new one when they renew.
class Authority {
 public:
  // Makes the folder and an authority in it where there is none.
  static absl::StatusOr<Authority> open(const std::filesystem::path& folder, std::int64_t now);
  // Makes a new one, the one there becomes the former. FAILED_PRECONDITION while there is a former already.
  static absl::StatusOr<Authority> renew(const std::filesystem::path& folder, std::int64_t now);
  // Forgets the former: nothing that it signed is trusted from then on. FAILED_PRECONDITION without one.
  static absl::StatusOr<Authority> retire(const std::filesystem::path& folder);

  std::string anchors() const;  // PEM of one or two authorities, the new one first
  const Certificate& certificate() const { return certificate_; }
  const std::optional<Certificate>& former() const { return former_; }

  // Signs for a client's request, from now on for `seconds`. UNAVAILABLE (CERTIFICATE_INVALID) without the authority's
  // key, with the remedy.
  absl::StatusOr<Certificate> sign_client(const std::string& uri, const std::string& name, std::string_view request,
                                          std::int64_t now, std::int64_t seconds) const;
  // Who signs for the server. UNAVAILABLE likewise.
  absl::StatusOr<Issuer> server_issuer() const;

 private:
  Authority(std::filesystem::path folder, Certificate certificate, std::optional<PrivateKey> key,
            std::optional<Certificate> former, std::optional<PrivateKey> former_key)
      : folder_(std::move(folder)),
        certificate_(std::move(certificate)),
        key_(std::move(key)),
        former_(std::move(former)),
        former_key_(std::move(former_key)) {}
  static absl::StatusOr<Authority> read(const std::filesystem::path& folder);
  absl::Status without_key() const;

  std::filesystem::path folder_;
  Certificate certificate_;
  std::optional<PrivateKey> key_;  // absent: lost
  std::optional<Certificate> former_;
  std::optional<PrivateKey> former_key_;
};

}  // namespace locus::server
