// Events over both transports: resumed, filtered, pushed.
#include "tests/server/support/fake_worker.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {
namespace {

class Events : public ServerTest {
 protected:
  void SetUp() override { start(); }
  // Reads until an event of this kind comes; every event on the way is kept.
  Json read_until(EventReader& reader, const std::string& kind) {
    while (true) {
      const EventReader::Event event = reader.next();
      EXPECT_EQ(event.name, "change");
      last_id_ = event.id;
      const Json data = Json::parse(event.data);
      EXPECT_EQ(data["cursor"], event.id);
      for (const Json& item : data["events"]) {
        seen_.push_back(item);
        if (item["kind"] == kind) return item;
      }
    }
  }
  std::vector<Json> seen_;
  std::string last_id_;
};

double events_score(const std::string&, std::int64_t, int) { return 80.0; }

TEST_F(Events, ArePushedToTheBrowser) {
  EventReader reader(http().address(), "/api/v1/events");
  EXPECT_NE(reader.head().find("text/event-stream"), std::string::npos);
  EXPECT_NE(reader.head().find("Content-Security-Policy"), std::string::npos);
  submit(small_specification());
  const Json created = read_until(reader, "experiment-created");
  EXPECT_EQ(created["subject"], "experiments/small");
  FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  const auto work = worker.acquire();
  read_until(reader, "attempt-started");
  worker.report(*work, "loss", "train", {1, 2});
  const Json points = read_until(reader, "points");
  EXPECT_EQ(points["subject"], "experiments/small");
  v1::HeldAttempt held;
  held.set_stage(work->grant.stage());
  held.set_attempt(work->grant.attempt());
  held.set_step(20);
  v1::SyncLeasesResponse wishes;
  ASSERT_TRUE(worker.sync({held}, &wishes).ok());
  read_until(reader, "progress");
}

TEST_F(Events, ResumeAfterTheLastOneSeen) {
  submit(small_specification());
  std::string middle;
  {
    EventReader reader(http().address(), "/api/v1/events?cursor=0");
    read_until(reader, "experiment-created");
    middle = last_id_;
  }
  const std::size_t before = seen_.size();
  submit(small_specification({{"name", "second"}}));
  EventReader again(http().address(), "/api/v1/events", {{"Last-Event-ID", middle}});
  const Json created = read_until(again, "experiment-created");
  EXPECT_EQ(created["subject"], "experiments/second");
  for (std::size_t i = before; i < seen_.size(); ++i)
    EXPECT_GT(std::stoll(seen_[i]["id"].get<std::string>()), std::stoll(middle));
}

TEST_F(Events, OfAnotherExperimentAreLeftOut) {
  submit(small_specification());
  submit(small_specification({{"name", "second"}}));
  EventReader reader(http().address(), "/api/v1/events?cursor=0&experiment=second");
  const Json created = read_until(reader, "experiment-created");
  EXPECT_EQ(created["subject"], "experiments/second");
  for (const Json& event : seen_) EXPECT_NE(event["subject"], "experiments/small");
  EXPECT_EQ(http().get("/api/v1/events?experiment=nobody").status, 404);
  EXPECT_EQ(http().get("/api/v1/events?cursor=-2").status, 400);
  EXPECT_EQ(http().get("/api/v1/events?cursor=soon").status, 400);
}

TEST_F(Events, MoveAReaderWithAForeignCursorAhead) {
  submit(small_specification());
  EventReader reader(http().address(), "/api/v1/events?cursor=1000000");
  const Json data = Json::parse(reader.next().data);
  EXPECT_EQ(data["truncated"], true);
  EXPECT_LT(std::stoll(data["cursor"].get<std::string>()), 1'000'000);
}

TEST_F(Events, StreamOverGrpcFromACursor) {
  submit(small_specification());
  v1::WatchEventsRequest request;
  const auto context = deadline();
  auto stream = experiments_->WatchEvents(context.get(), request);
  v1::WatchEventsResponse response;
  ASSERT_TRUE(stream->Read(&response));
  ASSERT_GT(response.events_size(), 0);
  EXPECT_EQ(response.cursor(), response.events(response.events_size() - 1).id());
  for (int i = 1; i < response.events_size(); ++i) EXPECT_GT(response.events(i).id(), response.events(i - 1).id());
  submit(small_specification({{"name", "second"}}));
  bool seen = false;
  while (!seen && stream->Read(&response)) {
    for (const auto& event : response.events()) seen = seen || event.subject() == "experiments/second";
  }
  EXPECT_TRUE(seen);
  context->TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(Events, TellTheStatesOfStages) {
  EventReader reader(http().address(), "/api/v1/events?cursor=0");
  submit(small_specification({{"replicates", {{"seed", {0}}}}}));
  FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  worker.run_all(events_score);
  const Json state = read_until(reader, "attempt-ended");
  EXPECT_EQ(Json::parse(state["json"].get<std::string>())["experiments"], Json::array({"small"}));
}

}  // namespace
}  // namespace locus::test
