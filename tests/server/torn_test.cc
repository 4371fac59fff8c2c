// Connections that something between client and server damages or cuts.
#include <gtest/gtest.h>

#include <filesystem>

#include "client/client.h"
#include "tests/server/support/enrolled.h"
#include "tests/server/support/relay.h"

namespace locus::test {
namespace {

class Torn : public EnrolledTest {
 protected:
  void SetUp() override {
    EnrolledTest::SetUp();
    relay_ = std::make_unique<Relay>(server_->addresses().grpc);
    const ClientOptions options{.patience = std::chrono::seconds(20), .tls = tls_in(folder_.path() / "admin")};
    client_ = Client::connect(relay_->address(), options).value();
  }

  // Over the relay; the specification that was sent, which the server must have if this is OK.
  absl::Status submit(const std::string& name) {
    v1::CreateExperimentRequest request;
    request.set_spec_json(small_specification({{"name", name}}).dump());
    return client_->create_experiment(request).status();
  }
  // As the server has it.
  std::string stored_as(const std::string& name) {
    v1::GetExperimentRequest request;
    request.set_name(name);
    const auto found = admin_->get_experiment(request);
    return found.ok() ? found->spec_json() : std::string(found.status().message());
  }

  std::unique_ptr<Relay> relay_;
  std::unique_ptr<Client> client_;
};

std::size_t open_descriptors() {
  const auto all = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST_F(Torn, AFlippedBitEndsTheConnectionAndNothingWrongIsStored) {
  ASSERT_TRUE(submit("sound").ok());
  Json expected = Json::parse(stored_as("sound"));
  for (int i = 0; i < 12; ++i) {
    const std::string name = "flipped-" + std::to_string(i);
    const int before = relay_->connections();
    if (i % 2 == 0) relay_->flip_to_server();
    if (i % 2 == 1) relay_->flip_to_client();
    const absl::Status status = submit(name);  // tried again over another connection
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_FALSE(relay_->flipping());
    EXPECT_GT(relay_->connections(), before) << "the connection went on with a flipped bit";
    expected["name"] = name;
    EXPECT_EQ(Json::parse(stored_as(name)), expected);
  }
  v1::ListExperimentsRequest all;
  all.set_page_size(100);
  EXPECT_EQ(admin_->list_experiments(all)->experiments_size(), 13) << "what was sent twice has one effect";
}

TEST_F(Torn, AConnectionThatKeepsBreakingIsTakenUpEachTimeAndLeavesNothingBehind) {
  ASSERT_TRUE(submit("before").ok());
  const std::size_t open = open_descriptors();
  const int before = relay_->connections();
  constexpr int kTimes = 30;
  for (int i = 0; i < kTimes; ++i) {
    relay_->cut();
    ASSERT_TRUE(submit("cut-" + std::to_string(i)).ok()) << i;
  }
  EXPECT_LE(relay_->connections() - before, 3 * kTimes) << "who is cut off does not knock without end";
  client_.reset();
  relay_.reset();
  EXPECT_LE(open_descriptors(), open + 4) << "connections that were cut are closed";
}

}  // namespace
}  // namespace locus::test
