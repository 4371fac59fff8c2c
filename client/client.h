// The typed client: one function per remote call, with deadlines, retries and errors a person can act on.
//
//   LOCUS_ASSIGN_OR_RETURN(auto client, Client::connect("127.0.0.1:7171"));
//   LOCUS_ASSIGN_OR_RETURN(v1::Plan plan, client->plan_experiment(request));
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/call.h"
#include "client/trust.h"
#include "locus/v1/admin_service.pb.h"
#include "locus/v1/analysis_service.pb.h"
#include "locus/v1/artifact_service.pb.h"
#include "locus/v1/calls.h"
#include "locus/v1/catalog_service.pb.h"
#include "locus/v1/enrollment_service.pb.h"
#include "locus/v1/experiment_service.pb.h"
#include "locus/v1/identity_service.pb.h"
#include "locus/v1/metric_service.pb.h"
#include "locus/v1/picture_service.pb.h"
#include "locus/v1/search_service.pb.h"
#include "locus/v1/worker_service.pb.h"

namespace grpc {
class Channel;
}

namespace locus {

struct ClientOptions {
  // How long a call goes on trying while the server is UNAVAILABLE, with exponential back-off and full
  // jitter. Every call of the service is idempotent or carries a request id, so repeating one is safe. Zero:
  // one try.
  std::chrono::microseconds patience = std::chrono::seconds(1);
  ClientTls tls = {};      // plain without
  std::string token = {};  // shown with every call; plain, it is shown to this machine alone
};

// What a backup holds.
struct BackupSummary {
  std::int64_t database_bytes = 0, artifacts = 0, artifact_bytes = 0;
  int schema_version = 0;
};

// Calls block. Errors carry the code of the wire and, where the server gave one, the ErrorDetail (see
// core/base/error.h). A server that cannot be reached is UNAVAILABLE with SERVER_UNAVAILABLE. Thread-safe;
// each client has a connection of its own.
class Client {
 public:
  // Makes a client without connecting: the first call does. INVALID_ARGUMENT unless `address` is HOST:PORT and the
  // files of TLS are in order, and for a token that would leave this machine in the clear.
  static absl::StatusOr<std::unique_ptr<Client>> connect(const std::string& address, ClientOptions options = {});
  ~Client();

  const std::string& address() const;
  std::shared_ptr<grpc::Channel> channel() const;  // for streams this class does not wrap
  // Tries to connect for at most `time`; true when connected. A call does it by itself, this is for waiting.
  bool wait_connected(std::chrono::microseconds time) const;

  // ---- every unary call of proto/locus/v1, whose comments say what it does ----
  // GetExperiment is
  //   absl::StatusOr<v1::Experiment> get_experiment(const v1::GetExperimentRequest& request = {}, const CallOptions& call = {});
  // A call with the option `slow` has kPlanDeadline unless told otherwise. An empty request_id is filled in; where a request says how long the server
  // may wait (wait_duration), the deadline is extended by that. A `deep` check takes as long as reading every byte: give it a deadline that allows it.
#define LOCUS_DECLARE(Service, Method, function, Request, Response, slow) \
  absl::StatusOr<v1::Response> function(                                  \
      const v1::Request& request = {},                                    \
      const CallOptions& call = {.deadline = (slow) ? kPlanDeadline : kUnaryDeadline});
  LOCUS_UNARY_CALLS(LOCUS_DECLARE)
#undef LOCUS_DECLARE

  // ---- streams ----
  // Calls `each` with piece after piece of the export (docs/formats/export.md) until it refuses, whose status
  // is returned, or all is there. The deadline does not apply.
  absl::Status export_experiment(const v1::ExportExperimentRequest& request,
                                 const std::function<absl::Status(std::string_view)>& each,
                                 const CallOptions& call = {});

  // Calls `each` with every message of the event stream, signs of life included, until it returns false (then
  // OK). A broken stream is taken up again at the last cursor; after call.patience without any message from
  // the server (default: the client's) the error is returned. The deadline does not apply.
  absl::Status watch_events(v1::WatchEventsRequest request,
                            const std::function<bool(const v1::WatchEventsResponse&)>& each,
                            const CallOptions& call = {});

  // ---- files ----
  // Copies the database as it is now, and every artifact it names, into `folder`, which becomes a data folder
  // that `locus serve --data` can use. The database appears last: a folder without one is no backup. A folder
  // that holds a database is refused; one with artifacts from before is completed.
  absl::StatusOr<BackupSummary> backup(const std::filesystem::path& folder, const CallOptions& call = {});
  // Uploads a file under its SHA-256, which is returned; cheap when the server has it already. The file must
  // not change meanwhile (DIGEST_MISMATCH). `sha256`: of its bytes, where it is known; otherwise they are read twice.
  absl::StatusOr<std::string> upload_artifact(const std::filesystem::path& path, const std::string& kind,
                                              const CallOptions& call = {}, const std::string& sha256 = {});
  // Downloads a blob to `path`, which appears whole, checked and durable or not at all. An interrupted
  // download leaves PATH.part, from which the next one goes on. Where as many are under way as one may have, it waits
  // for its turn. DATA_LOSS (DIGEST_MISMATCH) when the bytes
  // are not those named.
  absl::Status download_artifact(const std::string& sha256, const std::filesystem::path& path,
                                 const CallOptions& call = {});

 private:
  class Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace locus
