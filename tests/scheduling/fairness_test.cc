// What holds of shares, gangs and kept slots over long and random loads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/scheduling/support/harness.h"

namespace locus::testing {
namespace {

// One worker that takes all it is given and ends it when it is told, or when it is over.
struct Load {
  struct Attempt {
    Grant grant;
    std::string owner;
    Microseconds started = 0, ends = 0;
  };

  Load(unsigned seed, int slots, SchedulerPolicy policy = {}) : h(policy), draw(seed) {
    std::vector<SlotOffer> offered;
    for (int i = 0; i < slots; ++i) offered.push_back({"cpu", i, 1}), free.push_back(i);
    h.join("w", "s", {}, Harness::default_revisions(), offered);
  }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(draw);
  }
  // Titles of its stages begin with its owner's name.
  void submit(const std::string& owner, std::int64_t trials, int devices = 1, int priority = 0,
              std::int64_t limit = 0) {
    Matrix matrix{.name = owner + "-" + std::to_string(++count), .cells = {"a"}, .seeds = {}, .evaluate = false};
    for (std::int64_t i = 0; i < trials; ++i) matrix.seeds.push_back(count * 10'000 + i);
    matrix.owner = owner;
    matrix.priority = priority;
    matrix.stage_seconds = limit;
    matrix.placement = placement_text({.require = {}, .prefer = {}, .devices = devices});
    ASSERT_TRUE(h.submit(matrix));
  }
  // Takes what is granted, each for a time that `lasts` says.
  template <class Lasts>
  void fill(Lasts lasts) {
    while (!free.empty()) {
      const auto grant = h.ask("s", free);
      if (!grant) return;
      for (const int slot : grant->slots) std::erase(free, slot);
      const Microseconds now = h.now().steady;
      running.push_back({*grant, grant->title.substr(0, grant->title.find('-')), now, now + lasts(*grant)});
    }
  }
  void end(std::size_t index) {
    const Attempt attempt = running[index];
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(index));
    h.succeed("s", attempt.grant);
    free.insert(free.end(), attempt.grant.slots.begin(), attempt.grant.slots.end());
  }
  // And ends what is over then.
  void pass(std::chrono::seconds time) {
    h.advance(time);
    std::vector<StatedAttempt> held;
    for (const Attempt& attempt : running) held.push_back(stated(attempt.grant));
    ASSERT_TRUE(h.sync("s", held));
    for (std::size_t i = running.size(); i-- > 0;) {
      if (running[i].ends <= h.now().steady) end(i);
    }
  }
  std::int64_t holding(const std::string& owner) const {
    std::int64_t slots = 0;
    for (const Attempt& attempt : running)
      slots += attempt.owner == owner ? static_cast<std::int64_t>(attempt.grant.slots.size()) : 0;
    return slots;
  }

  Harness h;
  std::mt19937 draw;
  int count = 0;
  std::vector<int> free;
  std::vector<Attempt> running;
};

const std::vector<std::string> kThree = {"ada", "bob", "eve"};

TEST(Fairness, OfGangsDiffersFromSharesByNoMoreThanTheLargest) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Load load(seed, 8);
    std::map<std::string, std::int64_t> weights;
    std::int64_t largest = 1;
    for (const std::string& owner : kThree) {
      weights[owner] = load.between(1, 3);
      load.h.share({.name = owner, .weight = weights[owner]});
      const std::int64_t devices = load.between(1, 4);
      largest = std::max(largest, devices);
      load.submit(owner, 200, static_cast<int>(devices));
    }
    for (int step = 0; step < 100; ++step) {
      load.fill([&](const Grant&) { return us(std::chrono::seconds(load.between(1, 30))); });
      for (const std::string& a : kThree) {
        for (const std::string& b : kThree) {
          EXPECT_LE((load.holding(a) - largest) * weights[b], (load.holding(b) + largest) * weights[a])
              << a << " holds " << load.holding(a) << " and " << b << " " << load.holding(b) << ", seed " << seed;
        }
      }
      load.pass(std::chrono::seconds(load.between(1, 4)));
    }
  }
}

// Where everybody's share is a whole number of devices what is held decides, and where there is one device for all what was
// used. Of a share and a half an account always holds the half, too: nobody has an idle device to make up for it.
TEST(Fairness, OfTimeIsWithinATwentiethOfSharesOverAHundredHalfLives) {
  struct Case {
    std::vector<std::int64_t> weights;
    int slots;
    std::chrono::seconds half_life;
  };
  const Case cases[] = {{{1, 2, 3}, 6, 100s}, {{1, 1, 2}, 4, 100s}, {{1, 1, 2}, 1, 600s}};
  for (const Case& each : cases) {
    Load load(7, each.slots, {.usage_half_life = us(each.half_life)});
    double sum = 0;
    for (std::size_t i = 0; i < kThree.size(); ++i) {
      load.h.share({.name = kThree[i], .weight = each.weights[i]});
      load.submit(kThree[i], 2500);
      sum += static_cast<double>(each.weights[i]);
    }
    std::map<std::string, double> used;
    double all = 0;
    for (auto time = 0s; time < 100 * each.half_life; time += 5s) {
      load.fill([&](const Grant&) { return us(std::chrono::seconds(load.between(1, 6) * 5)); });
      for (const Load::Attempt& attempt : load.running) used[attempt.owner] += 5, all += 5;
      load.pass(5s);
    }
    for (std::size_t i = 0; i < kThree.size(); ++i) {
      const double share = static_cast<double>(each.weights[i]) / sum;
      EXPECT_NEAR(used[kThree[i]] / all, share, share / 20) << kThree[i] << " of " << each.slots << " slots";
    }
  }
}

// A gang comes first; all that runs and waits has a limit of time, and ends before it.
TEST(Fairness, OfWhatIsBackfilledNeverDelaysWhomSlotsAreKeptFor) {
  int backfilled = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    Load load(seed, 4);
    const auto lasts = [&](const Grant& grant) {
      return us(std::chrono::seconds(load.between(grant.limit_seconds / 10, grant.limit_seconds)));
    };
    for (int i = 0; i < 8; ++i) {
      load.submit("first", 1, 1, 0, load.between(100, 900));
      load.fill(lasts);
      load.pass(std::chrono::seconds(load.between(1, 20)));
    }
    const auto devices = static_cast<std::size_t>(load.between(2, 4));
    load.submit("gang", 1, static_cast<int>(devices), 5, 100);
    load.fill(lasts);
    std::vector<Microseconds> ends(4, load.h.now().steady);
    for (std::size_t i = 0; i < load.running.size(); ++i)
      ends[i] = load.running[i].started + us(std::chrono::seconds(load.running[i].grant.limit_seconds));
    std::sort(ends.begin(), ends.end());
    for (int i = 0; i < 20; ++i) load.submit("later", 1, 1, 0, load.between(20, 600));
    const auto waits = [&] { return load.holding("gang") == 0; };
    while (waits() && load.h.now().steady <= ends[devices - 1] + us(10s)) {
      const std::int64_t before = load.holding("later");
      load.fill(lasts);
      if (waits() && load.holding("later") > before) ++backfilled;
      if (waits()) load.pass(5s);
    }
    EXPECT_LE(load.h.now().steady, ends[devices - 1] + us(5s)) << "seed " << seed;
  }
  EXPECT_GT(backfilled, 20) << "otherwise it shows nothing";
}

}  // namespace
}  // namespace locus::testing
