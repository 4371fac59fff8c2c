// `locus serve`: a server until a signal ends it.
#include "server/app/serve.h"

#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <csignal>
#include <cstdio>
#include <fstream>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/log/log.h"
#include "server/app/paths.h"

namespace locus {
namespace {

constexpr auto kProbeEvery = std::chrono::seconds(5);
constexpr int kProbesMissed = 3;  // in a row: the listener is dead
constexpr rlim_t kDescriptors = 65'536;

// gRPC 1.51 never accepts again after accept() has failed for want of a descriptor.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = std::min<rlim_t>(limit.rlim_max, kDescriptors);
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = wanted;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
    log_warning("the descriptor limit stays low; many connections may stop the server");
}

// Where scripts find the server: replaced whole, removed at the end.
class ServerFile {
 public:
  ServerFile(const std::filesystem::path& data, const ServerAddresses& addresses) : path_(data / "server.json") {
    const std::filesystem::path fresh = data / "server.json.new";
    std::ofstream(fresh) << Json{{"pid", getpid()}, {"grpc", addresses.grpc}, {"http", addresses.http}}.dump() << "\n";
    std::error_code error;
    std::filesystem::rename(fresh, path_, error);
    if (error) log_warning("{} cannot be written: {}", path_.string(), error.message());
  }
  ~ServerFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  ServerFile(const ServerFile&) = delete;
  ServerFile& operator=(const ServerFile&) = delete;

 private:
  const std::filesystem::path path_;
};

// Waits for a signal; probes the listener meanwhile. Returns the exit status.
class SignalWaiter {
 public:
  SignalWaiter(Server& server, bool tls) : server_(server), signals_(io_, SIGTERM, SIGINT), hangup_(io_), timer_(io_) {
    signals_.async_wait([this](const boost::system::error_code& error, int number) {
      if (error) return;
      log_info("stopping on signal {}", number);
      io_.stop();
    });
    if (tls) {
      hangup_.add(SIGHUP);
      await_hangup();
    }
    arm();
  }
  int wait() {
    io_.run();
    prober_.join();
    return status_;
  }

 private:
  // With TLS it says that there are new certificates; otherwise it ends the process, as ever.
  void await_hangup() {
    hangup_.async_wait([this](const boost::system::error_code& error, int) {
      if (error) return;
      boost::asio::post(prober_, [this] { server_.look_at_certificates(); });
      await_hangup();
    });
  }
  void arm() {
    timer_.expires_after(kProbeEvery);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      boost::asio::post(prober_, [this] {
        const bool ok = server_.answers();
        boost::asio::post(io_, [this, ok] { judge(ok); });
      });
    });
  }
  void judge(bool ok) {
    missed_ = ok ? 0 : missed_ + 1;
    if (missed_ > 0) log_warning("the server did not answer itself ({} of {})", missed_, kProbesMissed);
    if (missed_ < kProbesMissed) return arm();
    log_entry(LogLevel::kCritical, "the gRPC listener is dead; exiting so that a supervisor can start a new server",
              {});
    status_ = 1;
    io_.stop();
  }

  Server& server_;
  boost::asio::io_context io_{1};
  boost::asio::signal_set signals_, hangup_;
  boost::asio::steady_timer timer_;
  boost::asio::thread_pool prober_{1};
  int missed_ = 0, status_ = 0;
};

int complain(const absl::Status& status) {
  std::fprintf(stderr, "locus serve: %s\n", escape_controls(std::string(status.message())).c_str());
  return 1;
}

}  // namespace

absl::StatusOr<int> serve(const ServerOptions& given, const std::function<void(const ServerAddresses&)>& ready) {
  set_up_log(given.log_level);
  raise_descriptor_limit();
  ServerOptions options = given;
  if (options.data.empty()) {
    LOCUS_ASSIGN_OR_RETURN(options.data, server::default_data_folder());
  }
  LOCUS_ASSIGN_OR_RETURN(ServerParts parts, make_parts(options));
  auto server = Server::start(options, std::move(parts));
  if (!server.ok()) return server.status();
  const ServerAddresses addresses = (*server)->addresses();
  const ServerFile file(options.data, addresses);
  int status = 0;
  {
    SignalWaiter waiter(**server, options.tls.wanted());
    ready(addresses);
    status = waiter.wait();
  }
  (*server)->stop();
  return status;
}

int server_main(const ServerOptions& options) {
  const auto status = serve(options, [](const ServerAddresses& addresses) {
    std::printf("locus serve: grpc %s, dashboard %s\n", addresses.grpc.c_str(), addresses.dashboard().c_str());
    std::fflush(stdout);
  });
  return status.ok() ? *status : complain(status.status());
}

}  // namespace locus
