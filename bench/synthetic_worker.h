// A worker without trainers, for benchmarks of the server: it takes stages and says at once that they are done.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/synthetic.h"
#include "client/client.h"
#include "server/app/paths.h"

namespace locus::bench {

// One worker daemon as the server sees it: registered, with that many slots. Every fault ends the program. Thread-safe.
class SyntheticWorker {
 public:
  SyntheticWorker(const std::string& server, const Catalog& catalog, const std::string& name, int slots);

  // Of one slot: the next stage, or nothing when there is none for `wait`.
  v1::AcquireStageResponse acquire(int slot, std::chrono::milliseconds wait);
  void complete(const v1::StageGrant& grant, std::int64_t last_seq, const std::string& outcome = "succeeded",
                std::int64_t step = 0);
  void checkpoint(const v1::StageGrant& grant, std::int64_t step, const std::string& sha256);
  int slots() const { return slots_; }
  const std::string& session() const { return session_; }
  Client& client() { return *client_; }

 private:
  std::unique_ptr<Client> client_;
  std::string session_;
  int slots_;
};

// An experiment of `trials` trainings of one step, a multiple of a hundred, submitted as people do: rates x seeds. Those of
// another `first` are others.
void submit_empty(Client& client, const std::string& name, int trials, int first = 0);

std::vector<std::unique_ptr<SyntheticWorker>> workers_of(Server& server, int count, int slots);

}  // namespace locus::bench
