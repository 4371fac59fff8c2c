// Alerts: what is told, when, how often, and by which means.
#include "server/app/alerts.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "server/app/alert_command.h"
#include "server/http/post.h"
#include "storage/memory/store.h"
#include "tests/server/support/fake_worker.h"
#include "tests/server/support/server_fixture.h"

namespace locus::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Microseconds kMinute = 60'000'000;

class TestClock final : public Clock {
 public:
  Microseconds wall() const override { return now; }
  Microseconds steady() const override { return now; }
  Microseconds now = 1000 * kMinute;
};

class AlertsTest : public testing::Test {
 protected:
  void create(const std::string& name, ExperimentId id) {
    ExperimentRow row;
    row.id = id;
    row.name = name;
    row.spec_json = "{}";
    row.created_us = clock_.now;
    SaveExperiment save;
    save.row = row;
    apply({save, AppendEvent{"experiments/" + name, "experiment-created", "{}"}});
    set(name, "active", 0);
  }
  // The experiment is now in this state, and watchers hear of it.
  void set(const std::string& name, const std::string& state, int succeeded) {
    v1::Experiment& one = views_[name];
    one.set_name(name);
    one.set_state(state);
    (*one.mutable_stages())["succeeded"] = succeeded;
    (*one.mutable_stages())["queued"] = 6 - succeeded;
    apply({AppendEvent{"stages/1", "stage-state", Json({{"experiments", Json::array({name})}}).dump()}});
  }
  void apply(const std::vector<Mutation>& mutations) {
    const absl::Status status = store_->apply(mutations, clock_.now);
    ASSERT_TRUE(status.ok()) << status;
  }
  // As a server that starts on this store.
  void restart() {
    alerts_ = std::make_unique<Alerts>(*store_, clock_,
                                       Alerts::Setup{[this](const std::string& name) -> absl::StatusOr<v1::Experiment> {
                                                       const auto found = views_.find(name);
                                                       if (found == views_.end()) return absl::NotFoundError(name);
                                                       return found->second;
                                                     },
                                                     [this](const Json& alert) {
                                                       tries_.push_back(alert.at("experiment").get<std::string>() +
                                                                        " " + alert.at("kind").get<std::string>());
                                                       last_ = alert;
                                                       return answer_;
                                                     },
                                                     30 * kMinute});
  }
  std::vector<std::string> look() {
    tries_.clear();
    const absl::Status status = alerts_->look();
    EXPECT_TRUE(status.ok()) << status;
    return tries_;
  }

  TestClock clock_;
  std::unique_ptr<Store> store_ = make_memory_store();
  std::map<std::string, v1::Experiment> views_;
  std::unique_ptr<Alerts> alerts_;
  std::vector<std::string> tries_;
  Json last_;
  absl::Status answer_;
};

TEST_F(AlertsTest, TellEachEndOnce) {
  restart();
  create("a", 1);
  EXPECT_THAT(look(), IsEmpty());
  set("a", "completed", 6);
  EXPECT_THAT(look(), ElementsAre("a completed"));
  EXPECT_THAT(last_.at("sentence").get<std::string>(), HasSubstr("a completed: "));
  EXPECT_THAT(look(), IsEmpty());
  set("a", "active", 6);  // extended by a seed
  EXPECT_THAT(look(), IsEmpty());
  set("a", "failed", 6);
  EXPECT_THAT(look(), ElementsAre("a failed"));
}

TEST_F(AlertsTest, ToldBeforeARestartAreNotToldAgainAndOthersAre) {
  restart();
  create("a", 1);
  create("b", 2);
  set("a", "completed", 6);
  EXPECT_THAT(look(), ElementsAre("a completed"));
  answer_ = absl::UnavailableError("nobody there");
  set("b", "cancelled", 1);
  EXPECT_THAT(look(), ElementsAre("b cancelled"));
  answer_ = absl::OkStatus();
  restart();
  EXPECT_THAT(look(), ElementsAre("b cancelled")) << "it was pending";
  restart();
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(AlertsTest, AreSilentAboutWhatEndedBeforeAnybodyAsked) {
  create("old", 1);
  set("old", "completed", 6);
  create("running", 2);
  clock_.now += kMinute;
  restart();
  EXPECT_THAT(look(), IsEmpty());
  set("running", "completed", 6);
  EXPECT_THAT(look(), ElementsAre("running completed"));
}

TEST_F(AlertsTest, TellOfOneThatEndedAsSoonAsItWasSubmitted) {
  restart();
  look();
  create("shared", 1);
  set("shared", "completed", 6);
  EXPECT_THAT(look(), ElementsAre("shared completed"));
}

TEST_F(AlertsTest, AreTriedThreeTimesAndThenGivenUp) {
  restart();
  create("a", 1);
  answer_ = absl::UnavailableError("exited with status 7");
  set("a", "completed", 6);
  EXPECT_THAT(look(), ElementsAre("a completed"));
  EXPECT_THAT(look(), IsEmpty()) << "not at once again";
  clock_.now += Alerts::kTryAgain;
  EXPECT_THAT(look(), ElementsAre("a completed"));
  clock_.now += Alerts::kTryAgain;
  EXPECT_THAT(look(), ElementsAre("a completed"));
  clock_.now += Alerts::kTryAgain;
  EXPECT_THAT(look(), IsEmpty());
  const AlertRow row = store_->alerts().value().back();
  EXPECT_EQ(row.outcome, AlertOutcome::kFailed);
  EXPECT_EQ(row.detail, "exited with status 7");
}

TEST_F(AlertsTest, TellOnceOfAnExperimentThatStandsStill) {
  restart();
  create("a", 1);
  EXPECT_THAT(look(), IsEmpty());
  clock_.now += 29 * kMinute;
  set("a", "active", 1);
  EXPECT_THAT(look(), IsEmpty());
  clock_.now += 29 * kMinute;
  EXPECT_THAT(look(), IsEmpty()) << "it moved half an hour ago";
  clock_.now += kMinute;
  EXPECT_THAT(look(), ElementsAre("a stalled"));
  EXPECT_THAT(last_.at("sentence").get<std::string>(), HasSubstr("5 stages wait"));
  clock_.now += 60 * kMinute;
  EXPECT_THAT(look(), IsEmpty());
  restart();
  EXPECT_THAT(look(), IsEmpty());
  clock_.now += 60 * kMinute;
  EXPECT_THAT(look(), IsEmpty()) << "it still stands where it stood";
  set("a", "active", 2);
  EXPECT_THAT(look(), IsEmpty());
  clock_.now += 30 * kMinute;
  EXPECT_THAT(look(), ElementsAre("a stalled")) << "once more";
}

TEST_F(AlertsTest, SayNothingOfAPausedOrDeletedExperiment) {
  restart();
  create("a", 1);
  create("b", 2);
  look();
  set("a", "paused", 0);
  apply({DeleteExperiment{2}});
  views_.erase("b");
  clock_.now += 60 * kMinute;
  EXPECT_THAT(look(), IsEmpty());
}

class AlertCommand : public testing::Test {
 protected:
  absl::Status run(const std::string& command, std::chrono::milliseconds limit = std::chrono::seconds(20)) {
    return run_alert_command(command, {{"LOCUS_ALERT_KIND", "completed"}}, "{\"a\":1}", limit, stop_);
  }
  std::string read(const std::string& name) {
    std::ifstream in(folder_.path() / name);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }
  test::TemporaryFolder folder_;
  std::atomic<bool> stop_{false};
};

TEST_F(AlertCommand, GetsTheAlertOnStandardInputAndInItsEnvironment) {
  const std::string out = (folder_.path() / "out").string();
  ASSERT_TRUE(run("cat > " + out + "; printf ' %s' \"$LOCUS_ALERT_KIND\" >> " + out).ok());
  EXPECT_EQ(read("out"), "{\"a\":1} completed");
}

TEST_F(AlertCommand, FailsWithItsStatusAndLastWords) {
  const absl::Status status = run("echo first >&2; echo no route >&2; exit 7");
  EXPECT_THAT(std::string(status.message()), HasSubstr("exited with status 7; it said: no route"));
  EXPECT_THAT(std::string(run("kill -9 $$").message()), HasSubstr("signal 9"));
}

TEST_F(AlertCommand, IsEndedWithAllItStartedWhenItTakesTooLong) {
  const absl::Status status = run("sleep 1000 & sleep 1000", std::chrono::milliseconds(50));
  EXPECT_THAT(std::string(status.message()), HasSubstr("was ended"));
  stop_ = true;
  EXPECT_THAT(std::string(run("sleep 1000").message()), HasSubstr("the server stops"));
}

TEST(AlertAddress, IsPlainHttpAlone) {
  const auto url = parse_plain_url("http://example.org:99/hook?a=b", "--alert-url");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->host, "example.org");
  EXPECT_EQ(url->port, "99");
  EXPECT_EQ(url->target, "/hook?a=b");
  EXPECT_EQ(parse_plain_url("http://[::1]:80", "")->host, "::1");
  EXPECT_EQ(parse_plain_url("http://example.org", "")->port, "80");
  const auto secure = parse_plain_url("https://example.org/hook", "--alert-url");
  EXPECT_THAT(std::string(secure.status().message()), HasSubstr("use a command instead"));
  for (const char* bad : {"", "ftp://x", "http://", "http://:80", "http://a:b", "http://u@h/", "http://a b"})
    EXPECT_FALSE(parse_plain_url(bad, "").ok()) << bad;
}

class AlertsOfAServer : public test::ServerTest {};

TEST_F(AlertsOfAServer, PostToAnAddressAndSayWhatItAnswered) {
  start();
  const auto post = [&](const std::string& target) {
    const auto url = parse_plain_url("http://" + server_->addresses().http + target, "");
    return post_json(*url, "{}", std::chrono::seconds(10));
  };
  const absl::Status taken = post("/api/v1/garbage:collect");
  EXPECT_TRUE(taken.ok()) << taken;
  EXPECT_THAT(std::string(post("/api/v1/nowhere").message()), HasSubstr("answered 404"));
  stop();
}

TEST_F(AlertsOfAServer, RunTheCommandWhenAnExperimentCompletes) {
  const test::TemporaryFolder folder;
  const std::string fifo = (folder.path() / "alerts").string();
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  ServerOptions options;
  options.alerts.command = "cat > " + fifo;
  start(options);
  submit(test::small_specification());
  test::FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  worker.run_all([](const std::string&, std::int64_t, int) { return 80.0; });
  std::ifstream in(fifo);  // opens once the command writes
  std::ostringstream text;
  text << in.rdbuf();
  const Json alert = Json::parse(text.str(), nullptr, false);
  ASSERT_TRUE(alert.is_object()) << text.str();
  EXPECT_EQ(alert.at("kind"), "completed");
  EXPECT_EQ(alert.at("experiment"), "small");
  EXPECT_EQ(alert.at("trials_done"), alert.at("trials"));
}

TEST_F(AlertsOfAServer, RefuseAnAddressThatCannotBeCalled) {
  ServerOptions options;
  options.grpc_address = options.http_address = "127.0.0.1:0";
  options.alerts.url = "https://example.org/hook";
  ServerParts parts;
  parts.store = make_memory_store();
  const auto server = Server::start(options, std::move(parts));
  ASSERT_FALSE(server.ok());
  EXPECT_THAT(std::string(server.status().message()), HasSubstr("curl"));
}

}  // namespace
}  // namespace locus::server
