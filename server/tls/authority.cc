// The authority's folder.
#include "server/tls/authority.h"

#include <sys/stat.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/ids.h"
#include "server/tls/published.h"

namespace locus::server {
namespace fs = std::filesystem;
namespace {

constexpr char kKey[] = "authority.key", kCertificate[] = "authority.crt";
constexpr char kFormerKey[] = "former.key", kFormerCertificate[] = "former.crt";
constexpr mode_t kSecret = 0600;

// The key is on the medium before the certificate, without which it counts for nothing.
absl::Status make_authority(const fs::path& folder, std::int64_t now) {
  LOCUS_ASSIGN_OR_RETURN(const PrivateKey key, PrivateKey::make());
  // Their names differ, or a client with both anchors would try the wrong one by its name.
  CertificateText text{
      CertificateUse::kAuthority, "Locus authority " + random_uuid().substr(0, 8), {}, {}, now - kClockSlack,
      now + kAuthorityDays * kDay};
  LOCUS_ASSIGN_OR_RETURN(const Certificate certificate, issue_authority(text, key));
  LOCUS_RETURN_IF_ERROR(write_file_durably(folder / kKey, key.pem(), kSecret));
  return write_file_durably(folder / kCertificate, certificate.pem());
}

absl::StatusOr<std::optional<PrivateKey>> key_if_there(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return std::optional<PrivateKey>();
  LOCUS_ASSIGN_OR_RETURN(const std::string pem, read_small_file(path));
  LOCUS_ASSIGN_OR_RETURN(PrivateKey key, PrivateKey::read(pem, path.string()));
  return std::optional<PrivateKey>(std::move(key));
}

absl::StatusOr<Certificate> certificate_at(const fs::path& path) {
  LOCUS_ASSIGN_OR_RETURN(const std::string pem, read_small_file(path));
  LOCUS_ASSIGN_OR_RETURN(const auto certificates, Certificate::read(pem, path.string()));
  return certificates.front();
}

absl::Status moved(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (!error || error == std::errc::no_such_file_or_directory) return absl::OkStatus();
  return file_error("cannot rename", from, error.value());
}

absl::Status not_now(const std::string& sentence) {
  return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kCertificateInvalid, sentence);
}

}  // namespace

absl::StatusOr<Authority> Authority::open(const fs::path& folder, std::int64_t now) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) fs::permissions(folder, fs::perms::owner_all, error);
  if (error) return file_error("cannot make", folder, error.value());
  if (!fs::exists(folder / kCertificate, error)) LOCUS_RETURN_IF_ERROR(make_authority(folder, now));
  return read(folder);
}

absl::StatusOr<Authority> Authority::read(const fs::path& folder) {
  LOCUS_ASSIGN_OR_RETURN(const Certificate certificate, certificate_at(folder / kCertificate));
  LOCUS_ASSIGN_OR_RETURN(std::optional<PrivateKey> key, key_if_there(folder / kKey));
  if (key && !certificate.matches(*key))
    return not_now((folder / kKey).string() + " is not the key of " + kCertificate +
                   " beside it; put the right one back");
  std::optional<Certificate> former;
  std::error_code error;
  if (fs::exists(folder / kFormerCertificate, error)) {
    LOCUS_ASSIGN_OR_RETURN(former, certificate_at(folder / kFormerCertificate));
  }
  LOCUS_ASSIGN_OR_RETURN(std::optional<PrivateKey> former_key, key_if_there(folder / kFormerKey));
  return Authority(folder, certificate, std::move(key), std::move(former), std::move(former_key));
}

absl::StatusOr<Authority> Authority::renew(const fs::path& folder, std::int64_t now) {
  LOCUS_ASSIGN_OR_RETURN(const Authority present, open(folder, now));
  if (present.former_)
    return not_now(
        "a new authority takes over already; once every worker and person has renewed, end that with `locus "
        "admin ca retire`");
  // A crash after any of these leaves either what was, or an authority whose former is itself: harmless.
  LOCUS_RETURN_IF_ERROR(write_file_durably(folder / kFormerCertificate, present.certificate_.pem()));
  LOCUS_RETURN_IF_ERROR(moved(folder / kKey, folder / kFormerKey));
  LOCUS_RETURN_IF_ERROR(make_authority(folder, now));
  return read(folder);
}

absl::StatusOr<Authority> Authority::retire(const fs::path& folder) {
  LOCUS_ASSIGN_OR_RETURN(const Authority present, read(folder));
  if (!present.former_) return not_now("there is no former authority to retire; `locus admin ca new` makes a new one");
  if (!present.key_) return present.without_key();
  std::error_code error;
  fs::remove(folder / kFormerKey, error);
  if (!error) fs::remove(folder / kFormerCertificate, error);
  if (error) return file_error("cannot remove", folder / kFormerCertificate, error.value());
  LOCUS_RETURN_IF_ERROR(sync_folder(folder));
  return read(folder);
}

std::string Authority::anchors() const { return certificate_.pem() + (former_ ? former_->pem() : ""); }

absl::Status Authority::without_key() const {
  return make_error(absl::StatusCode::kUnavailable, ErrorReason::kCertificateInvalid,
                    "the key of the server's certificate authority is gone, so nothing can be signed: put " +
                        (folder_ / kKey).string() + " back, or begin a new authority with `locus admin ca new`");
}

absl::StatusOr<Certificate> Authority::sign_client(const std::string& uri, const std::string& name,
                                                   std::string_view request, std::int64_t now,
                                                   std::int64_t seconds) const {
  if (!key_) return without_key();
  const CertificateText text{CertificateUse::kClient, name, {uri}, {}, now - kClockSlack, now + seconds};
  return issue_for_request(text, request, {certificate_, *key_});
}

absl::StatusOr<Issuer> Authority::server_issuer() const {
  if (former_ && former_key_) return Issuer{*former_, *former_key_};
  if (!key_) return without_key();
  return Issuer{certificate_, *key_};
}

}  // namespace locus::server
