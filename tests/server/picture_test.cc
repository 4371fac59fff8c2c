// Pictures on demand: what is checked, what is kept, and the trainer as a child with bounds.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "client/client.h"
#include "core/base/error.h"
#include "core/base/sha256.h"
#include "server/app/picture_program.h"
#include "storage/artifacts/memory.h"
#include "storage/memory/store.h"
#include "tests/server/support/fake_worker.h"
#include "tests/server/support/server_fixture.h"

namespace locus::server {
namespace {

namespace fs = std::filesystem;

Catalog catalog_of(const std::string& file) {
  std::ifstream in(file);
  return *Catalog::parse(Json::parse(in));
}

class Pictures : public testing::Test {
 protected:
  Pictures()
      : artifacts_(make_memory_artifacts()),
        store_(make_memory_store()),
        catalogs_(catalog_of(LOCUS_TEST_ENGINE_CATALOG), *store_, system_clock()) {
    std::string name = (fs::temp_directory_path() / "locus-desk-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~Pictures() override { fs::remove_all(folder_); }

  std::string store(const std::string& bytes) {
    auto writer = *artifacts_->create();
    EXPECT_TRUE(writer->write(bytes).ok());
    EXPECT_TRUE(writer->commit(sha256_hex(bytes)).ok());
    return sha256_hex(bytes);
  }

  // A desk whose trainer answers with its arguments, and counts.
  std::unique_ptr<PictureDesk> desk() {
    PictureProgram program{[this](const std::vector<std::string>& arguments) -> absl::StatusOr<std::string> {
                             ++runs_;
                             if (arguments.at(1) != "--trained") return Json(arguments).dump();
                             std::ifstream in(arguments.at(2));
                             Json request = Json::parse(in);
                             std::ifstream weights(request.at("weights").get<std::string>());
                             request["weights"] = std::string(std::istreambuf_iterator<char>(weights), {});
                             return request.dump();
                           },
                           "1"};
    return std::make_unique<PictureDesk>(*artifacts_, catalogs_, program, folder_ / "pictures", "/data");
  }

  v1::TrialDetail trial() {
    v1::TrialDetail out;
    out.mutable_trial()->set_name("demo/3");
    v1::StageDetail* stage = out.add_stages();
    stage->set_config_json(R"({"kind":"train","seed":1})");
    const auto add = [&](const std::string& bytes, std::int64_t step, bool present) {
      v1::Checkpoint* one = stage->add_checkpoints();
      one->set_sha256(store(bytes));
      one->set_step(step);
      one->set_present(present);
    };
    add("at ten", 10, true);
    add("at twenty", 20, false);
    v1::Output* output = stage->add_outputs();
    output->set_sha256(store("the end"));
    output->set_step(40);
    return out;
  }

  std::unique_ptr<ArtifactStore> artifacts_;
  std::unique_ptr<Store> store_;
  Catalogs catalogs_;
  fs::path folder_;
  std::atomic<int> runs_{0};
};

v1::DrawTrialRequest wish(const std::string& kind, const std::string& images = "") {
  v1::DrawTrialRequest out;
  out.set_kind(kind);
  out.set_images(images);
  return out;
}

TEST_F(Pictures, ATrialsNewestWeightsAreTakenUnlessAStepIsNamed) {
  const auto desk = this->desk();
  const v1::TrialDetail trial = this->trial();
  const auto newest = desk->draw(wish("attention", "0,7"), trial);
  ASSERT_TRUE(newest.ok()) << newest.status();
  EXPECT_EQ(newest->step(), 40);
  const Json asked = Json::parse(newest->json());
  EXPECT_EQ(asked.at("weights"), "the end");
  EXPECT_EQ(asked.at("images"), (Json{0, 7}));
  EXPECT_EQ(asked.at("split"), "test");
  EXPECT_EQ(asked.at("data_root"), "/data");
  EXPECT_EQ(asked.at("configuration").at("seed"), 1);
  v1::DrawTrialRequest early = wish("trained-prior");
  early.set_step(10);
  EXPECT_EQ(Json::parse(desk->draw(early, trial)->json()).at("weights"), "at ten");
  early.set_step(20);  // let go
  const auto gone = desk->draw(early, trial);
  EXPECT_TRUE(has_reason(gone.status(), ErrorReason::kArtifactNotFound)) << gone.status();
  EXPECT_EQ(error_detail(gone.status())->metadata.at("steps"), "10, 40");
  EXPECT_TRUE(has_reason(desk->draw(wish("trained-prior"), v1::TrialDetail()).status(), ErrorReason::kWrongState));
  EXPECT_TRUE(fs::is_empty(folder_ / "pictures" / "work")) << "nothing of a request stays behind";
}

TEST_F(Pictures, WhatWasDrawnIsKeptUntilTheProgramIsAnother) {
  const v1::TrialDetail trial = this->trial();
  ASSERT_TRUE(desk()->draw(wish("trained-prior"), trial).ok());
  ASSERT_TRUE(desk()->draw(wish("trained-prior"), trial).ok());
  EXPECT_EQ(runs_, 1);
  ASSERT_TRUE(desk()->draw(wish("attention", "1"), trial).ok());
  EXPECT_EQ(runs_, 2);
  PictureDesk newer(*artifacts_, catalogs_,
                    {[this](const auto&) -> absl::StatusOr<std::string> { return std::to_string(++runs_); }, "2"},
                    folder_ / "pictures", "/data");
  EXPECT_EQ(newer.draw(wish("trained-prior"), trial)->json(), "3");
}

TEST_F(Pictures, OfAnExtensionAreDrawnWhereItsCodeIs) {
  v1::RegisterWorkerRequest announced;
  auto* own = announced.add_extensions();
  own->set_name("own-prior");
  own->set_by("plugin");
  own->set_digest(std::string(64, 'a'));
  own->set_items_json(R"([{"kind":"prior","id":"mine","revision":1}])");
  ASSERT_TRUE(catalogs_.learn(announced).ok());
  v1::DrawPriorRequest prior;
  prior.set_prior("mine");
  const auto refused = desk()->draw(prior);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(refused.status().message().find("own-prior"), std::string::npos) << refused.status();
  EXPECT_EQ(runs_, 0);
}

TEST_F(Pictures, WhatIsKeptHasABound) {
  PictureDesk large(*artifacts_, catalogs_,
                    {[](const auto&) -> absl::StatusOr<std::string> { return std::string(3 << 20, 'x'); }, "1"},
                    folder_ / "pictures", "/data");
  const v1::TrialDetail trial = this->trial();
  for (int image = 0; image < 24; ++image)
    ASSERT_TRUE(large.draw(wish("attention", std::to_string(image)), trial).ok());
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder_ / "pictures")) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  EXPECT_LE(bytes, std::uintmax_t{64} << 20);
  EXPECT_GT(bytes, std::uintmax_t{48} << 20);
}

TEST_F(Pictures, OfATrialAreOfTheModelThatIsNamed) {
  v1::TrialDetail trial = this->trial();
  const auto drawn = [&, desk = desk()](const std::string& checkpoint) {
    v1::DrawTrialRequest request = wish("trained-prior");
    request.set_checkpoint(checkpoint);
    return desk->draw(request, trial);
  };
  const auto best = drawn("best");
  EXPECT_TRUE(has_reason(best.status(), ErrorReason::kArtifactNotFound)) << best.status();
  EXPECT_NE(best.status().message().find("validated best"), std::string::npos);
  for (const auto& [slot, step] :
       {std::pair("best-checkpoint", 30), {"snapshot-1", 13}, {"picture-1", 99}, {"pictures", 99}}) {
    v1::Output* output = trial.mutable_stages(0)->add_outputs();
    output->set_slot(slot);
    output->set_sha256(store(slot));
    output->set_step(step);
  }
  const auto weights = [](const auto& picture) {
    return picture.ok() ? Json::parse(picture->json()).at("weights").template get<std::string>()
                        : picture.status().ToString();
  };
  EXPECT_EQ(weights(drawn("")), "the end") << "pictures of scored images are no weights";
  EXPECT_EQ(weights(drawn("last")), "the end");
  EXPECT_TRUE(has_reason(drawn("99").status(), ErrorReason::kArtifactNotFound));
  EXPECT_EQ(weights(drawn("best")), "best-checkpoint");
  EXPECT_EQ(weights(drawn("13")), "snapshot-1");
  const auto initial = drawn("initial");
  EXPECT_EQ(weights(initial), "") << "none are needed";
  EXPECT_EQ(initial->step(), 0);
  EXPECT_EQ(initial->sha256(), "");
  EXPECT_EQ(weights(drawn("0")), "");
  for (const char* nonsense : {"first", "-1", "1.5", "12x"}) {
    const auto detail = error_detail(drawn(nonsense).status());
    EXPECT_EQ(detail ? detail->field : "", "checkpoint") << nonsense;
  }
  trial.mutable_stages(0)->clear_outputs();
  trial.mutable_stages(0)->clear_checkpoints();
  EXPECT_TRUE(has_reason(drawn("last").status(), ErrorReason::kWrongState));
  EXPECT_EQ(weights(drawn("initial")), "") << "it is there before training";
}

TEST_F(Pictures, RequestsThatBreakTheirFormAreRefusedByField) {
  const auto desk = this->desk();
  const v1::TrialDetail trial = this->trial();
  const auto field = [](const absl::Status& status) {
    const auto detail = error_detail(status);
    return detail ? detail->field : "none: " + status.ToString();
  };
  EXPECT_EQ(field(desk->draw(wish("portrait"), trial).status()), "kind");
  EXPECT_EQ(field(desk->draw(wish("attention"), trial).status()), "images");
  for (const char* images : {"-1", "1,", ",1", "a", "1 2", "$(true)", "99999999999999999999"})
    EXPECT_EQ(field(desk->draw(wish("attention", images), trial).status()), "images") << images;
  v1::DrawTrialRequest request = wish("attention", "0");
  request.set_split("../test");
  EXPECT_EQ(field(desk->draw(request, trial).status()), "split");
  request = wish("trained-prior");
  request.set_step(10);
  request.set_checkpoint("best");
  EXPECT_EQ(field(desk->draw(request, trial).status()), "checkpoint");
  v1::DrawPriorRequest prior;
  prior.set_prior("../violin");
  EXPECT_TRUE(has_reason(desk->draw(prior).status(), ErrorReason::kUnknownPrior));
  prior.set_prior("violin");
  prior.set_options("[1]");
  EXPECT_EQ(field(desk->draw(prior).status()), "options");
  prior.set_options(R"({"curvse": ["snake"]})");
  EXPECT_TRUE(has_reason(desk->draw(prior).status(), ErrorReason::kUnknownKey));
  prior.set_options("");
  prior.set_rows(40);
  prior.set_columns(40);
  EXPECT_TRUE(has_reason(desk->draw(prior).status(), ErrorReason::kLimitExceeded));
  prior.set_rows(-1);
  EXPECT_EQ(field(desk->draw(prior).status()), "rows");
  EXPECT_EQ(runs_, 0);
}

TEST_F(Pictures, APriorIsDrawnWithWhatWasChangedAndDefaults) {
  v1::DrawPriorRequest request;
  request.set_prior("violin");
  request.set_options(R"({"curves": ["snake"]})");
  request.set_columns(8);
  const auto drawn = desk()->draw(request);
  ASSERT_TRUE(drawn.ok()) << drawn.status();
  const auto arguments = Json::parse(drawn->json()).get<std::vector<std::string>>();
  ASSERT_GE(arguments.size(), 8u);
  EXPECT_EQ(arguments[1], "violin");
  EXPECT_EQ(Json::parse(arguments[3]).at("curves"), Json{"snake"});
  EXPECT_EQ(arguments[5], "6x8");
  EXPECT_EQ(arguments[7], "4");
}

// A program of a shell script.
fs::path script(const fs::path& folder, const std::string& text) {
  const fs::path path = folder / "program";
  std::ofstream(path) << "#!/bin/sh\n" << text;
  ::chmod(path.c_str(), 0700);
  return path;
}

// A server whose trainer is a script that says what it was asked, and the typed client.
class PicturesByClient : public test::ServerTest {
 protected:
  void SetUp() override {
    ServerOptions options;
    options.trainer = script(
        folder_.path(), "if [ \"$2\" = --trained ]; then cat \"$3\"; else printf '{\"prior\": \"%s\"}' \"$2\"; fi");
    start(options);
    client_ = *Client::connect(grpc_address());
  }
  test::TemporaryFolder folder_;
  std::unique_ptr<Client> client_;
};

TEST_F(PicturesByClient, AreOfPriorsAndOfTrials) {
  v1::DrawPriorRequest prior;
  prior.set_prior("violin");
  const auto drawn = client_->draw_prior(prior);
  ASSERT_TRUE(drawn.ok()) << drawn.status();
  EXPECT_EQ(Json::parse(drawn->json()), (Json{{"prior", "violin"}}));

  submit(test::small_specification());
  test::FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  const auto work = worker.acquire();
  ASSERT_TRUE(work);
  const std::string weights = worker.upload("weights");
  ASSERT_TRUE(worker.commit_checkpoint(*work, 10, weights).ok());
  v1::DrawTrialRequest trial = wish("attention", "3");
  for (int i = 0; i < 9; ++i) {
    trial.set_trial("small/" + std::to_string(i));
    const auto picture = client_->draw_trial(trial);
    if (!picture.ok()) {
      EXPECT_TRUE(has_reason(picture.status(), ErrorReason::kWrongState)) << picture.status();
      continue;
    }
    EXPECT_EQ(picture->step(), 10);
    EXPECT_EQ(picture->sha256(), weights);
    EXPECT_EQ(Json::parse(picture->json()).at("images"), Json{3});
    return;
  }
  FAIL() << "no trial has the checkpoint";
}

TEST_F(PicturesByClient, RefusalsKeepTheirReasonAndField) {
  v1::DrawTrialRequest trial = wish("attention");
  trial.set_trial("small/0");
  EXPECT_TRUE(has_reason(client_->draw_trial(trial).status(), ErrorReason::kExperimentNotFound));
  submit(test::small_specification());
  const auto refused = client_->draw_trial(trial);
  ASSERT_TRUE(error_detail(refused.status()));
  EXPECT_EQ(error_detail(refused.status())->field, "images");
}

TEST_F(Pictures, WithoutATrainerTheAnswerSaysWhatToInstall) {
  for (const fs::path& trainer : {fs::path(), folder_ / "missing"}) {
    const auto refused = make_picture_program(trainer, "/data", true).run({"picture", "violin"});
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_TRUE(has_reason(refused.status(), ErrorReason::kWrongState));
    EXPECT_NE(refused.status().message().find("install locus-trainer beside locus"), std::string::npos);
  }
}

TEST_F(Pictures, WhatTheTrainerSaysBecomesTheRefusal) {
  const auto refusal = [&](const std::string& text) {
    return make_picture_program(script(folder_, text), folder_, true).run({"picture"}).status();
  };
  const absl::Status wrong = refusal("echo 'locus-trainer picture: no such layer' >&2; echo usage >&2; exit 2");
  EXPECT_EQ(wrong.message(), "no such layer");
  EXPECT_EQ(wrong.code(), absl::StatusCode::kInvalidArgument);
  const absl::Status data = refusal("echo 'locus-trainer picture: cannot read /x' >&2; exit 3");
  EXPECT_TRUE(has_reason(data, ErrorReason::kDataFault));
  EXPECT_NE(data.message().find("--data-root"), std::string::npos);
  EXPECT_TRUE(has_reason(refusal("kill -9 $$"), ErrorReason::kLimitExceeded));
  EXPECT_TRUE(has_reason(refusal("yes"), ErrorReason::kLimitExceeded)) << "more than an answer holds";
}

TEST_F(Pictures, ArgumentsReachTheTrainerAsTheyAre) {
  const auto said =
      make_picture_program(script(folder_, "printf '%s|' \"$@\""), folder_, true).run({"a b", "$(id)", ";'\""});
  ASSERT_TRUE(said.ok()) << said.status();
  EXPECT_EQ(*said, "a b|$(id)|;'\"|");
}

#ifdef LOCUS_TRAINER
TEST_F(Pictures, TheRealTrainerDrawsAndRefuses) {
  PictureDesk desk(*artifacts_, catalogs_, make_picture_program(LOCUS_TRAINER, folder_, true), folder_ / "pictures",
                   folder_ / "nowhere");
  v1::DrawPriorRequest prior;
  prior.set_prior("alibi-2d");
  prior.set_rows(3);
  prior.set_columns(4);
  const auto drawn = desk.draw(prior);
  ASSERT_TRUE(drawn.ok()) << drawn.status();
  EXPECT_EQ(Json::parse(drawn->json()).at("grid"), (Json{3, 4}));
  v1::TrialDetail trial = this->trial();  // whose weights are no weights
  trial.mutable_stages(0)->set_config_json(
      R"({"kind":"train","seed":1,"task":{"id":"classification"},"dataset":{"id":"fashion-mnist"},)"
      R"("model":{"id":"vit","options":{"dim":16,"heads":4,"depth":1,"patch":7}},"priors":[]})");
  const auto damaged = desk.draw(wish("trained-prior"), trial);
  EXPECT_TRUE(has_reason(damaged.status(), ErrorReason::kDataFault)) << damaged.status();
}
#endif

}  // namespace
}  // namespace locus::server
