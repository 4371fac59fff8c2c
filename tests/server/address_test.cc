// HTTP addresses, read from what the protos say of calls.
#include "server/http/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "locus/v1/artifact_service.pb.h"
#include "server/http/calls.h"

namespace locus::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

const google::protobuf::MethodDescriptor* method(const std::string& name) {
  const auto* found = google::protobuf::DescriptorPool::generated_pool()->FindMethodByName("locus.v1." + name);
  EXPECT_NE(found, nullptr) << name;
  return found;
}

TEST(Addresses, AnOrdinaryVariableIsTheField) {
  const auto addresses = addresses_of(method("ArtifactService.PinArtifact"));
  ASSERT_EQ(addresses.size(), 1u);
  EXPECT_EQ(addresses[0].method, "POST");
  EXPECT_EQ(addresses[0].pattern, "/api/v1/artifacts/{sha256}:pin");
  EXPECT_THAT(addresses[0].binding.from_path, ElementsAre(Pair("sha256", "{sha256}")));
  EXPECT_FALSE(addresses[0].binding.body);
}

TEST(Addresses, AnExperimentInAPathIsCalledNameWhateverTheField) {
  const auto addresses = addresses_of(method("ExperimentService.ListTrials"));
  ASSERT_EQ(addresses.size(), 1u);
  EXPECT_EQ(addresses[0].pattern, "/api/v1/experiments/{name}/trials");
  EXPECT_THAT(addresses[0].binding.from_path, ElementsAre(Pair("experiment", "{name}")));
}

TEST(Addresses, ATrialTakesTwoSegmentsOfThePath) {
  const auto addresses = addresses_of(method("ExperimentService.Annotate"));
  ASSERT_EQ(addresses.size(), 2u);
  EXPECT_EQ(addresses[1].pattern, "/api/v1/experiments/{name}/trials/{ordinal}:annotate");
  EXPECT_THAT(addresses[1].binding.from_path, ElementsAre(Pair("name", "{name}/{ordinal}")));
  EXPECT_TRUE(addresses[0].binding.body);
  EXPECT_TRUE(addresses[1].binding.body);
}

TEST(Addresses, AFieldOfAnotherAddressIsNoParameter) {
  const auto addresses = addresses_of(method("ExperimentService.ReadLog"));
  ASSERT_EQ(addresses.size(), 2u);
  EXPECT_THAT(addresses[0].binding.without, ElementsAre("stage"));
  EXPECT_EQ(addresses[1].pattern, "/api/v1/stages/{stage}/log");
  EXPECT_THAT(addresses[1].binding.without, UnorderedElementsAre("trial", "role")) << "a role is one of a trial's";
}

TEST(Addresses, FieldsOfAFlatMessageAreParametersUnderTheirOwnNames) {
  const auto addresses = addresses_of(method("MetricService.QuerySeries"));
  ASSERT_EQ(addresses.size(), 1u);
  EXPECT_THAT(
      addresses[0].binding.query_names,
      UnorderedElementsAre(Pair("metric", "key.metric"), Pair("split", "key.split"), Pair("labels", "key.labels")));
}

TEST(Addresses, ACallWithoutTheOptionHasNone) {
  EXPECT_THAT(addresses_of(method("WorkerService.RegisterWorker")), IsEmpty());
}

TEST(Calls, EachIsFoundAndIsAnsweredOneWay) {
  for (const Call& call : calls_with_address()) {
    ASSERT_NE(call.method, nullptr);
    EXPECT_NE(call.answer == nullptr, call.chunks == nullptr) << call.method->full_name();
    EXPECT_EQ(call.chunks != nullptr, call.method->server_streaming()) << call.method->full_name();
  }
}

}  // namespace
}  // namespace locus::server
