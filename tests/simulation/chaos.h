// The plan of a history: which faults come when, what the person does, and the end of all trouble.
#pragma once

#include "tests/simulation/cluster.h"

namespace locus::simulation {

class Chaos {
 public:
  explicit Chaos(Cluster& cluster) : cluster_(cluster), world_(cluster.world) {}
  // Puts faults and operations on the agenda; returns when the last of them is over and everything is mended.
  Microseconds plan();
  // Every operation of the person has been accepted or was meaningless.
  bool person_is_done() const { return pending_ == 0; }

 private:
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

  Cluster& cluster_;
  World& world_;
  int pending_ = 0;
};

}  // namespace locus::simulation
