// The server as a whole: gRPC, HTTP, scheduler and store in one process.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/catalog/catalog.h"
#include "core/catalog/pictures.h"
#include "core/claims/claims.h"
#include "core/ports/artifacts.h"
#include "core/ports/store.h"
#include "server/tls/address_book.h"
#include "server/tls/keeper.h"

namespace locus {

// Whom to tell when an experiment ends or stands still; both empty: nobody.
struct AlertOptions {
  std::string command;  // for /bin/sh; the alert is JSON on its standard input
  std::string url;      // "http://...": the same is posted there
  std::chrono::minutes stalled_after = std::chrono::minutes(30);  // without any progress; 0: never
};

// Where blobs are kept: in the data folder, or in an object store.
struct ArtifactOptions {
  std::string address;                // "s3://BUCKET/PREFIX"; empty: DATA/artifacts
  std::string endpoint, region;       // of the store; empty: Amazon's, us-east-1
  std::filesystem::path credentials;  // empty: the environment, else ~/.aws/credentials (storage/s3/place.h)
  std::int64_t copies_gib = 10;       // kept in DATA/copies of what is in the store
};

struct ServerOptions {
  std::filesystem::path data;                   // empty: $XDG_DATA_HOME/locus or ~/.local/share/locus
  std::string grpc_address = "127.0.0.1:7171";  // port 0: any free one
  std::string http_address = "127.0.0.1:7172";
  std::filesystem::path web, catalog;      // empty: found by themselves (server/app/paths.h)
  int connections_each = 64;               // that one address but loopback may have open, on each side
  std::vector<std::string> allowed_hosts;  // names besides loopback's that a browser may use, for tunnels and proxies
  AlertOptions alerts;
  ArtifactOptions artifacts;
  std::filesystem::path trainer;  // the trainer that draws pictures; empty: none, and pictures on demand are refused
  std::filesystem::path data_root = "/usr/share/datasets";  // where it finds images
  bool isolate = true;                                      // that trainer, as far as the kernel can
  server::TlsOptions tls;  // how both sides speak TLS; without it they are plain, and on loopback alone
  bool reflection = true;
  bool authenticate = false;  // ask every caller, those on loopback too, for a token or a certificate
  std::string log_level = "info";
};

// How much room there is for data; tests make their own.
struct DiskRoom {
  std::int64_t size = 0, free = 0;  // bytes
};

// What a server stands on. Tests bring a store in memory; `make_parts` opens the data folder.
struct ServerParts {
  std::unique_ptr<Store> store;
  std::unique_ptr<ArtifactStore> artifacts;
  Catalog catalog;
  Pictures pictures = {};  // of priors, by id
  std::vector<PaperClaims> claims;
  Clock* clock = &system_clock();
  std::function<absl::StatusOr<DiskRoom>()> disk = {};  // absent: the disk of options.data
  server::ConnectionLimits each_address = {};           // of each of the two doors
};
absl::StatusOr<ServerParts> make_parts(const ServerOptions& options);

struct ServerAddresses {
  std::string grpc, http;  // "127.0.0.1:7171"
  bool tls = false;
  std::string dashboard() const { return (tls ? "https://" : "http://") + http + "/"; }
};

// A running server. Thread-safe.
class Server {
 public:
  // Binds, loads and serves. PORT_IN_USE, ADDRESS_REFUSED or what the store says; then nothing is left
  // running.
  static absl::StatusOr<std::unique_ptr<Server>> start(const ServerOptions& options, ServerParts parts);
  ~Server();  // stop()

  ServerAddresses addresses() const;
  // Drains within about 8 s: not ready, no grants, long polls and watchers answered, calls in flight
  // finished, store closed. Idempotent.
  void stop();
  // Asks our own listener over a new connection.
  bool answers() const;
  // Looks at the data folder's disk now, as it does every few seconds by itself.
  void look_at_disk();
  // Estimates what waits, for workers that end, as it does every quarter of a minute by itself.
  void estimate_waiting();
  // Looks at keys and certificates now, as it does every minute by itself; nothing without TLS.
  void look_at_certificates();
  // Ends calls under way whose callers' tokens or certificates have run out, as it does each heartbeat by itself.
  void look_at_calls();

 private:
  class Running;
  explicit Server(std::unique_ptr<Running> running);
  std::unique_ptr<Running> running_;
};

// What GET /api/openapi.json answers; no server is needed. Pure.
std::string openapi_text();

// Runs a server until SIGTERM or SIGINT (returns 0) or until its listener dies (1). `ready` is told the
// addresses once it answers. The status says why it cannot start.
absl::StatusOr<int> serve(const ServerOptions& options, const std::function<void(const ServerAddresses&)>& ready);

// The same as an exit status, with the reason on standard error and the addresses on standard output.
int server_main(const ServerOptions& options);

}  // namespace locus
