// Keeps what the server shows up to date: looks at the operator's files, or at its own authority, and publishes what
// passes every check.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/certificates/check.h"
#include "server/tls/authority.h"

namespace locus::server {

// How the server is told to speak TLS. Without any of it, it does not.
struct TlsOptions {
  std::vector<std::string> names;  // host names and addresses it is reached under; its own authority issues for them
  std::filesystem::path key, certificate;  // the operator's, both or none; PEM, the certificate with those above it
  bool external_authority = false;         // no authority of its own: no enrollment
  std::filesystem::path anchors;  // with that: authorities of clients' certificates; empty: no gRPC but on loopback

  bool wanted() const { return !names.empty() || !key.empty() || !certificate.empty(); }
};

// A set that passed the checks.
struct TlsGeneration {
  CheckedSet checked;
  int number = 1;  // of those that were published
};

// Thread-safe.
class TlsKeeper {
 public:
  // Looks for the first time. INVALID_ARGUMENT (CERTIFICATE_INVALID) says what is wrong with the options or the files.
  // `folder` is the server's own for authority and published files; `clock` must outlive it.
  static absl::StatusOr<std::unique_ptr<TlsKeeper>> open(TlsOptions options, const std::filesystem::path& folder,
                                                         const std::vector<std::string>& hosts, Clock& clock);

  // Looks again. What fails a check is logged once and kept as trouble(), and the old set stays; the published files are
  // written only when they change.
  void look();

  std::shared_ptr<const TlsGeneration> generation() const;  // never null
  std::string trouble() const;                              // of the last look, a sentence; empty: none
  std::int64_t seconds_left() const;                        // of the shown certificate's life
  bool asks_clients() const { return asks_clients_; }       // there is an authority for clients
  std::filesystem::path folder() const { return folder_ / "published"; }

  // The server's own authority as the folder has it now. FAILED_PRECONDITION with an external one.
  absl::StatusOr<Authority> authority() const;

 private:
  TlsKeeper(TlsOptions options, std::filesystem::path folder, std::vector<std::string> hosts, Clock& clock)
      : options_(std::move(options)), folder_(std::move(folder)), hosts_(std::move(hosts)), clock_(clock) {}
  absl::StatusOr<CheckedSet> read_set();
  absl::StatusOr<std::pair<std::string, std::string>> own_certificate(const Authority& authority);  // key, chain
  absl::Status look_once();
  std::int64_t now() const { return clock_.wall() / 1'000'000; }

  const TlsOptions options_;
  const std::filesystem::path folder_;
  const std::vector<std::string> hosts_;  // every certificate must cover
  Clock& clock_;
  bool asks_clients_ = false;  // set before others see it
  std::mutex looking_;         // taken before mutex_
  mutable std::mutex mutex_;
  std::shared_ptr<const TlsGeneration> generation_;
  std::string trouble_;
  bool warned_ = false;  // that the certificate expires soon
};

}  // namespace locus::server
