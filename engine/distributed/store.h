// What c10d asks of its processes' meeting place, by way of a rendezvous.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <exception>
#include <mutex>

#include "engine/distributed/rendezvous.h"

namespace locus::engine {

// Waits, and every question, for at most its time-out. `rendezvous` must outlive it and all clones. Thread-safe.
// Whoever calls it in between may turn what a question throws into an error of its own; throw_abort() brings it back.
class LocusStore final : public c10d::Store {
 public:
  // Keys are behind `prefix` on the board.
  LocusStore(Rendezvous& rendezvous, std::string prefix, std::chrono::milliseconds timeout);

  c10::intrusive_ptr<c10d::Store> clone() override;
  using c10d::Store::set;
  void set(const std::string& key, const std::vector<std::uint8_t>& value) override;
  std::vector<std::uint8_t> get(const std::string& key) override;
  std::int64_t add(const std::string& key, std::int64_t value) override;
  bool deleteKey(const std::string& key) override;
  bool check(const std::vector<std::string>& keys) override;
  std::int64_t getNumKeys() override;
  void wait(const std::vector<std::string>& keys) override;
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override;
  // Throws the StageAborted that a question has ended with, if one has.
  void throw_abort() const;

 private:
  struct Way {
    explicit Way(Rendezvous& to) : rendezvous(to) {}
    std::mutex mutex;
    Rendezvous& rendezvous;
    std::exception_ptr aborted;
  };
  LocusStore(std::shared_ptr<Way> way, std::string prefix, std::chrono::milliseconds timeout);
  Json ask(Json question, std::chrono::milliseconds timeout) const;
  Json keyed(const char* op, const std::string& key) const;
  Json keyed(const char* op, const std::vector<std::string>& keys) const;

  std::shared_ptr<Way> way_;
  std::string prefix_;
};

}  // namespace locus::engine
