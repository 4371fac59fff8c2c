// The trainer's side of the conversation with its daemon.
#include <gmock/gmock.h>

#include <cstring>

#include "core/base/sha256.h"
#include "core/base/trainer_protocol.h"
#include "engine/catalog/catalog.h"
#include "tests/engine/run/trainer_process.h"
#include "tests/engine/train/recording.h"

namespace locus::engine {
namespace {

using ::testing::HasSubstr;

TEST(TrainerSession, GreetsWithItsCatalogAndEndsOnShutdown) {
  TrainerProcess trainer(LOCUS_TRAINER);
  const Json hello = trainer.wait_for("hello");
  EXPECT_EQ(hello.at("protocol"), kTrainerProtocolVersion);
  EXPECT_EQ(hello.at("catalog_digest"), sha256_hex(canonical_json(catalog_json())));
  trainer.send({{"type", "news"}, {"text", "unknown types are ignored"}});
  trainer.send({{"type", "shutdown"}});
  EXPECT_EQ(trainer.wait(), 0);
}

TEST(TrainerSession, EndsWhenTheDaemonIsGone) {
  TrainerProcess idle(LOCUS_TRAINER);
  idle.wait_for("hello");
  idle.hang_up();
  EXPECT_EQ(idle.wait(), 0);
}

TEST(TrainerSession, EndsInTheMiddleOfAnAttemptWhenTheDaemonIsGone) {
  LOCUS_NEEDS_FASHION_MNIST();
  const TemporaryFolder folder;
  Json endless = small_configuration();
  endless["recipe"]["options"]["epochs"] = 100000;
  TrainerProcess trainer(LOCUS_TRAINER);
  trainer.wait_for("hello");
  trainer.send(start_frame("s/1", endless, folder.path(), {}, 1e9));
  trainer.wait_for("started");
  trainer.hang_up();
  EXPECT_LE(trainer.wait(), 1);
}

TEST(TrainerSession, ServesAttemptsOneAfterAnother) {
  LOCUS_NEEDS_FASHION_MNIST();
  const TemporaryFolder folder;
  TrainerProcess trainer(LOCUS_TRAINER);
  trainer.wait_for("hello");
  for (const std::string attempt : {"s/1", "t/4"}) {
    trainer.send(start_frame(attempt, small_configuration(), folder.path(), {}, 1e9));
    const Json started = trainer.wait_for("started");
    EXPECT_EQ(started.at("attempt"), attempt);
    EXPECT_EQ(started.at("steps"), 24);
    EXPECT_EQ(started.at("environment").at("device"), "cpu");
    const Json done = trainer.wait_for("done");
    EXPECT_EQ(done.at("attempt"), attempt);
    EXPECT_EQ(done.at("outcome"), "succeeded");
    EXPECT_TRUE(std::filesystem::exists(done.at("outputs").at(0).at("path").get<std::string>()));
  }
  trainer.send({{"type", "shutdown"}});
  EXPECT_EQ(trainer.wait(), 0);
}

TEST(TrainerSession, KeepsRunningAfterAFailedAttempt) {
  const TemporaryFolder folder;
  TrainerProcess trainer(LOCUS_TRAINER);
  trainer.wait_for("hello");
  Json broken = small_configuration();
  broken["kind"] = "dream";
  trainer.send(start_frame("s/1", broken, folder.path(), {}, 1e9));
  const Json failed = trainer.wait_for("failed");
  EXPECT_EQ(failed.at("class"), "code");
  EXPECT_THAT(failed.at("reason").get<std::string>(), HasSubstr("dream"));
  trainer.send({{"type", "start"}, {"attempt", "s/2"}, {"stage", broken}});
  EXPECT_THAT(trainer.wait_for("failed").at("reason").get<std::string>(), HasSubstr("start frame"));
  trainer.send({{"type", "shutdown"}});
  EXPECT_EQ(trainer.wait(), 0);
}

// The whole way: a trainer that is handed such a file to go on from.
TEST(TrainerSession, EndsADamagedOrHostileCheckpointAsDataAndNamesIt) {
  LOCUS_NEEDS_FASHION_MNIST();
  const TemporaryFolder folder;
  TrainerProcess trainer(LOCUS_TRAINER);
  trainer.wait_for("hello");
  trainer.send(start_frame("s/1", small_configuration(), folder.path() / "made", {}, 0));
  const std::filesystem::path made = trainer.wait_for("checkpoint").at("path").get<std::string>();
  const std::string whole = read_bytes(made);
  const std::filesystem::path kept = folder.path() / "kept";
  write_bytes(kept, whole);
  trainer.wait_for("done");
  std::uint64_t header = 0;
  std::memcpy(&header, whole.data(), sizeof header);
  const auto lying = [&](std::uint64_t length) {
    std::string out = whole;
    std::memcpy(out.data(), &length, sizeof length);
    return out;
  };
  const auto changed = [&](const std::function<void(TensorFile&)>& change) {
    TensorFile file = read_safetensors(kept);
    change(file);
    write_safetensors(folder.path() / "changed", file);
    return read_bytes(folder.path() / "changed");
  };
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "too short"},
      {whole.substr(0, 7), "too short"},
      {whole.substr(0, 8), "header is longer"},
      {whole.substr(0, 8 + header / 2), "header is longer"},
      {whole.substr(0, 8 + header), "holds 0 bytes"},
      {whole.substr(0, 8 + header + 1), "holds 1 bytes"},
      {whole.substr(0, whole.size() - 1), "bytes of data where its header describes"},
      {whole + "x", "bytes of data where its header describes"},
      {lying(0), "not JSON"},
      {lying(1ull << 63), "header is longer"},
      {lying(whole.size()), "header is longer"},
      {std::string(1 << 16, '\xff'), "header is longer"},
      {changed([](TensorFile& file) { file.metadata["locus"] = std::string(100'000, '['); }), "cannot be read"},
      {changed([](TensorFile& file) {
         file.metadata["locus"] = R"({"format":)" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
       }),
       "nests deeper"},
      {changed([](TensorFile& file) {
         Json state = Json::parse(file.metadata.at("locus"));
         state["step"] = 1e300;
         file.metadata["locus"] = state.dump();
       }),
       "where a whole number stands"},
      {changed([](TensorFile& file) { file.metadata.clear(); }), "no checkpoint of Locus"},
      {changed([](TensorFile& file) {
         file.tensors.at("model.head.bias") = file.tensors.at("model.head.bias").to(at::kHalf);
       }),
       "where the model needs"},
      {changed(
           [](TensorFile& file) { file.tensors.at("model.head.bias").fill_(std::numeric_limits<float>::quiet_NaN()); }),
       "no finite numbers"},
      {changed([](TensorFile& file) {
         file.tensors.at("model.head.weight").view({-1})[3] = std::numeric_limits<float>::infinity();
       }),
       "no finite numbers"},
  };
  int attempt = 1;
  for (const auto& [bytes, says] : rows) {
    const auto path = folder.path() / ("resume-" + std::to_string(++attempt) + ".safetensors");
    write_bytes(path, bytes);
    trainer.send(start_frame("s/" + std::to_string(attempt), small_configuration(), folder.path() / "work", path, 1e9));
    std::optional<Json> frame = trainer.receive();
    while (frame && frame->at("type") != "failed" && frame->at("type") != "done") frame = trainer.receive();
    ASSERT_TRUE(frame) << "the trainer fell over " << says;
    ASSERT_EQ(frame->at("type"), "failed") << says;
    EXPECT_EQ(frame->at("class"), "data") << *frame;
    EXPECT_THAT(frame->at("reason").get<std::string>(), HasSubstr(says));
    EXPECT_THAT(frame->at("reason").get<std::string>(), HasSubstr(path.string()));
  }
  trainer.send({{"type", "shutdown"}});
  EXPECT_EQ(trainer.wait(), 0);
}

TEST(TrainerSession, HeedsWishesOfItsAttemptAlone) {
  LOCUS_NEEDS_FASHION_MNIST();
  const TemporaryFolder folder;
  Json endless = small_configuration();
  endless["recipe"]["options"]["epochs"] = 100000;
  TrainerProcess trainer(LOCUS_TRAINER);
  trainer.wait_for("hello");
  trainer.send(start_frame("s/1", endless, folder.path(), {}, 1e9));
  trainer.wait_for("started");
  trainer.send({{"type", "wish"}, {"attempt", "s/0"}, {"wish", "cancel"}});
  trainer.send({{"type", "wish"}, {"attempt", "s/1"}, {"wish", "checkpoint-and-stop"}});
  const Json checkpoint = trainer.wait_for("checkpoint");
  EXPECT_EQ(checkpoint.at("bytes"), std::filesystem::file_size(checkpoint.at("path").get<std::string>()));
  EXPECT_EQ(trainer.wait_for("done").at("outcome"), "stopped");
}

TEST(TrainerSession, ParksAtTheStopPointItBeganWith) {
  LOCUS_NEEDS_FASHION_MNIST();
  const TemporaryFolder folder;
  TrainerProcess trainer(LOCUS_TRAINER);
  trainer.wait_for("hello");
  for (const std::int64_t until : {1, 6}) {  // small_configuration() validates at even steps
    const std::string attempt = "s/" + std::to_string(until);
    Json start = start_frame(attempt, small_configuration(), folder.path(), {}, 1e9);
    start["until"] = until;
    trainer.send(start);
    const std::int64_t parked = until + until % 2;
    EXPECT_EQ(trainer.wait_for("checkpoint").at("step"), parked);
    const Json done = trainer.wait_for("done");
    EXPECT_EQ(done.at("attempt"), attempt);
    EXPECT_EQ(done.at("outcome"), kOutcomeParked);
    EXPECT_EQ(done.at("step"), parked);
    EXPECT_TRUE(done.at("outputs").empty());
    EXPECT_TRUE(done.at("results").empty());
  }
  trainer.send({{"type", "shutdown"}});
  EXPECT_EQ(trainer.wait(), 0);
}

TEST(TrainerSession, ParksWhereItsAttemptIsToldWhileItRuns) {
  LOCUS_NEEDS_FASHION_MNIST();
  const TemporaryFolder folder;
  Json endless = small_configuration();
  endless["recipe"]["options"].update({{"epochs", 100000}, {"validate_every", 0.25}});
  TrainerProcess trainer(LOCUS_TRAINER);
  trainer.wait_for("hello");
  Json start = start_frame("s/1", endless, folder.path(), {}, 1e9);
  start["until"] = 700'000;
  trainer.send(start);
  trainer.wait_for("started");
  trainer.send({{"type", kFrameUntil}, {"attempt", "s/0"}, {"step", 1}});                // of an attempt that is over
  while (trainer.wait_for("points").at("rows").back().at(1).get<std::int64_t>() <= 2) {  // it did not park at step 2
  }
  trainer.send({{"type", kFrameUntil}, {"attempt", "s/1"}, {"step", -1}});
  const Json checkpoint = trainer.wait_for("checkpoint");
  EXPECT_GT(checkpoint.at("step"), 2) << "what another attempt was told is not for this one";
  const Json done = trainer.wait_for("done");
  EXPECT_EQ(done.at("outcome"), kOutcomeParked);
  EXPECT_EQ(done.at("step"), checkpoint.at("step"));
}

}  // namespace
}  // namespace locus::engine
