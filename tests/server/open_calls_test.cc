// Calls under way end with what their callers showed: a certificate, a token, or both.
#include "server/grpc/open_calls.h"

#include <gtest/gtest.h>

#include "core/base/json.h"
#include "core/identity/secret.h"
#include "server/grpc/listener.h"
#include "server/grpc/principal_of.h"
#include "tests/server/support/enrolled.h"
#include "tests/server/support/fake_worker.h"
#include "tests/server/support/held_stream.h"

namespace locus::test {
namespace {

constexpr Microseconds kEightDays = Microseconds{8} * 86'400 * 1'000'000;

// Somebody with a certificate, who may show a token as well.
class CallsUnderWay : public EnrolledTest {
 protected:
  void SetUp() override {
    EnrolledTest::SetUp();
    submit("first");
    for (const char* name : {"ada", "bob"}) ASSERT_TRUE(enroll_as(invite("viewer", name), name).ok());
  }
  void submit(const std::string& name) {
    v1::CreateExperimentRequest request;
    request.set_spec_json(small_specification({{"name", name}}).dump());
    const auto created = admin_->create_experiment(request);
    ASSERT_TRUE(created.ok()) << created.status();
  }
  std::shared_ptr<grpc::Channel> channel_of(const std::string& name) {
    clients_.push_back(connect(name));
    return clients_.back()->channel();
  }
  std::string token_of(const std::string& name, int days = 1) {
    v1::CreateTokenRequest request;
    request.mutable_ttl()->set_seconds(days * 86'400);
    request.set_principal(name);
    request.set_role("viewer");
    const auto made = admin_->create_token(request);
    EXPECT_TRUE(made.ok()) << made.status();
    return made.ok() ? made->token() : "";
  }
  void revoke_certificate(const std::string& name) {
    v1::RevokeCertificateRequest request;
    request.set_serial(certificate_of(name).serial());
    const auto revoked = admin_->revoke_certificate(request);
    ASSERT_TRUE(revoked.ok()) << revoked.status();
  }
  void revoke_token(const std::string& token) {
    v1::RevokeTokenRequest request;
    request.set_id(parse_token(token)->id);
    const auto revoked = admin_->revoke_token(request);
    ASSERT_TRUE(revoked.ok()) << revoked.status();
  }
  // How a call over a new connection with certificate and token ends.
  grpc::StatusCode asks(const std::string& name, const std::string& token) {
    const auto context = deadline();
    context->AddMetadata("authorization", "Bearer " + token);
    v1::ListExperimentsResponse answer;
    return v1::ExperimentService::NewStub(channel_of(name))->ListExperiments(context.get(), {}, &answer).error_code();
  }

 private:
  std::vector<std::unique_ptr<Client>> clients_;
};

TEST_F(CallsUnderWay, OfARevokedCertificateEndWithinAHeartbeatAndOthersGoOn) {
  HeldWatch first(channel_of("ada")), second(channel_of("ada")), other(channel_of("bob"));
  revoke_certificate("ada");
  EXPECT_EQ(first.end().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(second.end().error_code(), grpc::StatusCode::CANCELLED) << "over a connection of its own";
  submit("second");
  EXPECT_TRUE(other.hears_of("second"));
}

TEST_F(CallsUnderWay, OfARevokedWorkerThatReportsPointsEndWithinAHeartbeat) {
  ASSERT_TRUE(enroll_as(invite("worker", "box"), "box").ok());
  const auto channel = channel_of("box");
  FakeWorker worker(channel, "box");
  ASSERT_TRUE(worker.register_with().ok());
  const auto work = worker.acquire();
  ASSERT_TRUE(work);
  const auto context = deadline(60);
  const auto stub = v1::WorkerService::NewStub(channel);
  const auto stream = stub->ReportPoints(context.get());
  ASSERT_TRUE(stream->Write(worker.batch(*work, "loss", "train", {3, 2}, 1)));
  v1::ReportPointsResponse response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.acked_seq(), 2);
  revoke_certificate("box");
  const grpc::Status ended = within_a_heartbeat(*context, [&] {
    while (stream->Read(&response)) continue;
    return stream->Finish();
  });
  EXPECT_EQ(ended.error_code(), grpc::StatusCode::CANCELLED) << ended.error_message();
}

TEST_F(CallsUnderWay, OfARevokedTokenEndThoughTheirCertificateIsInForce) {
  const std::string token = token_of("ada");
  HeldWatch by_token(channel_of("ada"), token), by_certificate(channel_of("ada"));
  revoke_token(token);
  EXPECT_EQ(by_token.end().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(asks("ada", token), grpc::StatusCode::UNAUTHENTICATED);
  submit("second");
  EXPECT_TRUE(by_certificate.hears_of("second"));
}

TEST_F(CallsUnderWay, OfARevokedCertificateEndThoughTheirTokenIsInForce) {
  const std::string token = token_of("ada");
  HeldWatch watch(channel_of("ada"), token);
  EXPECT_EQ(asks("ada", token), grpc::StatusCode::OK);
  revoke_certificate("ada");
  EXPECT_EQ(watch.end().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(asks("ada", token), grpc::StatusCode::UNAUTHENTICATED) << "nor does a token help a revoked certificate";
  EXPECT_EQ(asks("bob", token), grpc::StatusCode::OK) << "it is in force";
}

TEST_F(CallsUnderWay, EndWhenTheirCertificateOrTheirTokenHasRunOut) {
  ASSERT_TRUE(enroll_as(invite("provisioner", "pool"), "pool").ok());
  HeldWatch person(channel_of("ada")), short_lived(channel_of("pool"), token_of("vera", 1)),
      lasting(channel_of("pool"), token_of("vera", 30));
  server_->look_at_calls();
  submit("second");
  EXPECT_TRUE(person.hears_of("second")) << "not before";
  EXPECT_TRUE(short_lived.hears_of("second"));
  clock_.ahead = kEightDays;
  server_->look_at_calls();
  clock_.ahead = 0;  // the administrator's certificate is good for a week, too
  EXPECT_EQ(person.end().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(short_lived.end().error_code(), grpc::StatusCode::CANCELLED);
  submit("third");
  EXPECT_TRUE(lasting.hears_of("third")) << "a machine's certificate and its token are good for a month";
}

// ---- between the look at a caller and its registration ----

// Watches nobody's events, until it is cancelled.
class Endless final : public v1::ExperimentService::CallbackService {
 public:
  grpc::ServerWriteReactor<v1::WatchEventsResponse>* WatchEvents(grpc::CallbackServerContext*,
                                                                 const v1::WatchEventsRequest*) override {
    struct Stream final : grpc::ServerWriteReactor<v1::WatchEventsResponse> {
      void OnCancel() override { Finish(grpc::Status::CANCELLED); }
      void OnDone() override { delete this; }
    };
    return new Stream;
  }
};

// Lets everyone in, and revokes what they showed before the call begins.
class Hasty final : public grpc::AuthMetadataProcessor {
 public:
  explicit Hasty(server::OpenCalls& calls) : calls_(calls) {}
  grpc::Status Process(const InputMetadata&, grpc::AuthContext* context, OutputMetadata*, OutputMetadata*) override {
    context->AddProperty(server::property::kShown, "tokens/abcdefgh");
    calls_.end("tokens/abcdefgh");
    return grpc::Status::OK;
  }

 private:
  server::OpenCalls& calls_;
};

TEST(OpenCalls, EndOneThatWasLetInBeforeTheRevocationAndBeginsAfterIt) {
  server::OpenCalls calls;
  Endless service;
  const auto listener = server::GrpcListener::start(
      {&service}, {.host = "127.0.0.1", .processor = std::make_shared<Hasty>(calls), .calls = &calls});
  ASSERT_TRUE(listener.ok()) << listener.status();
  const auto channel =
      grpc::CreateChannel("127.0.0.1:" + std::to_string((*listener)->port()), grpc::InsecureChannelCredentials());
  const auto context = deadline();
  const auto reader = v1::ExperimentService::NewStub(channel)->WatchEvents(context.get(), {});
  v1::WatchEventsResponse response;
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED) << "not DEADLINE_EXCEEDED";
}

}  // namespace
}  // namespace locus::test
