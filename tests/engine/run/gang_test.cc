// Several real trainers that train one model: the curve of one alone, whatever their number, whoever is killed on the way.
#include <gmock/gmock.h>

#include <poll.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>

#include "core/base/rendezvous.h"
#include "tests/engine/run/trainer_process.h"
#include "tests/engine/train/recording.h"

namespace locus::engine {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Curve = std::map<std::pair<std::string, std::int64_t>, double>;  // by series and step

void add_points(const Json& frame, Curve& curve) {
  for (const Json& row : frame.at("rows")) {
    const Json& key = frame.at("series").at(row.at(0).get<std::size_t>());
    const auto series = key.at("metric").get<std::string>() + "/" + key.at("split").get<std::string>();
    curve[{series, row.at(1).get<std::int64_t>()}] = number_from_json(row.at(5));
  }
}

// What is started alike, but for how many train.
struct GangSetting {
  Json stage;
  std::filesystem::path work, resume = {};
  int attempt = 1;
  double checkpoint_seconds = 1e9, timeout_seconds = 120, silence_seconds = 0;
};

// What a daemon does for trainers of one attempt until each has begun or failed; what else they say, by rank, in order.
std::vector<std::deque<Json>> bring_together(const std::vector<TrainerProcess*>& ranks, const std::string& attempt) {
  RendezvousBoard board(attempt);
  std::vector<std::deque<Json>> said(ranks.size());
  std::size_t left = ranks.size();
  while (left > 0) {
    std::vector<pollfd> polled;
    for (const TrainerProcess* rank : ranks) polled.push_back({rank->fd(), POLLIN, 0});
    ::poll(polled.data(), polled.size(), -1);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (polled[i].revents == 0) continue;
      const auto frame = ranks[i]->receive();
      if (!frame) throw std::runtime_error("rank " + std::to_string(i) + " ended without a word");
      if (frame->at("type") == kFrameStore) {
        for (const auto& [to, answer] : board.take(static_cast<int>(i), *frame))
          ranks[static_cast<std::size_t>(to)]->send(answer);
        continue;
      }
      said[i].push_back(*frame);
      if (frame->at("type") == "started" || frame->at("type") == "failed") --left;
    }
  }
  return said;
}

// Trainers of one attempt, by rank.
class TrainerGang {
 public:
  TrainerGang(int world, const GangSetting& setting) {
    std::filesystem::create_directories(setting.work);
    const std::string attempt = "s1/" + std::to_string(setting.attempt);
    std::vector<TrainerProcess*> all;
    for (int rank = 0; rank < world; ++rank) {
      ranks_.push_back(std::make_unique<TrainerProcess>(LOCUS_TRAINER));
      all.push_back(ranks_.back().get());
      all.back()->send(start(attempt, rank, world, setting));
    }
    said_.resize(all.size());
    if (world > 1) said_ = bring_together(all, attempt);
  }
  static Json start(const std::string& attempt, int rank, int world, const GangSetting& setting) {
    Json frame = start_frame(attempt, setting.stage, setting.work, setting.resume, setting.checkpoint_seconds);
    if (world > 1) {
      frame["execution"]["gang"] = {{"rank", rank},
                                    {"world", world},
                                    {"timeout_seconds", setting.timeout_seconds},
                                    {"silence_seconds", setting.silence_seconds}};
    }
    return frame;
  }
  TrainerProcess& rank(std::size_t rank) { return *ranks_.at(rank); }
  std::optional<Json> receive(std::size_t rank) {
    std::deque<Json>& said = said_.at(rank);
    if (said.empty()) return ranks_.at(rank)->receive();
    Json frame = std::move(said.front());
    said.pop_front();
    return frame;
  }

  // The last frame of a rank: done or failed. `seen` is shown all frames before.
  Json end_of(std::size_t of, const std::function<void(const Json&)>& seen = {}) {
    while (const auto frame = receive(of)) {
      if (frame->at("type") == "done" || frame->at("type") == "failed") return *frame;
      if (seen) seen(*frame);
    }
    throw std::runtime_error("rank " + std::to_string(of) + " ended without a word");
  }

 private:
  std::vector<std::unique_ptr<TrainerProcess>> ranks_;
  std::vector<std::deque<Json>> said_;  // and not yet received
};

struct GangStory {
  Curve curve;
  Json environment, end;
  std::map<std::int64_t, std::filesystem::path> checkpoints;
  std::filesystem::path model() const { return end.at("outputs").at(0).at("path").get<std::string>(); }
};

void tell(GangStory& story, const Json& frame) {
  if (frame.at("type") == "points") add_points(frame, story.curve);
  if (frame.at("type") == "started") story.environment = frame.at("environment");
  if (frame.at("type") == "checkpoint") story.checkpoints[frame.at("step")] = frame.at("path").get<std::string>();
}

GangStory train(int world, const GangSetting& setting) {
  GangStory story;
  TrainerGang gang(world, setting);
  story.end = gang.end_of(0, [&](const Json& frame) { tell(story, frame); });
  EXPECT_EQ(story.end.value("outcome", story.end.dump()), "succeeded");
  for (int rank = 1; rank < world; ++rank) {
    const Json end = gang.end_of(static_cast<std::size_t>(rank), [](const Json& frame) {
      EXPECT_THAT(frame.at("type"), ::testing::AnyOf("hello", "started", "progress")) << frame;
    });
    EXPECT_EQ(end.value("outcome", end.dump()), "succeeded");
    EXPECT_TRUE(end.at("results").empty() && end.at("outputs").empty()) << end;
  }
  return story;
}

// The largest relative difference of the same points. A prior's loss that goes to nothing keeps the rounding of the numbers
// it is the difference of, so it is measured by a part of the loss, about 2, to which it is added.
double difference(const Curve& a, const Curve& b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0;
  for (const auto& [key, value] : a) {
    const auto found = b.find(key);
    if (found == b.end()) {
      ADD_FAILURE() << "no " << key.first << " at step " << key.second;
      continue;
    }
    most = std::max(most, std::abs(value - found->second) / std::max(std::abs(value), 0.1));
  }
  return most;
}

class GangTraining : public ::testing::Test {
 protected:
  void SetUp() override { LOCUS_NEEDS_FASHION_MNIST(); }

  // 200 steps with dropped paths, a prior's loss and clipping; the rate keeps rounding from growing.
  static Json two_hundred_steps() {
    Json stage = small_configuration();
    stage["recipe"]["options"].update({{"epochs", 25}, {"lr", 0.001}, {"log_every", 1}, {"validate_every", 5}});
    return stage;
  }
  // Gone through in a second, with all that checkpoints hold.
  static Json short_training() {
    Json stage = small_configuration();
    stage["stage"] = {{"options", {{"keep_best", "top1"}}}};
    return stage;
  }

  TemporaryFolder folder_;
};

TEST_F(GangTraining, HasTheCurveOfOneTrainerWhateverTheirNumber) {
  const Json stage = two_hundred_steps();
  const GangStory alone = train(1, {stage, folder_.path() / "1"});
  ASSERT_TRUE(alone.curve.contains({"loss/train", 200}));
  EXPECT_FALSE(alone.environment.contains("world"));
  for (const int world : {2, 4}) {
    SCOPED_TRACE(world);
    const GangStory story = train(world, {stage, folder_.path() / std::to_string(world)});
    EXPECT_LT(difference(alone.curve, story.curve), 1e-5);
    EXPECT_EQ(story.environment.at("world"), world);
    EXPECT_EQ(story.environment.at("device_name"),
              std::to_string(world) + " x " + alone.environment.at("device_name").get<std::string>());
  }
}

TEST_F(GangTraining, MixesImagesAcrossThePartsOfABatch) {
  Json stage = two_hundred_steps();
  stage["priors"] = Json::array();
  stage["recipe"] = {{"id", "deit"},
                     {"options",
                      {{"epochs", 4},
                       {"batch", 32},
                       {"limit", 512},
                       {"warmup_epochs", 0.5},
                       {"validate_every", 0},
                       {"log_every", 1},
                       {"precision", "float32"},
                       {"eval_precision", "float32"},
                       {"accumulate", 2},
                       {"average_decay", 0.8}}}};
  const GangStory alone = train(1, {stage, folder_.path() / "1"}), two = train(2, {stage, folder_.path() / "2"});
  EXPECT_LT(difference(alone.curve, two.curve), 1e-4);
}

TEST_F(GangTraining, GoesOnWithAnotherNumberOfTrainers) {
  const Json stage = two_hundred_steps();
  const GangStory alone = train(1, {stage, folder_.path() / "1"});
  GangStory story;
  {
    GangSetting four{stage, folder_.path() / "4"};
    four.checkpoint_seconds = 0;
    TrainerGang gang(4, four);
    while (!story.checkpoints.contains(50)) {
      const auto frame = gang.receive(0);
      ASSERT_TRUE(frame.has_value());
      tell(story, *frame);
    }
    gang.rank(0).send({{"type", "wish"}, {"attempt", "s1/1"}, {"wish", "checkpoint-and-stop"}});
    for (std::size_t rank = 0; rank < 4; ++rank) {
      const Json end = gang.end_of(rank, [&](const Json& frame) { tell(story, frame); });
      EXPECT_EQ(end.value("outcome", end.dump()), "stopped") << "what rank 0 is told all do";
    }
  }
  ASSERT_FALSE(story.checkpoints.empty());
  const auto [step, last] = *story.checkpoints.rbegin();
  const GangStory two = train(2, {stage, folder_.path() / "2", last, 2});
  for (const auto& [key, value] : two.curve) {
    EXPECT_GT(key.second, step) << "it began where the four had stopped";
    story.curve[key] = value;
  }
  EXPECT_LT(difference(alone.curve, story.curve), 1e-5);
}

// LOCUS_GANG_KILLS: how many. How many train, who of them is killed and when is drawn anew for each.
TEST_F(GangTraining, EndsWithTheSameBitsWhoeverIsKilledOnTheWay) {
  const Json stage = short_training();
  std::map<int, GangStory> undisturbed;  // by how many train: sums of more have other bits
  const char* asked = std::getenv("LOCUS_GANG_KILLS");
  const int kills = asked != nullptr ? std::atoi(asked) : 3;
  std::mt19937 random(7);
  for (int kill = 0; kill < kills; ++kill) {
    const int world = random() % 2 == 0 ? 2 : 4;
    const std::size_t rank = random() % static_cast<unsigned>(world);
    const std::int64_t step = 1 + static_cast<std::int64_t>(random() % 23);
    SCOPED_TRACE("rank " + std::to_string(rank) + " of " + std::to_string(world) + " is killed at step " +
                 std::to_string(step));
    if (!undisturbed.contains(world))
      undisturbed[world] = train(world, {stage, folder_.path() / ("undisturbed-" + std::to_string(world))});
    GangStory story;
    {
      GangSetting first{stage, folder_.path() / ("first-" + std::to_string(kill))};
      first.checkpoint_seconds = 0;
      TrainerGang gang(world, first);
      while (story.checkpoints.empty() || story.checkpoints.rbegin()->first < step) {
        const auto frame = gang.receive(0);
        ASSERT_TRUE(frame.has_value());
        ASSERT_NE(frame->at("type"), "failed") << *frame;
        tell(story, *frame);
      }
      gang.rank(rank).kill();
      // They may have been through before the signal came; otherwise they say why they go.
      for (std::size_t other = 0; other < static_cast<std::size_t>(world); ++other) {
        if (other == rank) continue;
        const Json end = gang.end_of(other);
        if (end.at("type") == "failed") EXPECT_EQ(end.at("class"), "peer-lost") << end;
      }
    }
    const auto [reached, last] = *story.checkpoints.rbegin();
    std::erase_if(story.curve, [reached = reached](const auto& point) { return point.first.second > reached; });
    const GangStory rest = train(world, {stage, folder_.path() / ("second-" + std::to_string(kill)), last, 2});
    for (const auto& [key, value] : rest.curve) story.curve[key] = value;
    EXPECT_EQ(difference(undisturbed.at(world).curve, story.curve), 0);
    EXPECT_THAT(differences(undisturbed.at(world).model(), rest.model()), IsEmpty());
    std::printf("kill %d of %d: rank %zu of %d at step %lld\n", kill + 1, kills, rank, world,
                static_cast<long long>(step));
  }
}

TEST_F(GangTraining, GivesUpARankThatStopsAfterTheTimeOut) {
  GangSetting setting{two_hundred_steps(), folder_.path() / "work"};
  setting.stage["recipe"]["options"]["batch"] = 9;
  setting.timeout_seconds = 100'000;  // of the start, longer than any test runs
  setting.silence_seconds = 3;
  setting.stage["recipe"]["options"]["epochs"] = 100000;
  TrainerGang gang(3, setting);
  for (bool trains = false; !trains;) {
    const auto frame = gang.receive(0);
    ASSERT_TRUE(frame.has_value());
    trains = frame->at("type") == "points";
  }
  gang.rank(1).signal(SIGSTOP);
  for (const std::size_t rank : {0, 2}) {
    const Json end = gang.end_of(rank);
    EXPECT_EQ(end.value("class", end.dump()), "peer-lost");
    // Three, or on a slow machine what some steps take there.
    EXPECT_THAT(end.value("reason", ""), ContainsRegex("waited for longer than [0-9]+ s"));
  }
}

TEST_F(GangTraining, IsNotJoinedByARankOfAnOlderAttempt) {
  GangSetting setting{short_training(), folder_.path() / "work"};
  setting.timeout_seconds = 2;
  std::filesystem::create_directories(setting.work);
  TrainerProcess left_over(LOCUS_TRAINER), next(LOCUS_TRAINER);
  next.send(TrainerGang::start("s1/2", 0, 2, setting));
  left_over.send(TrainerGang::start("s1/1", 1, 2, setting));
  const auto said = bring_together({&next, &left_over}, "s1/2");
  for (const auto& frames : said) EXPECT_EQ(frames.back().value("class", frames.back().dump()), "peer-lost");
  EXPECT_THAT(said[1].back().value("reason", ""), HasSubstr("this is attempt s1/2, and s1/1 is over"));
}

}  // namespace
}  // namespace locus::engine
