// What is kept beside the work, over the wire: tags and notes, and what machines did.
#include <gmock/gmock.h>

#include "tests/server/support/fake_worker.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Metadata : public ServerTest {
 protected:
  void SetUp() override {
    start();
    submit(small_specification());
  }
  grpc::Status annotate(const v1::AnnotateRequest& request, v1::Annotation* out = nullptr) {
    v1::Annotation ignored;
    return experiments_->Annotate(deadline().get(), request, out == nullptr ? &ignored : out);
  }
  static v1::AnnotateRequest request(const std::string& name, const std::vector<std::string>& tags) {
    v1::AnnotateRequest out;
    out.set_name(name);
    for (const std::string& tag : tags) out.add_add_tags(tag);
    return out;
  }
  std::vector<std::string> experiments_with(const std::string& tag) {
    v1::ListExperimentsRequest asked;
    asked.set_page_size(1);
    asked.add_tag(tag);
    std::vector<std::string> out;
    do {
      v1::ListExperimentsResponse page;
      EXPECT_TRUE(experiments_->ListExperiments(deadline().get(), asked, &page).ok());
      for (const auto& one : page.experiments()) out.push_back(one.name());
      asked.set_page_token(page.next_page_token());
    } while (!asked.page_token().empty());
    return out;
  }
};

TEST_F(Metadata, TagsAndNotesAreShownAndFound) {
  submit(small_specification({{"name", "other"}}));
  submit(small_specification({{"name", "third"}}));
  ASSERT_TRUE(annotate(request("small", {"paper"})).ok());
  ASSERT_TRUE(annotate(request("third", {"paper", "draft"})).ok());
  v1::AnnotateRequest note = request("small/1", {"outlier"});
  note.set_note("looks odd");
  v1::Annotation answered;
  ASSERT_TRUE(annotate(note, &answered).ok());
  EXPECT_EQ(answered.name(), "small/1");
  EXPECT_THAT(answered.tags(), ElementsAre("outlier"));
  EXPECT_THAT(experiment("small").tags(), ElementsAre("paper"));
  EXPECT_EQ(experiment("small").note(), "");
  EXPECT_THAT(experiments_with("paper"), ElementsAre("third", "small")) << "page by page";
  EXPECT_THAT(experiments_with("none"), IsEmpty());

  v1::ListTrialsRequest asked;
  asked.set_experiment("small");
  asked.add_tag("outlier");
  v1::ListTrialsResponse trials;
  ASSERT_TRUE(experiments_->ListTrials(deadline().get(), asked, &trials).ok());
  ASSERT_EQ(trials.trials_size(), 1);
  EXPECT_EQ(trials.trials(0).name(), "small/1");
  EXPECT_EQ(trials.trials(0).note(), "looks odd");
}

TEST_F(Metadata, AnnotatingChangesNothingButTellsWatchers) {
  const v1::Experiment before = experiment("small");
  const auto stream_context = deadline();
  v1::WatchEventsRequest watch;
  watch.set_cursor(0);  // from the beginning: the stream may be heard of after the change
  watch.set_experiment("small");
  auto events = experiments_->WatchEvents(stream_context.get(), watch);
  ASSERT_TRUE(annotate(request("small", {"a"})).ok());
  v1::WatchEventsResponse heard;
  bool found = false;
  while (!found && events->Read(&heard)) {
    for (const auto& event : heard.events()) found |= event.kind() == "annotated";
  }
  EXPECT_TRUE(found);
  stream_context->TryCancel();
  const v1::Experiment after = experiment("small");
  EXPECT_EQ(after.revision(), before.revision());
  EXPECT_EQ(after.spec_json(), before.spec_json());
  EXPECT_FALSE(submit(small_specification()).created());
  EXPECT_THAT(experiment("small").tags(), ElementsAre("a")) << "submitting again keeps them";
}

TEST_F(Metadata, TagsAndNotesAreExportedWithWhatTheyAreOf) {
  ASSERT_TRUE(annotate(request("small", {"paper", "draft"})).ok());
  v1::AnnotateRequest note = request("small/1", {});
  note.set_note("the \"fan\"\nfailed");
  ASSERT_TRUE(annotate(note).ok());
  v1::ExportExperimentRequest exported;
  exported.set_name("small");
  const auto context = deadline();
  const auto reader = experiments_->ExportExperiment(context.get(), exported);
  std::string text;
  for (v1::ExportExperimentResponse part; reader->Read(&part);) text += part.chunk();
  ASSERT_TRUE(reader->Finish().ok());
  std::map<std::string, Json> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line);
    for (const char* field : {"tags", "note"}) {
      const std::string of = json["type"].get<std::string>() + json.value("trial", Json("")).dump();
      if (json.contains(field)) found[of + " " + field] = json[field];
    }
  }
  EXPECT_EQ(found, (std::map<std::string, Json>{{"experiment\"\" tags", {"draft", "paper"}},
                                                {"trial1 note", "the \"fan\"\nfailed"}}));
}

TEST_F(Metadata, RefusesTagsAndNotesOutsideTheirForm) {
  for (const char* tag : {"", "Upper", "two words", "-first", "a/b", "\xc3\xa9"}) {
    const grpc::Status status = annotate(request("small", {std::string(tag)}));
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << tag;
    EXPECT_EQ(wire_error(status).field, "add_tags") << tag;
  }
  EXPECT_FALSE(annotate(request("small", {std::string(41, 'a')})).ok());
  EXPECT_TRUE(annotate(request("small", {std::string(40, 'a')})).ok());
  v1::AnnotateRequest note;
  note.set_name("small");
  note.set_note(std::string(4001, 'x'));
  EXPECT_THAT(annotate(note).error_message(), HasSubstr("4000"));
  note.set_note("bell\a");
  EXPECT_EQ(wire_error(annotate(note)).field, "note");
  EXPECT_EQ(wire_error(annotate(request("absent", {"a"}))).reason, "EXPERIMENT_NOT_FOUND");
  EXPECT_EQ(wire_error(annotate(request("small/999", {"a"}))).reason, "TRIAL_NOT_FOUND");
  EXPECT_EQ(wire_error(annotate(request("small/999", {}))).reason, "TRIAL_NOT_FOUND");
}

TEST_F(Metadata, IsAnnotatedOverHttp) {
  const HttpAnswer answer =
      http().post("/api/v1/experiments/small:annotate", R"({"add_tags": ["paper"], "note": "two\nlines"})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.json().at("tags"), Json({"paper"}));
  EXPECT_EQ(http().post("/api/v1/experiments/small/trials/2:annotate", R"({"add_tags": ["x"]})").json().at("name"),
            "small/2");
  EXPECT_EQ(http().get("/api/v1/experiments/small").json().at("note"), "two\nlines");
  EXPECT_EQ(http().get("/api/v1/experiments?tag=paper").json().at("experiments").size(), 1u);
  EXPECT_EQ(http().get("/api/v1/experiments?tag=paper&tag=absent").json().at("experiments").size(), 0u);
  EXPECT_EQ(http().get("/api/v1/experiments/small/trials?tag=x").json().at("trials").size(), 1u);
  EXPECT_EQ(http().post("/api/v1/experiments/small:annotate", R"({"add_tags": ["A"]})").status, 400);
}

class SystemSeries : public Metadata {
 protected:
  static v1::SystemSample sample(double cpu, double bytes) {
    v1::SystemSample out;
    const auto add = [&](const char* metric, double value) {
      out.add_values()->set_metric(metric);
      out.mutable_values(out.values_size() - 1)->set_value(value);
    };
    add("system/cpu_percent", cpu);
    add("system/memory_bytes", bytes);
    add("top1", 99.9);  // no business of a sample
    add("system/broken", std::numeric_limits<double>::quiet_NaN());
    return out;
  }
  // Heartbeats are answered before their samples are stored.
  Json series_of(std::int64_t stage) {
    for (int i = 0; i < 2000; ++i) {
      const Json found = http().get("/api/v1/stages/" + std::to_string(stage) + "/series").json().at("series");
      if (!found.empty()) return found;
    }
    return Json::array();
  }
};

TEST_F(SystemSeries, OfAnAttemptAreReadLikeCurvesAndAreNoResults) {
  FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  const auto work = worker.acquire();
  ASSERT_TRUE(work);
  v1::HeldAttempt held;
  held.set_stage(work->grant.stage());
  held.set_attempt(work->grant.attempt());
  held.set_step(40);
  *held.mutable_sample() = sample(187.5, 3e9);
  v1::SyncLeasesResponse wishes;
  ASSERT_TRUE(worker.sync({held}, &wishes).ok());
  const Json series = series_of(work->grant.stage());
  ASSERT_EQ(series.size(), 2u) << series;
  EXPECT_EQ(series[0].at("metric"), "system/cpu_percent");
  const Json points =
      http().get("/api/v1/stages/" + std::to_string(work->grant.stage()) + "/points?metric=system/cpu_percent").json();
  EXPECT_EQ(points.at("value"), Json({187.5}));
  EXPECT_EQ(points.at("step"), Json({"40"}));
  EXPECT_EQ(http().get("/api/v1/stages/1/points?metric=system/absent").status, 404);
  const Json curves = http().get("/api/v1/experiments/small/curves?metric=system/memory_bytes").json();
  ASSERT_EQ(curves.at("trials").size(), 1u) << curves;
  EXPECT_EQ(curves.at("trials")[0].at("value"), Json({3e9}));
  const Json usual = http().get("/api/v1/experiments/small/curves?metric=loss&split=train").json();
  EXPECT_THAT(usual.at("available").dump(), testing::Not(HasSubstr("system/")));
  EXPECT_THAT(http().get("/api/v1/experiments/small/export").body, testing::Not(HasSubstr("system/")));
}

TEST_F(SystemSeries, OfAWorkerAreItsRecentWindow) {
  FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  v1::SyncLeasesRequest request;
  request.set_session(worker.session);
  *request.mutable_sample() = sample(12.5, 4e9);
  v1::SyncLeasesResponse wishes;
  ASSERT_TRUE(workers_->SyncLeases(deadline().get(), request, &wishes).ok());
  Json system = Json::array();
  for (int i = 0; i < 2000 && system.empty(); ++i) system = http().get("/api/v1/workers/one").json().at("system");
  ASSERT_EQ(system.size(), 2u);
  EXPECT_EQ(system[0].at("key").at("metric"), "system/cpu_percent");
  EXPECT_EQ(system[0].at("value"), Json({12.5}));
}

}  // namespace
}  // namespace locus::test
