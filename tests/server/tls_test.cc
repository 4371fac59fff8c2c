// Both doors over TLS: what is shown, who is let in, and what becomes of certificates that change while all runs.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <fstream>
#include <optional>

#include "client/client.h"
#include "client/https.h"
#include "core/base/error.h"
#include "tests/server/support/server_fixture.h"
#include "tests/server/support/test_authority.h"

namespace locus::test {
namespace {

namespace fs = std::filesystem;
namespace ssl = boost::asio::ssl;
using boost::asio::ip::tcp;
using namespace std::chrono_literals;

constexpr char kWorker[] = "spiffe://locus/worker/box", kAdmin[] = "spiffe://locus/admin/ada";
constexpr auto kUntil = 20s;  // what gRPC takes up within a second or two

// A server with the operator's files, which the test writes, and clients of any authority.
class Exposed : public testing::Test {
 protected:
  fs::path server_folder() const { return folder_.path() / "operator"; }

  void write_server(const TestAuthority::Holder& holder, const std::string& anchors) const {
    write_file(server_folder() / "key.pem", holder.key);
    write_file(server_folder() / "chain.pem", holder.certificate);
    write_file(server_folder() / "anchors.pem", anchors);
  }

  ServerOptions options() const {
    ServerOptions out;
    out.data = folder_.path() / "data";
    out.catalog = LOCUS_TEST_CATALOG;
    out.grpc_address = out.http_address = "127.0.0.1:0";
    out.tls.key = server_folder() / "key.pem";
    out.tls.certificate = server_folder() / "chain.pem";
    out.tls.anchors = server_folder() / "anchors.pem";
    out.tls.external_authority = true;
    return out;
  }

  static absl::StatusOr<std::unique_ptr<Server>> begin(const ServerOptions& options) {
    auto parts = make_parts(options);
    if (!parts.ok()) return parts.status();
    return Server::start(options, *std::move(parts));
  }

  void start() {
    write_server(authority_.server(), authority_.pem());
    auto server = begin(options());
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  std::unique_ptr<Client> client(const TestAuthority::Holder& holder, const std::string& believed) {
    const fs::path folder = folder_.path() / ("client-" + std::to_string(clients_++));
    auto made =
        Client::connect(server_->addresses().grpc, {.patience = {}, .tls = write_identity(folder, holder, believed)});
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(made);
  }
  std::unique_ptr<Client> client(const TestAuthority::Holder& holder) { return client(holder, authority_.pem()); }

  // Why a call with these is refused; OK when it is answered.
  absl::Status asks(const TestAuthority::Holder& holder) { return client(holder)->get_server().status(); }

  // Repeats with new connections until `wanted(status of a call)`; gRPC looks at its files each second.
  template <class Wanted>
  absl::Status asks_until(const TestAuthority::Holder& holder, const std::string& believed, Wanted wanted) {
    const auto end = std::chrono::steady_clock::now() + kUntil;
    while (true) {
      const absl::Status status = client(holder, believed)->get_server().status();
      if (wanted(status) || std::chrono::steady_clock::now() > end) return status;
    }
  }

  // The bearer token of the first administrator.
  std::string first_token() const {
    std::string token;
    std::ifstream(folder_.path() / "data" / "first-admin-token") >> token;
    return token;
  }

  // GET over TLS, believing any certificate; what was shown goes to shown_.
  std::string get(const std::string& path) {
    const std::string address = server_->addresses().http;
    boost::asio::io_context io;
    ssl::context context(ssl::context::tls_client);
    ssl::stream<tcp::socket> stream(io, context);
    const int port = std::stoi(address.substr(address.rfind(':') + 1));
    stream.next_layer().connect({boost::asio::ip::address_v4::loopback(), static_cast<unsigned short>(port)});
    stream.handshake(ssl::stream_base::client);
    X509* const shown = SSL_get1_peer_certificate(stream.native_handle());
    shown_ = Certificate(shown).serial();
    X509_free(shown);
    boost::asio::write(stream,
                       boost::asio::buffer("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" +
                                           "Authorization: Bearer " + first_token() + "\r\n\r\n"));
    std::string out;
    boost::system::error_code ended;
    boost::asio::read(stream, boost::asio::dynamic_buffer(out), ended);
    return out;
  }

  TemporaryFolder folder_;
  TestAuthority authority_;
  std::unique_ptr<Server> server_;
  std::string shown_;
  int clients_ = 0;
};

bool says(const absl::Status& status, const std::string& words) {
  return status.message().find(words) != std::string_view::npos;
}

TEST_F(Exposed, AnswersAClientOfItsAuthorityOnBothDoors) {
  start();
  const auto answer = client(authority_.client({kWorker}))->get_server();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_NE(get("/healthz").find("200 OK"), std::string::npos);
  EXPECT_TRUE(server_->answers()) << "it knows so itself";
  EXPECT_TRUE(server_->addresses().tls);
}

TEST_F(Exposed, RefusesClientsBeforeTheySpeak) {
  start();
  const TestAuthority other("Another authority");
  constexpr std::int64_t kDaySeconds = 86'400;
  const auto bad = [&](CertificateUse use, std::int64_t from, std::int64_t to) {
    return authority_.holder({use, "client", {kWorker}, {}, from, to});
  };
  const std::map<std::string, TestAuthority::Holder> holders = {
      {"of another authority", other.client({kWorker})},
      {"expired", bad(CertificateUse::kClient, -2 * kDaySeconds, -kDaySeconds)},
      {"not yet valid", bad(CertificateUse::kClient, kDaySeconds, 2 * kDaySeconds)},
      {"for servers", bad(CertificateUse::kServer, -60, kDaySeconds)},
  };
  for (const auto& [what, holder] : holders) {
    const absl::Status status = asks(holder);
    EXPECT_TRUE(has_reason(status, ErrorReason::kServerUnavailable)) << what << ": " << status;
  }
  EXPECT_TRUE(says(asks(holders.at("of another authority")), "is this machine's certificate accepted there?"));
  EXPECT_TRUE(says(asks(holders.at("expired")), "it was valid until")) << asks(holders.at("expired"));
  EXPECT_TRUE(says(asks(holders.at("not yet valid")), "set the clock")) << asks(holders.at("not yet valid"));
  const auto plain = Client::connect(server_->addresses().grpc, {.patience = {}});
  const absl::Status without = (*plain)->get_server().status();
  EXPECT_TRUE(has_reason(without, ErrorReason::kServerUnavailable)) << without;
  EXPECT_TRUE(asks(authority_.client({kWorker})).ok());
}

TEST_F(Exposed, AClientBelievesNoServerOfAnotherAuthority) {
  start();
  const TestAuthority other("Another authority");
  const absl::Status foreign = client(authority_.client({kWorker}), other.pem())->get_server().status();
  EXPECT_TRUE(has_reason(foreign, ErrorReason::kServerUnavailable)) << foreign;
  EXPECT_TRUE(says(foreign, "is not of the authority in")) << foreign;
}

TEST_F(Exposed, AClientBelievesNoServerOfAnotherName) {
  const ClientTls tls = write_identity(folder_.path() / "named", authority_.client({kWorker}), authority_.pem());
  const std::string fingerprint = Certificate::read(authority_.pem(), "the authority").value().front().fingerprint();
  const auto begin_with = [&](const std::vector<std::string>& names) {
    server_.reset();
    write_server(authority_.server(names), authority_.pem());
    server_ = begin(options()).value();
  };
  const auto port_of = [](const std::string& address) { return address.substr(address.rfind(':') + 1); };
  const auto over_grpc = [&](const std::string& host) {
    const std::string address = host + ":" + port_of(server_->addresses().grpc);
    return (*Client::connect(address, {.patience = {}, .tls = tls}))->get_server().status();
  };
  const auto over_https = [&](const std::string& host) {
    return post_over_https({host, port_of(server_->addresses().http)}, fingerprint, "/login", "{}", 10s).status();
  };
  begin_with({"127.0.0.1"});
  EXPECT_TRUE(over_grpc("127.0.0.1").ok()) << "it listens";
  EXPECT_TRUE(over_https("127.0.0.1").ok());
  const absl::Status wrong = over_grpc("localhost");
  EXPECT_TRUE(has_reason(wrong, ErrorReason::kServerUnavailable)) << wrong;
  EXPECT_TRUE(says(wrong, "the server's certificate is not for localhost:")) << wrong;
  const absl::Status untold = over_https("localhost");
  EXPECT_TRUE(has_reason(untold, ErrorReason::kCertificateInvalid)) << untold;
  EXPECT_TRUE(says(untold, "its certificate is for another name")) << untold;
  begin_with({"127.0.0.1", "localhost"});
  EXPECT_TRUE(over_grpc("localhost").ok()) << "with that name it is believed";
  EXPECT_TRUE(over_https("localhost").ok());
}

TEST_F(Exposed, NewConnectionsSeeANewCertificateAndOpenOnesGoOn) {
  start();
  const auto before = client(authority_.client({kAdmin}));
  ASSERT_TRUE(before->get_server().ok());
  get("/healthz");
  const std::string old = shown_;
  const TestAuthority second("Second authority");
  const auto fresh = second.server();
  write_server(fresh, authority_.pem() + second.pem());
  server_->look_at_certificates();
  get("/healthz");
  EXPECT_EQ(shown_, fresh.serial) << "HTTP's next connection";
  EXPECT_NE(shown_, old);
  const auto ok = [](const absl::Status& status) { return status.ok(); };
  EXPECT_TRUE(asks_until(authority_.client({kWorker}), second.pem(), ok).ok()) << "gRPC's next connections";
  EXPECT_TRUE(asks_until(second.client({kWorker}), second.pem(), ok).ok()) << "clients of both authorities are let in";
  EXPECT_TRUE(before->get_server().ok()) << "the open connection goes on";
  // The first authority is taken out.
  write_server(fresh, second.pem());
  server_->look_at_certificates();
  const auto refused = [](const absl::Status& status) { return !status.ok(); };
  EXPECT_FALSE(asks_until(authority_.client({kWorker}), second.pem(), refused).ok());
  EXPECT_TRUE(client(second.client({kWorker}), second.pem())->get_server().ok());
}

TEST_F(Exposed, ABadSetStaysUnpublishedAndIsToldUntilItIsMended) {
  start();
  get("/healthz");
  const std::string old = shown_;
  const auto good = authority_.server(), other = authority_.server();
  const auto expired = authority_.holder({CertificateUse::kServer, "server", {}, {"127.0.0.1"}, -9'000, -60});
  const auto of_client = authority_.client({kWorker});
  const std::map<std::string, std::pair<TestAuthority::Holder, std::string>> sets = {
      {"not that of its certificate", {{good.key, other.certificate, ""}, authority_.pem()}},
      {"no certificates in PEM", {{good.key, good.certificate.substr(0, 300), ""}, authority_.pem()}},
      {"no private key", {{"half a key", good.certificate, ""}, authority_.pem()}},
      {"has expired", {expired, authority_.pem()}},
      {"not for \"127.0.0.1\"", {authority_.server({"example.org"}), authority_.pem()}},
      {"clients' authorities is no authority", {good, of_client.certificate}},
      {"file of clients' authorities", {good, "nothing"}},
  };
  for (const auto& [words, set] : sets) {
    write_server(set.first, set.second);
    server_->look_at_certificates();
    const std::string ready = get("/readyz");
    EXPECT_NE(ready.find("200 OK"), std::string::npos) << words;
    EXPECT_NE(ready.find(words), std::string::npos) << ready;
    EXPECT_NE(get("/metrics").find("locus_certificate_refused 1"), std::string::npos) << words;
    EXPECT_EQ(shown_, old) << words;
    EXPECT_TRUE(asks(authority_.client({kWorker})).ok()) << words;
  }
  write_server(good, authority_.pem());
  server_->look_at_certificates();
  EXPECT_EQ(get("/readyz").find("tls:"), std::string::npos);
  EXPECT_NE(get("/metrics").find("locus_certificate_refused 0"), std::string::npos);
  EXPECT_EQ(shown_, good.serial);
}

TEST_F(Exposed, StartsWithNothingThatFailsACheck) {
  write_server(authority_.server({"example.org"}), authority_.pem());
  const auto refused = begin(options());
  EXPECT_TRUE(has_reason(refused.status(), ErrorReason::kCertificateInvalid)) << refused.status();
}

TEST_F(Exposed, ListensBeyondLoopbackOnlyWithTlsAndAnAuthorityForClients) {
  write_server(authority_.server({"127.0.0.1", "localhost"}), authority_.pem());
  ServerOptions open = options();
  open.grpc_address = open.http_address = "0.0.0.0:0";
  EXPECT_TRUE(begin(open).ok());
  open.tls.anchors.clear();
  const auto refused = begin(open);
  EXPECT_TRUE(has_reason(refused.status(), ErrorReason::kAddressRefused)) << refused.status();
  open.grpc_address = "127.0.0.1:0";
  EXPECT_TRUE(begin(open).ok()) << "HTTP alone";
  open.tls = {};
  EXPECT_TRUE(has_reason(begin(open).status(), ErrorReason::kAddressRefused));
}

// TLS let the client in, whatever the server thinks of a certificate that it has not issued itself.
bool let_in(const absl::Status& status) { return status.ok() || has_reason(status, ErrorReason::kNotAuthenticated); }

// With an authority of its own.
class OwnAuthority : public Exposed {
 protected:
  ServerOptions own() const {
    ServerOptions out = options();
    out.tls = {};
    out.tls.names = {"localhost", "127.0.0.1"};
    return out;
  }
  fs::path folder() const { return folder_.path() / "data" / "tls"; }
  TestAuthority signer() const {
    return TestAuthority(server::Authority::open(folder(), seconds_now()).value().server_issuer().value());
  }
};

TEST_F(OwnAuthority, IssuesTheServersCertificateAndTrustsWhatItSigns) {
  server_ = begin(own()).value();
  const auto authority = signer();
  EXPECT_TRUE(let_in(client(authority.client({kWorker}), authority.pem())->get_server().status()));
  get("/healthz");
  const std::string shown = shown_;
  server_->look_at_certificates();
  get("/healthz");
  EXPECT_EQ(shown_, shown) << "as long as it is good";
  const auto permissions = fs::status(folder() / "authority.key").permissions();
  EXPECT_EQ(permissions & fs::perms::all, fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(OwnAuthority, RunsOnWithoutItsKeyAndSignsNothing) {
  server_ = begin(own()).value();
  fs::remove(folder() / "authority.key");
  server_->look_at_certificates();
  EXPECT_EQ(get("/readyz").find("tls:"), std::string::npos);
  const auto authority = server::Authority::open(folder(), seconds_now());
  ASSERT_TRUE(authority.ok()) << authority.status();
  const absl::Status lost = authority->sign_client(kWorker, "box", "", seconds_now(), 60).status();
  EXPECT_TRUE(absl::IsUnavailable(lost)) << lost;
  EXPECT_TRUE(says(lost, "locus admin ca new"));
}

TEST_F(OwnAuthority, ANewAuthorityTakesOverWithoutLockingAnyoneOut) {
  server_ = begin(own()).value();
  const TestAuthority first = signer();
  const auto old_client = first.client({kWorker});
  ASSERT_TRUE(server::Authority::renew(folder(), seconds_now()).ok());
  EXPECT_FALSE(server::Authority::renew(folder(), seconds_now()).ok()) << "one at a time";
  server_->look_at_certificates();
  const auto both = server::Authority::open(folder(), seconds_now()).value();
  const auto key = PrivateKey::make().value();
  const auto signed_by_new = both.sign_client(kAdmin, "ada", key.request("x").value(), seconds_now(), 3'600).value();
  const TestAuthority::Holder new_client{key.pem(), signed_by_new.pem(), signed_by_new.serial()};
  EXPECT_TRUE(let_in(asks_until(new_client, both.anchors(), let_in)));
  EXPECT_TRUE(let_in(client(old_client, first.pem())->get_server().status())) << "which knows nothing of the new one";
  ASSERT_TRUE(server::Authority::retire(folder()).ok());
  server_->look_at_certificates();
  const auto refused = [](const absl::Status& status) { return !let_in(status); };
  EXPECT_FALSE(let_in(asks_until(old_client, both.anchors(), refused)));
  EXPECT_TRUE(let_in(asks_until(new_client, both.certificate().pem(), let_in)));
}

}  // namespace
}  // namespace locus::test
