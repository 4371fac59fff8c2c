// What strangers may take of a whole server before anybody knows who they are.
#include <gtest/gtest.h>
#include <sys/time.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include "core/base/error.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {
namespace {

using boost::asio::ip::tcp;
using namespace std::chrono_literals;

// A connection that speaks only when the test has it speak, and waits 20 s at most.
class Stranger {
 public:
  explicit Stranger(const std::string& address) {
    const int port = std::stoi(address.substr(address.rfind(':') + 1));
    socket_.connect({boost::asio::ip::address_v4::loopback(), static_cast<unsigned short>(port)});
    const timeval most{20, 0};
    ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
  }
  void say(const std::string& bytes) {
    boost::system::error_code ignored;
    boost::asio::write(socket_, boost::asio::buffer(bytes), ignored);
  }
  // Until the other side says something ("") or ends the connection ("closed").
  std::string hear() {
    char bytes[4096];
    const ssize_t got = ::recv(socket_.native_handle(), bytes, sizeof bytes, 0);
    if (got > 0) return {bytes, static_cast<std::size_t>(got)};
    return got == 0 || errno == ECONNRESET ? "closed" : "nothing";
  }

 private:
  boost::asio::io_context io_;
  tcp::socket socket_{io_};
};

TEST(Strangers, WhoDoNotEndTheirHandshakeAreSentAwayAtBothDoors) {
  const TemporaryFolder folder;
  ServerOptions options;
  options.data = folder.path() / "data";
  options.catalog = LOCUS_TEST_CATALOG;
  options.grpc_address = options.http_address = "127.0.0.1:0";
  options.tls.names = {"127.0.0.1"};
  auto parts = make_parts(options);
  ASSERT_TRUE(parts.ok()) << parts.status();
  parts->each_address.handshake = 100ms;
  const auto server = Server::start(options, *std::move(parts));
  ASSERT_TRUE(server.ok()) << server.status();
  // The first bytes of a ClientHello of 512 bytes, of which no more comes.
  const std::string begun("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
  for (const std::string& address : {(*server)->addresses().grpc, (*server)->addresses().http}) {
    Stranger silent(address), slow(address);
    slow.say(begun);
    EXPECT_EQ(silent.hear(), "closed") << address;
    EXPECT_EQ(slow.hear(), "closed") << address;
  }
}

constexpr char kAlive[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";

class StrangersOverHttp : public ServerTest {
 protected:
  std::string http_address() const { return server_->addresses().http; }
  // Whether a connection is answered, and so was let in.
  static bool is_answered(Stranger& one) {
    one.say(kAlive);
    return one.hear().starts_with("HTTP/1.1 200");
  }
};

TEST_F(StrangersOverHttp, HaveNoMoreOpenConnectionsThanTheirAddressMayHave) {
  each_address_ = {.new_each_second = 100'000, .open = 3, .loopback = true};
  start();
  std::vector<std::unique_ptr<Stranger>> open;
  for (int i = 0; i < 3; ++i) {
    open.push_back(std::make_unique<Stranger>(http_address()));
    EXPECT_TRUE(is_answered(*open.back())) << i;
  }
  Stranger fourth(http_address());
  EXPECT_EQ(fourth.hear(), "closed");
  EXPECT_TRUE(is_answered(*open.front())) << "what is open goes on";
  open.pop_back();
  bool let_in = false;  // once the server has seen that one ended
  for (int i = 0; i < 100'000 && !let_in; ++i) {
    Stranger next(http_address());
    let_in = is_answered(next);
  }
  EXPECT_TRUE(let_in);
}

TEST_F(StrangersOverHttp, ComeNoFasterThanTheirAddressMay) {
  each_address_ = {.new_each_second = 1, .open = 1'000, .loopback = true};
  start();
  int refused = 0;
  for (int i = 0; i < 40 && refused == 0; ++i) {
    Stranger next(http_address());
    if (!is_answered(next)) ++refused;
  }
  EXPECT_EQ(refused, 1) << "a slow machine lets a few more in: one each second";
}

}  // namespace
}  // namespace locus::test
