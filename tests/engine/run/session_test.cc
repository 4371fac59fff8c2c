// The trainer's side of the conversation with its daemon.
#include <gmock/gmock.h>

#include "core/base/sha256.h"
#include "engine/catalog.h"
#include "tests/engine/run/trainer_process.h"
#include "tests/engine/train/recording.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

TEST(TrainerSession, GreetsWithItsCatalogAndEndsOnShutdown) {
  TrainerProcess trainer(LOCUS_TRAINER);
  const Json hello = trainer.wait_for("hello");
  EXPECT_EQ(hello.at("protocol"), 1);
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

}  // namespace
}  // namespace locus
