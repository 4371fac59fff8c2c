// Accepting connections.
#include "server/grpc/accept_loop.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/base/clock.h"
#include "core/base/counted_address.h"
#include "core/base/error.h"
#include "core/log/log.h"

namespace locus::server {
namespace {

using boost::asio::ip::tcp;

constexpr int kAtATime = 64;  // then others of the loop have a turn
constexpr auto kAcceptPause = std::chrono::milliseconds(50);
constexpr int kUnanswered = 10'000;  // milliseconds that what was sent may stay unacknowledged, as keep-alive allows

bool out_of_descriptors(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

// Ends a connection without a descriptor's lingering.
void reset(Fd socket) {
  const linger now{1, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

absl::Status cannot_listen(const std::string& host, int port, const std::string& option,
                           const boost::system::error_code& error) {
  const std::string shown = host + ":" + std::to_string(port);
  if (error == boost::asio::error::address_in_use) {
    return make_error(absl::StatusCode::kUnavailable, ErrorReason::kPortInUse,
                      "cannot listen on " + shown + "; stop the other program or choose another port with " + option,
                      "", {{"address", shown}, {"port", std::to_string(port)}});
  }
  return make_error(absl::StatusCode::kUnavailable, ErrorReason::kInvalidArgument,
                    "cannot listen on " + shown + ": " + error.message() + "; choose another address with " + option,
                    "", {{"address", shown}});
}

}  // namespace

class AcceptLoop::Impl {
 public:
  explicit Impl(ConnectionLimits limits)
      : work_(io_.get_executor()), acceptor_(io_), pause_(io_), book_(limits), spare_(open_spare()) {}
  ~Impl() { stop(); }

  boost::system::error_code bind(const std::string& host, int port) {
    boost::system::error_code error;
    const auto address = boost::asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host, error);
    const tcp::endpoint endpoint(address, static_cast<unsigned short>(port));
    if (!error) acceptor_.open(endpoint.protocol(), error);
    // Over sockets that linger, not over listeners.
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(boost::asio::socket_base::max_listen_connections, error);
    if (!error) acceptor_.native_non_blocking(true, error);
    if (!error) ::fcntl(acceptor_.native_handle(), F_SETFD, FD_CLOEXEC);
    if (!error) port_ = acceptor_.local_endpoint(error).port();
    return error;
  }

  int port() const { return port_; }

  void start(std::function<void(Fd)> take) {
    take_ = std::move(take);
    boost::asio::post(io_, [this] { wait(); });
    thread_ = std::thread([this] { io_.run(); });
  }

  void stop() {
    if (stopped_.exchange(true)) return;
    io_.stop();
    if (thread_.joinable()) thread_.join();
    boost::system::error_code ignored;
    acceptor_.close(ignored);
  }

  AcceptCounts counts() const { return {accepted_, refused_, shed_}; }

  bool answers(std::chrono::milliseconds limit) {
    const std::int64_t before = decided();
    boost::system::error_code error;
    tcp::endpoint own = acceptor_.local_endpoint(error);
    if (error) return false;
    if (own.address().is_unspecified()) {
      own.address(own.address().is_v4() ? boost::asio::ip::address(boost::asio::ip::address_v4::loopback())
                                        : boost::asio::ip::address(boost::asio::ip::address_v6::loopback()));
    }
    boost::asio::io_context io(1);
    tcp::socket socket(io);
    socket.connect(own, error);  // the kernel answers this at once, or refuses it
    if (error) return false;
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [&] { return decided() != before; });
  }

 private:
  std::int64_t decided() const { return accepted_ + refused_ + shed_; }
  static Fd open_spare() { return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

  void wait() {
    acceptor_.async_wait(tcp::acceptor::wait_read, [this](const boost::system::error_code& error) {
      if (error == boost::asio::error::operation_aborted) return;
      const bool more = !error && accept_some();
      {
        const std::lock_guard lock(mutex_);  // or who waits could miss it
      }
      changed_.notify_all();
      if (!more) return wait_later();
      wait();
    });
  }

  void wait_later() {
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([this](const boost::system::error_code& error) {
      if (!error) wait();
    });
  }

  // False: there is nothing to be had now, though somebody waits.
  bool accept_some() {
    for (int i = 0; i < kAtATime && !stopped_; ++i) {
      sockaddr_storage from{};
      socklen_t size = sizeof from;
      Fd socket(::accept4(acceptor_.native_handle(), reinterpret_cast<sockaddr*>(&from), &size,
                          SOCK_NONBLOCK | SOCK_CLOEXEC));
      const int error = errno;
      if (socket) {
        admit(std::move(socket), from);
      } else if (error == EAGAIN || error == EWOULDBLOCK) {
        return true;
      } else if (out_of_descriptors(error)) {
        if (!shed()) return false;
      }  // else this one connection failed
    }
    return true;
  }

  void admit(Fd socket, const sockaddr_storage& from) {
    if (!book_.admit(counted_address(from), socket.get(), system_clock().steady())) {
      reset(std::move(socket));
      ++refused_;  // from here on it is over
      return;
    }
    ++accepted_;
    const int on = 1, unanswered = kUnanswered;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered, sizeof unanswered);
    take_(std::move(socket));
  }

  // The last descriptor there is serves to send the newcomer away, who would otherwise wait for nothing.
  bool shed() {
    if (shed_++ == 0) log_warning("grpc: out of descriptors; new connections are refused until others end");
    if (!spare_) spare_ = open_spare();
    if (!spare_) return false;
    spare_ = Fd();
    Fd socket(::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    const bool one = static_cast<bool>(socket);
    if (one) reset(std::move(socket));
    spare_ = open_spare();
    return one;
  }

  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  tcp::acceptor acceptor_;
  boost::asio::steady_timer pause_;
  AddressBook book_;
  Fd spare_;
  std::function<void(Fd)> take_;
  std::thread thread_;
  int port_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;  // something was decided
  std::atomic<bool> stopped_{false};
  std::atomic<std::int64_t> accepted_{0}, refused_{0}, shed_{0};
};

absl::StatusOr<std::unique_ptr<AcceptLoop>> AcceptLoop::bind(const std::string& host, int port,
                                                             const std::string& option, ConnectionLimits limits) {
  auto impl = std::make_unique<Impl>(limits);
  if (const auto error = impl->bind(host, port)) return cannot_listen(host, port, option, error);
  return std::unique_ptr<AcceptLoop>(new AcceptLoop(std::move(impl)));
}

AcceptLoop::AcceptLoop(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AcceptLoop::~AcceptLoop() = default;
int AcceptLoop::port() const { return impl_->port(); }
void AcceptLoop::start(std::function<void(Fd)> take) { impl_->start(std::move(take)); }
void AcceptLoop::stop() { impl_->stop(); }
AcceptCounts AcceptLoop::counts() const { return impl_->counts(); }
bool AcceptLoop::answers(std::chrono::milliseconds limit) const { return impl_->answers(limit); }

}  // namespace locus::server
