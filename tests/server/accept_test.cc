// The accept loop: who gets a connection, and that it outlives a want of descriptors.
#include "server/grpc/accept_loop.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <future>
#include <mutex>

#include "client/client.h"
#include "core/base/error.h"
#include "locus/v1/catalog_service.grpc.pb.h"
#include "server/grpc/listener.h"
#include "server/tls/published.h"
#include "tests/server/support/server_fixture.h"
#include "tests/server/support/test_authority.h"

namespace locus::server {
namespace {

using boost::asio::ip::tcp;

tcp::endpoint loopback(int port) {
  return {boost::asio::ip::address_v4::loopback(), static_cast<unsigned short>(port)};
}

// Keeps what it is given.
class Taker {
 public:
  void take(Fd socket) {
    const std::lock_guard lock(mutex_);
    taken_.push_back(std::move(socket));
    changed_.notify_all();
  }
  void wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return taken_.size() >= count; });
  }
  void close_one() {
    const std::lock_guard lock(mutex_);
    taken_.pop_back();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Fd> taken_;
};

// True when the other side keeps the connection until it is told something, false when it ends it.
bool is_kept(tcp::socket& socket, AcceptLoop& loop, std::int64_t decided) {
  while (loop.counts().accepted + loop.counts().refused < decided) std::this_thread::yield();
  char byte;
  boost::system::error_code error;
  socket.non_blocking(true);
  socket.read_some(boost::asio::buffer(&byte, 1), error);
  return error == boost::asio::error::would_block;
}

TEST(AcceptLoop, NamesAPortInUse) {
  const auto first = AcceptLoop::bind("127.0.0.1", 0, "--grpc-address");
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = AcceptLoop::bind("127.0.0.1", (*first)->port(), "--grpc-address");
  EXPECT_TRUE(has_reason(second.status(), ErrorReason::kPortInUse)) << second.status();
}

TEST(AcceptLoop, GivesAnAddressNoMoreThanItsOpenConnections) {
  auto loop =
      AcceptLoop::bind("127.0.0.1", 0, "--grpc-address", {.new_each_second = 1'000, .open = 3, .loopback = true});
  ASSERT_TRUE(loop.ok()) << loop.status();
  Taker taker;
  (*loop)->start([&](Fd socket) { taker.take(std::move(socket)); });
  boost::asio::io_context io;
  std::vector<tcp::socket> sockets;
  for (int i = 0; i < 4; ++i) {
    sockets.emplace_back(io);
    sockets.back().connect(loopback((*loop)->port()));
    EXPECT_EQ(is_kept(sockets.back(), **loop, i + 1), i < 3) << i;
  }
  taker.wait_for(3);
  taker.close_one();
  sockets.emplace_back(io);
  sockets.back().connect(loopback((*loop)->port()));
  EXPECT_TRUE(is_kept(sockets.back(), **loop, 5)) << "one had ended";
  (*loop)->stop();
}

TEST(AcceptLoop, LimitsHowFastAnAddressComes) {
  AddressBook book({.new_each_second = 2, .open = 100, .loopback = true});
  EXPECT_TRUE(book.admit("a", 0, 0));
  EXPECT_TRUE(book.admit("a", 0, 0));
  EXPECT_FALSE(book.admit("a", 0, 1)) << "the third at once";
  EXPECT_TRUE(book.admit("b", 0, 1)) << "another address";
  EXPECT_TRUE(book.admit("a", 0, 600'000)) << "half a second later";
  EXPECT_FALSE(book.admit("a", 0, 600'001));
}

TEST(AcceptLoop, LetsAnAddressComeAsFastAsItMayHaveConnections) {
  EXPECT_EQ(limits_of(64).new_each_second, ConnectionLimits().new_each_second);
  EXPECT_EQ(limits_of(64).open, ConnectionLimits().open);
  EXPECT_EQ(limits_of(1024).new_each_second, 320);
  EXPECT_EQ(limits_of(1024).open, 1024);
  EXPECT_EQ(limits_of(8).new_each_second, 20) << "a few that go and come";
}

TEST(AcceptLoop, CountsNobodyOnThisMachineUnlessAsked) {
  AddressBook book({.new_each_second = 1, .open = 1});
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(book.admit("", 0, 0));
}

// A listener with few descriptors, in a process of its own; another one floods it with silent connections and then asks
// like anybody else.
constexpr int kDescriptors = 64, kFlood = 200;

int flood(int port, const ClientTls& tls) {
  {
    boost::asio::io_context io;
    std::vector<tcp::socket> silent;
    for (int i = 0; i < kFlood; ++i) {
      silent.emplace_back(io);
      boost::system::error_code error;
      silent.back().connect(loopback(port), error);
    }
  }
  const auto client =
      Client::connect("127.0.0.1:" + std::to_string(port), {.patience = std::chrono::seconds(20), .tls = tls});
  if (!client.ok()) return 2;
  const absl::Status answer = (*client)->get_server().status();
  // Nothing serves that call here, which is an answer.
  return absl::IsUnimplemented(answer) ? 0 : 3;
}

int serve_through_flood(const std::filesystem::path& folder) {
  const test::TestAuthority authority;
  const auto own = authority.server();
  if (!publish({own.key, own.certificate, authority.pem()}, folder / "published").ok()) return 10;
  const ClientTls tls =
      test::write_identity(folder / "client", authority.client({"spiffe://locus/worker/box"}), authority.pem());
  int told[2];
  if (::pipe(told) != 0) return 11;
  const pid_t flooder = ::fork();  // before there are threads
  if (flooder == 0) {
    int port = 0;
    if (::read(told[0], &port, sizeof port) != sizeof port) ::_exit(12);
    ::_exit(flood(port, tls));
  }
  const rlimit few{kDescriptors, kDescriptors};
  ::setrlimit(RLIMIT_NOFILE, &few);
  grpc::EnableDefaultHealthCheckService(true);
  v1::CatalogService::CallbackService nothing;  // of which no call is implemented
  const auto listener = GrpcListener::start({&nothing}, {.host = "127.0.0.1", .tls = folder / "published"});
  if (!listener.ok()) return 13;
  const int port = (*listener)->port();
  if (::write(told[1], &port, sizeof port) != sizeof port) return 14;
  int status = 0;
  ::waitpid(flooder, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return WIFEXITED(status) ? WEXITSTATUS(status) : 15;
  if ((*listener)->counts().shed == 0) return 16;  // the flood was none
  return (*listener)->answers() ? 0 : 17;
}

TEST(AcceptLoopProcess, OutlivesAFloodThatTakesEveryDescriptor) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const test::TemporaryFolder folder;
  EXPECT_EXIT(::_exit(serve_through_flood(folder.path())), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace locus::server
