// How a trainer is started, with the code of others, and what it says that it can run.
#include "worker/app/trainer_command.h"

#include <gmock/gmock.h>

#include <fstream>

#include "core/base/sha256.h"
#include "tests/client/temporary_folder.h"
#include "worker/app/trainer_isolation.h"

namespace locus {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TrainerCommandTest : public ::testing::Test {
 protected:
  TrainerCommandTest() {
    options_.work = folder_ / "work";
    options_.trainer = "/bin/trainer";
  }
  std::filesystem::path file(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  // A trainer that prints this for whatever it is asked.
  TrainerCommand saying(const Json& document) {
    const auto script = file("says", "#!/bin/sh\ncat <<'END'\n" + document.dump() + "\nEND\n");
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    return {{script.string()}, {}};
  }
  static Json own_catalog(const std::vector<std::string>& uses) {
    const Json item = {{"kind", "prior"},
                       {"id", "mine"},
                       {"revision", 3},
                       {"origin", {{"name", "own"}, {"by", "training"}, {"digest", std::string(64, 'a')}}}};
    return {{"version", 1}, {"items", {item}}, {"uses", uses}};
  }

  TemporaryFolder folder_;
  WorkerOptions options_;
};

TEST_F(TrainerCommandTest, IsTheProgramAloneWithoutPlugins) {
  EXPECT_THAT(trainer_command(options_)->words, ElementsAre("/bin/trainer"));
}

TEST_F(TrainerCommandTest, LoadsCopiesOfPluginsThatStayAsTheyWereAnnounced) {
  const auto plugin = file("own.so", "first");
  options_.plugins = {plugin};
  const auto command = trainer_command(options_);
  ASSERT_TRUE(command.ok()) << command.status();
  const auto copy = options_.work / "plugins" / (sha256_hex("first") + ".so");
  EXPECT_THAT(command->words, ElementsAre("/bin/trainer", "--plugin", copy.string()));
  file("own.so", "second");
  std::string kept;
  std::ifstream(copy) >> kept;
  EXPECT_EQ(kept, "first");
  EXPECT_THAT(trainer_rules(options_, Json::object(), folder_ / "scratch", command->code).read, Contains(copy))
      << "an isolated trainer reads it";
  ASSERT_TRUE(trainer_command(options_).ok());
  EXPECT_FALSE(std::filesystem::exists(copy)) << "of a daemon that has ended";
}

TEST_F(TrainerCommandTest, NamesAPluginThatIsNotThere) {
  options_.plugins = {folder_ / "nowhere.so"};
  const auto command = trainer_command(options_);
  EXPECT_EQ(command.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(command.status().message()), HasSubstr("nowhere.so"));
}

TEST_F(TrainerCommandTest, AddsTheItemsOfLocusThatATrainerUses) {
  const Json said = own_catalog({"dataset/fashion-mnist"});
  const auto catalog = trainer_catalog(saying(said));
  ASSERT_TRUE(catalog.ok()) << catalog.status();
  EXPECT_NE(catalog->catalog.find("dataset", "fashion-mnist"), nullptr);
  EXPECT_EQ(catalog->digest, sha256_hex(canonical_json(said))) << "as the trainer says it when it starts";
  const auto unknown = trainer_catalog(saying(own_catalog({"dataset/nowhere"})));
  EXPECT_EQ(unknown.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(unknown.status().message()), HasSubstr("dataset/nowhere"));
}

TEST_F(TrainerCommandTest, AnnouncesWhatComesFromOutsideWithItsDigest) {
  const auto catalog = trainer_catalog(saying(own_catalog({})));
  ASSERT_TRUE(catalog.ok()) << catalog.status();
  v1::RegisterWorkerRequest announcement;
  announce_catalog(*catalog, 7, announcement);
  EXPECT_EQ(announcement.revisions().at("prior/mine"), 3);
  ASSERT_EQ(announcement.extensions_size(), 1);
  const v1::CatalogExtension& own = announcement.extensions(0);
  EXPECT_EQ(own.name(), "own");
  EXPECT_EQ(own.by(), "training");
  EXPECT_EQ(own.digest(), std::string(64, 'a'));
  EXPECT_EQ(own.loaded_us(), 7);
  EXPECT_THAT(own.items_json(), ::testing::Not(HasSubstr("origin")));
}

}  // namespace
}  // namespace locus
