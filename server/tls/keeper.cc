// Reads, checks and publishes certificates.
#include "server/tls/keeper.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/log/log.h"
#include "server/tls/published.h"

namespace locus::server {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kWarnDays = 14;

absl::Status bad_options(const std::string& sentence) {
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kCertificateInvalid, sentence);
}

absl::Status check_tls_options(const TlsOptions& options) {
  if (options.key.empty() != options.certificate.empty())
    return bad_options("--tls-key and --tls-cert belong together; give both or neither");
  if (options.external_authority && options.key.empty())
    return bad_options("with --external-ca the server issues no certificate of its own; give --tls-cert and --tls-key");
  if (!options.external_authority && !options.anchors.empty())
    return bad_options("--tls-ca is for certificates that others issue; give --external-ca as well");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<TlsKeeper>> TlsKeeper::open(TlsOptions options, const fs::path& folder,
                                                           const std::vector<std::string>& hosts, Clock& clock) {
  LOCUS_RETURN_IF_ERROR(check_tls_options(options));
  std::vector<std::string> covered = options.names;
  for (const std::string& host : hosts) {
    const bool any = host == "0.0.0.0" || host == "::";
    if (!any && std::find(covered.begin(), covered.end(), host) == covered.end()) covered.push_back(host);
  }
  std::unique_ptr<TlsKeeper> keeper(new TlsKeeper(std::move(options), folder, std::move(covered), clock));
  keeper->asks_clients_ = !keeper->options_.external_authority || !keeper->options_.anchors.empty();
  LOCUS_RETURN_IF_ERROR(keeper->look_once());
  return keeper;
}

absl::StatusOr<Authority> TlsKeeper::authority() const {
  if (options_.external_authority) {
    return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kCertificateInvalid,
                      "this server trusts an authority elsewhere (--external-ca) and signs nothing itself; ask whoever "
                      "runs that authority for a certificate");
  }
  return Authority::open(folder_, now());
}

absl::StatusOr<std::pair<std::string, std::string>> TlsKeeper::own_certificate(const Authority& authority) {
  const fs::path key_path = folder_ / "server.key", chain_path = folder_ / "server.crt";
  std::error_code error;
  if (fs::exists(key_path, error) && fs::exists(chain_path, error)) {
    LOCUS_ASSIGN_OR_RETURN(const std::string key, read_small_file(key_path));
    LOCUS_ASSIGN_OR_RETURN(const std::string chain, read_small_file(chain_path));
    const auto certificates = Certificate::read(chain, chain_path.string());
    const bool sound = check_server_set({key, chain, ""}, hosts_, authority.anchors(), now()).ok();
    const bool young = certificates.ok() && now() < certificates->front().not_after() - kServerDays * kDay / 3;
    // Without the authority's key an old certificate is better than none.
    if (sound && (young || !authority.server_issuer().ok())) return std::pair(key, chain);
  }
  LOCUS_ASSIGN_OR_RETURN(const Issuer issuer, authority.server_issuer());
  LOCUS_ASSIGN_OR_RETURN(const PrivateKey key, PrivateKey::make());
  CertificateText text{CertificateUse::kServer,   "Locus server", {}, hosts_, now() - kClockSlack,
                       now() + kServerDays * kDay};
  LOCUS_ASSIGN_OR_RETURN(const Certificate certificate, issue_for_key(text, key, issuer));
  // The authority comes along: enrolling clients know it by its fingerprint alone.
  const std::string chain = join_pem({certificate, issuer.certificate});
  LOCUS_RETURN_IF_ERROR(write_file_durably(key_path, key.pem(), 0600));
  LOCUS_RETURN_IF_ERROR(write_file_durably(chain_path, chain));
  log_info("tls: issued a certificate for this server, serial {}", certificate.serial());
  return std::pair(key.pem(), chain);
}

absl::StatusOr<CheckedSet> TlsKeeper::read_set() {
  CertificateSet set;
  std::string roots;
  std::optional<Authority> own;
  if (!options_.external_authority) {
    LOCUS_ASSIGN_OR_RETURN(own, authority());
    set.anchors = own->anchors();
  } else if (!options_.anchors.empty()) {
    LOCUS_ASSIGN_OR_RETURN(set.anchors, read_small_file(options_.anchors));
  }
  if (options_.key.empty()) {
    LOCUS_ASSIGN_OR_RETURN(std::tie(set.key, set.chain), own_certificate(*own));
    roots = set.anchors;
  } else {
    LOCUS_ASSIGN_OR_RETURN(set.key, read_small_file(options_.key));
    LOCUS_ASSIGN_OR_RETURN(set.chain, read_small_file(options_.certificate));
  }
  return check_server_set(set, hosts_, roots, now());
}

absl::Status TlsKeeper::look_once() {
  LOCUS_ASSIGN_OR_RETURN(CheckedSet checked, read_set());
  const auto before = [this] {
    const std::lock_guard lock(mutex_);
    return generation_;
  }();
  if (before && before->checked.set == checked.set) return absl::OkStatus();
  LOCUS_RETURN_IF_ERROR(publish(checked.set, folder()));
  const int number = before ? before->number + 1 : 1;
  const std::lock_guard lock(mutex_);
  generation_ = std::make_shared<const TlsGeneration>(TlsGeneration{std::move(checked), number});
  warned_ = false;
  return absl::OkStatus();
}

void TlsKeeper::look() {
  const std::lock_guard one_at_a_time(looking_);
  const int before = generation()->number;
  const absl::Status status = look_once();
  const std::lock_guard lock(mutex_);
  const std::string trouble = status.ok() ? "" : std::string(status.message());
  if (!trouble.empty() && trouble != trouble_) log_warning("tls: {}; the certificate from before stays", trouble);
  if (trouble.empty() && !trouble_.empty()) log_info("tls: the certificates are in order again");
  trouble_ = trouble;
  if (generation_->number != before) log_info("tls: new certificates are shown from now on");
  const std::int64_t left = generation_->checked.not_after - now();
  if (left > kWarnDays * kDay || warned_) return;
  warned_ = true;
  log_warning("tls: the server's certificate expires in {} days", std::max<std::int64_t>(left / kDay, 0));
}

std::shared_ptr<const TlsGeneration> TlsKeeper::generation() const {
  const std::lock_guard lock(mutex_);
  return generation_;
}

std::string TlsKeeper::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

std::int64_t TlsKeeper::seconds_left() const { return generation()->checked.not_after - now(); }

}  // namespace locus::server
