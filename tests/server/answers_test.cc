// How answers are made: computed side by side, kept while they hold, written as JSON.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <random>
#include <thread>

#include "core/base/json.h"
#include "locus/v1/admin_service.pb.h"
#include "locus/v1/analysis_service.pb.h"
#include "locus/v1/artifact_service.pb.h"
#include "locus/v1/catalog_service.pb.h"
#include "locus/v1/experiment_service.pb.h"
#include "locus/v1/metric_service.pb.h"
#include "locus/v1/worker_service.pb.h"
#include "server/analysis/kept_answers.h"
#include "server/http/routes.h"
#include "server/runtime/parallel.h"

namespace locus::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

TEST(InParallel, EveryTaskRunsOnce) {
  std::vector<std::atomic<int>> runs(1000);
  EXPECT_TRUE(for_each_in_parallel(runs.size(), [&](std::size_t i) {
                ++runs[i];
                return absl::OkStatus();
              }).ok());
  for (const auto& each : runs) EXPECT_EQ(each, 1);
  EXPECT_TRUE(for_each_in_parallel(0, [](std::size_t) { return absl::InternalError("none to run"); }).ok());
}

TEST(InParallel, TheFailureIsToldAndNothingMoreBegun) {
  std::atomic<std::size_t> begun = 0;
  const absl::Status status = for_each_in_parallel(100'000, [&](std::size_t i) {
    ++begun;
    return i == 5 ? absl::DataLossError("five") : absl::OkStatus();
  });
  EXPECT_EQ(status.message(), "five");
  EXPECT_LT(begun, 100'000u);
}

// Answers with its size as large as asked for.
v1::Table table_of(std::size_t bytes, int number) {
  v1::Table out;
  out.set_matched(std::string(bytes, 'x'));
  out.set_seeds(number);
  return out;
}

class Kept : public ::testing::Test {
 protected:
  // Which computation the answer came from.
  int ask(KeptAnswers<v1::Table>& kept, const std::string& question, const TableVersion& version,
          std::size_t bytes = 10) {
    const auto found =
        kept.get(question, {version}, [&]() -> absl::StatusOr<v1::Table> { return table_of(bytes, ++computed_); });
    return found.ok() ? (*found)->seeds() : -1;
  }
  int computed_ = 0;
};

TEST_F(Kept, AnAnswerHoldsUntilAnythingItDependsOnChanges) {
  KeptAnswers<v1::Table> kept(1 << 20);
  TableVersion version{1, 1, 10, 0, 500};
  EXPECT_EQ(ask(kept, "a", version), 1);
  EXPECT_EQ(ask(kept, "a", version), 1);
  EXPECT_EQ(ask(kept, "b", version), 2);  // another question
  int expected = 2;
  for (const auto& change : std::vector<std::function<void()>>{
           [&] { version.experiment = 2; }, [&] { ++version.revision; }, [&] { ++version.succeeded; },
           [&] { ++version.failed; }, [&] { ++version.newest_end; }}) {
    change();
    EXPECT_EQ(ask(kept, "a", version), ++expected);
    EXPECT_EQ(ask(kept, "a", version), expected);
  }
}

TEST_F(Kept, ARefusalIsAskedAgain) {
  KeptAnswers<v1::Table> kept(1 << 20);
  const auto refused =
      kept.get("a", {{}}, []() -> absl::StatusOr<v1::Table> { return absl::InvalidArgumentError("no such metric"); });
  EXPECT_EQ(refused.status().message(), "no such metric");
  EXPECT_EQ(ask(kept, "a", {}), 1);
}

TEST_F(Kept, TheLeastRecentlyAskedForGoFirst) {
  KeptAnswers<v1::Table> kept(3'000);
  for (const char* question : {"a", "b"}) ask(kept, question, {}, 1'000);
  EXPECT_EQ(ask(kept, "a", {}), 1);
  EXPECT_EQ(ask(kept, "c", {}, 1'000), 3);
  EXPECT_EQ(ask(kept, "a", {}), 1);
  EXPECT_EQ(ask(kept, "b", {}, 1'000), 4);
}

TEST_F(Kept, ALongQuestionIsAnsweredButNotKept) {
  KeptAnswers<v1::Table> kept(1 << 20);
  const std::string question(10'000, 'q');
  EXPECT_EQ(ask(kept, question, {}), 1);
  EXPECT_EQ(ask(kept, question, {}), 2);
}

TEST_F(Kept, WhoAsksMeanwhileWaitsForTheOneComputation) {
  KeptAnswers<v1::Table> kept(1 << 20);
  std::atomic<int> computed = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 8; ++i) {
    readers.emplace_back([&] {
      const auto found = kept.get("a", {{}}, [&]() -> absl::StatusOr<v1::Table> { return table_of(10, ++computed); });
      EXPECT_EQ((*found)->seeds(), 1);
    });
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(computed, 1);
}

// Fills every field of a message, those below it some levels deep.
class Filler {
 public:
  explicit Filler(std::uint64_t seed) : random_(seed) {}
  void fill(Message* message, int depth) {
    const Descriptor* type = message->GetDescriptor();
    if (type->full_name() == "google.protobuf.Timestamp" || type->full_name() == "google.protobuf.Duration") {
      message->GetReflection()->SetInt64(message, type->FindFieldByName("seconds"), 1'700'000'000);
      message->GetReflection()->SetInt32(message, type->FindFieldByName("nanos"), 123'000'000);
      return;
    }
    for (int i = 0; i < type->field_count(); ++i) {
      const FieldDescriptor* field = type->field(i);
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && depth == 0) continue;
      if (field->containing_oneof() != nullptr && random_() % 2 == 0) continue;
      const int times = field->is_repeated() ? static_cast<int>(random_() % 4) : 1;
      for (int k = 0; k < times; ++k) put(message, field, depth);
    }
  }

 private:
  double real() {
    const double some[] = {0,
                           -0.0,
                           1,
                           1e-300,
                           1e22,
                           0.1,
                           -2.5,
                           83.10000000000001,
                           std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::max()};
    return some[random_() % std::size(some)];
  }
  std::string text() {
    const char* some[] = {"",          "plain", "\"quoted\" \\ back", "line\nbreak\ttab\x01", "größer ± 0.5 µ",
                          "<b>&'</b>", "\x7f"};
    return some[random_() % std::size(some)];
  }
  void put(Message* message, const FieldDescriptor* field, int depth) {
    const Reflection* to = message->GetReflection();
    const bool many = field->is_repeated();
    const auto number = static_cast<std::int64_t>(random_());
#define LOCUS_PUT(Type, value) return many ? to->Add##Type(message, field, value) : to->Set##Type(message, field, value)
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        LOCUS_PUT(Int32, static_cast<std::int32_t>(number));
      case FieldDescriptor::CPPTYPE_UINT32:
        LOCUS_PUT(UInt32, static_cast<std::uint32_t>(number));
      case FieldDescriptor::CPPTYPE_INT64:
        LOCUS_PUT(Int64, number);
      case FieldDescriptor::CPPTYPE_UINT64:
        LOCUS_PUT(UInt64, static_cast<std::uint64_t>(number));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        LOCUS_PUT(Double, real());
      case FieldDescriptor::CPPTYPE_FLOAT:
        LOCUS_PUT(Float, 0.25f);
      case FieldDescriptor::CPPTYPE_BOOL:
        LOCUS_PUT(Bool, number % 2 == 0);
      case FieldDescriptor::CPPTYPE_ENUM:
        LOCUS_PUT(EnumValue, static_cast<int>(random_() % 2));
      case FieldDescriptor::CPPTYPE_STRING:
        if (field->type() == FieldDescriptor::TYPE_BYTES) LOCUS_PUT(String, std::string("\0\xff\x10", 3));
        LOCUS_PUT(String, text());
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return fill(many ? to->AddMessage(message, field) : to->MutableMessage(message, field), depth - 1);
    }
#undef LOCUS_PUT
  }

  std::mt19937_64 random_;
};

void expect_as_protobuf_writes(const Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string theirs;
  ASSERT_TRUE(google::protobuf::util::MessageToJsonString(message, &theirs, options).ok());
  const std::string ours = to_json(message);
  const Json read = Json::parse(ours, nullptr, false);
  EXPECT_EQ(read, Json::parse(theirs)) << message.GetDescriptor()->full_name() << "\n" << ours << "\n" << theirs;
}

TEST(MessageJson, SaysOfEveryMessageWhatProtobufSays) {
  int messages = 0;
  for (const auto* file :
       {v1::Table::descriptor()->file(), v1::PaperTable::descriptor()->file(), v1::Experiment::descriptor()->file(),
        v1::TrialDetail::descriptor()->file(), v1::Artifact::descriptor()->file(), v1::Server::descriptor()->file(),
        v1::QuerySeriesResponse::descriptor()->file(), v1::Worker::descriptor()->file(),
        v1::CheckReport::descriptor()->file()}) {
    for (int i = 0; i < file->message_type_count(); ++i) {
      const Descriptor* type = file->message_type(i);
      const Message* prototype = google::protobuf::MessageFactory::generated_factory()->GetPrototype(type);
      expect_as_protobuf_writes(*prototype);
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const std::unique_ptr<Message> message(prototype->New());
        Filler(seed).fill(message.get(), 3);
        expect_as_protobuf_writes(*message);
      }
      ++messages;
    }
  }
  EXPECT_GT(messages, 80);
}

TEST(MessageJson, ADoubleReadsBackToItself) {
  v1::TableRow row;
  row.set_mean(0.1 + 0.2);
  row.set_std(std::numeric_limits<double>::denorm_min());
  const Json json = Json::parse(to_json(row));
  EXPECT_EQ(json["mean"].get<double>(), 0.1 + 0.2);
  EXPECT_EQ(json["std"].get<double>(), std::numeric_limits<double>::denorm_min());
}

}  // namespace
}  // namespace locus::server
