// The plan of a history: which faults come when, what the person does, and the end of all trouble.
#pragma once

#include "tests/simulation/cluster.h"

namespace locus::simulation {

class Chaos {
 public:
  explicit Chaos(Cluster& cluster);
  // Puts faults and operations on the agenda; returns when the last of them is over and everything is mended.
  Microseconds plan();
  // The same, where the person does nothing but submit this one search.
  Microseconds plan(const SearchPlan& only);
  // Every operation of the person has been accepted or was meaningless.
  bool person_is_done() const { return pending_ == 0; }

 private:
  void plan_faults();
  void plan_fault(Microseconds at);
  void fault_of_the_server(Microseconds at, Microseconds length);
  void fault_of_a_worker(Microseconds at, Microseconds length);
  void fault_of_a_link(Microseconds at, Microseconds length);
  void fault_of_the_disk(Microseconds at, Microseconds length);
  void fault_of_a_clock(Microseconds at);
  void plan_person();
  void plan_more(Microseconds at);
  void tend(int times);
  void insist(std::function<absl::Status()> operation);
  void mend();
  WorkerProcess& some_worker();
  testing::Matrix some_matrix(const std::string& name);
  // ---- chaos_searches.cc ----
  void plan_searches();
  void plan_search_change(Microseconds at, const std::string& name, const SearchPlan& plan);
  SearchPlan some_search(const std::string& name);
  void person(Microseconds at, const std::string& what, std::function<absl::Status()> operation);

  // ---- chaos_shares.cc ----
  void plan_shares();
  void plan_hurry();
  void set_up_workers();
  void lift_bounds();
  void give_owner(testing::Matrix& matrix);
  AccountRow some_account(const std::string& name);
  void give_place(testing::Matrix& matrix);
  void plan_estimates();

  Cluster& cluster_;
  World& world_;
  Random draw_;            // of shares; of its own, so that what else happens does not depend on them
  Random more_;            // of what came later: hardware, hours, lives, estimates; likewise
  bool shared_ = false;    // experiments have owners and classes
  std::int64_t most_ = 1;  // devices that a training takes together
  int pending_ = 0;
  std::vector<std::string> names_ = {"one", "two", "three", "four", "five", "six"};  // of experiments that may be there
};

}  // namespace locus::simulation
