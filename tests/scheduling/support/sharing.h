// Accounts on one worker, for the tests of who makes way for whom.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/scheduling/support/harness.h"

namespace locus::testing {

// Accounts that share a worker which does what it is told.
struct Sharing {
  void begin(int slots) {
    h.share({.name = "ada", .weight = 1, .may_be_urgent = true});
    h.share({.name = "bob", .weight = 1, .may_be_urgent = true});
    std::vector<SlotOffer> offered;
    for (int i = 0; i < slots; ++i) offered.push_back({"cpu", i, 1}), free.push_back(i);
    h.join("w", "s", {}, Harness::default_revisions(), offered);
  }
  void submit(const std::string& owner, std::int64_t trials, ServiceClass service_class = ServiceClass::kNormal,
              int devices = 1) {
    Matrix matrix{.name = "e-" + std::to_string(++count), .cells = {"a"}, .seeds = {}, .evaluate = false};
    for (std::int64_t i = 0; i < trials; ++i) matrix.seeds.push_back(count * 100 + i);
    matrix.owner = owner;
    matrix.service_class = service_class;
    matrix.placement = placement_text({.require = {}, .prefer = {}, .devices = devices});
    last = h.submit(matrix) ? count * 100 : 0;
  }
  // Takes all that is granted.
  void fill() {
    if (free.empty()) return;
    while (auto grant = h.ask("s", free)) {
      for (const int slot : grant->slots) std::erase(free, slot);
      running.push_back(*grant);
      if (free.empty()) return;
    }
  }
  void pass(std::chrono::seconds time) {
    for (; time > 0s; time -= 5s) {
      h.advance(5s);
      std::vector<StatedAttempt> stated_ones;
      for (const Grant& grant : running) stated_ones.push_back(stated(grant, steps[grant.stage_id], 1000));
      const auto wishes = *h.sync("s", stated_ones);
      stopping.clear();
      for (std::size_t i = 0; i < wishes.size(); ++i) {
        if (wishes[i] == LeaseWish::kCheckpointAndStop) stopping.push_back(running[i]);
      }
    }
  }
  // Until one is asked to stop.
  void pass_until_asked(std::chrono::seconds most) {
    for (; most > 0s && stopping.empty(); most -= 5s) pass(5s);
  }
  // Obeys.
  void stop(const Grant& grant, std::int64_t step = 5) {
    h.checkpoint("s", grant, step);
    EXPECT_TRUE(h.complete("s", grant, AttemptState::kStopped));
    free.insert(free.end(), grant.slots.begin(), grant.slots.end());
    std::erase_if(running, [&](const Grant& each) { return each.stage_id == grant.stage_id; });
    stopping.clear();
  }
  StageRow row_of(StageId id) { return h.store().stage(id).value(); }

  Harness h;
  int count = 0;
  std::int64_t last = 0;  // seed of the first trial submitted last
  std::vector<int> free;
  std::vector<Grant> running, stopping;
  std::map<StageId, std::int64_t> steps;
};

}  // namespace locus::testing
