// One thread that asks conductors.
#include "server/runtime/search_runner.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "core/base/error.h"
#include "core/log/log.h"

namespace locus::server {
namespace {

constexpr int kDecideTries = 5;     // a verdict raced by the rules' own
constexpr int kTurnsInARow = 1000;  // then the others have theirs
constexpr auto kAgainFirst = std::chrono::seconds(1), kAgainMost = std::chrono::seconds(60);

absl::Status grown(std::int64_t after, std::int64_t decided) {
  return make_error(absl::StatusCode::kAborted, ErrorReason::kWrongState,
                    "the search has decided " + std::to_string(decided) +
                        " times and was asked to go on from decision " + std::to_string(after) +
                        "; read what is new and ask again",
                    "after_decision", {{"decided", std::to_string(decided)}});
}

class Runner : public SearchRunner {
 public:
  Runner(Store& store, SearchScript& script, Coordinator& coordinator, Clock& clock)
      : store_(store), coordinator_(coordinator), clock_(clock), conductor_(store, script), reader_(store, script) {}
  ~Runner() override { stop(); }

  void begin() {
    const auto running = store_.running_searches();
    if (!running.ok()) log_warning("searches under way could not be read: {}", std::string(running.status().message()));
    if (running.ok()) {
      for (const SearchRow& row : *running) due_[row.experiment_id].all = true;
    }
    thread_ = std::thread([this] { serve(); });
  }

  void poke(ExperimentId experiment, const std::set<std::int64_t>* trials) override {
    {
      const std::lock_guard lock(mutex_);
      const auto [due, fresh] = due_.try_emplace(experiment);
      due->second.at = 0;
      due->second.add(trials);
    }
    woken_.notify_all();
  }

  absl::StatusOr<Fold> decide(ExperimentId experiment, const SearchWish& wish,
                              std::optional<std::int64_t> after_decision,
                              const std::optional<AppendAudit>& record) override {
    absl::Status last;
    for (int attempt = 0; attempt < kDecideTries; ++attempt) {
      const std::lock_guard lock(conducting_);
      LOCUS_ASSIGN_OR_RETURN(const Fold before, conductor_.fold(experiment));
      const std::set<std::int64_t> nothing_else;  // what is due besides is in the queue
      LOCUS_ASSIGN_OR_RETURN(auto event, conductor_.next(experiment, &wish, &nothing_else));
      if (!event) return before;  // the log holds it already
      if (after_decision && before.decided() > *after_decision) return grown(*after_decision, before.decided());
      last = apply(*std::move(event), record);
      if (last.ok()) {
        poke(experiment, &nothing_else);
        return conductor_.fold(experiment);
      }
      if (!has_reason(last, ErrorReason::kWrongState)) return last;
    }
    return last;
  }

  absl::StatusOr<Fold> fold(ExperimentId experiment) override {
    const std::lock_guard lock(reading_);
    return reader_.fold(experiment);
  }

  std::string trouble(ExperimentId experiment) override {
    const std::lock_guard lock(mutex_);
    const auto found = troubles_.find(experiment);
    return found == troubles_.end() ? "" : found->second.why;
  }

  void stop() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    woken_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

 private:
  struct Due {
    Microseconds at = 0;
    bool all = false;  // every trial may have news; otherwise these
    std::set<std::int64_t> trials = {};

    void add(const std::set<std::int64_t>* moved) {
      all = all || moved == nullptr;
      if (moved != nullptr) trials.insert(moved->begin(), moved->end());
    }
  };
  struct Trouble {
    std::string why;
    std::chrono::seconds wait{kAgainFirst};
  };

  absl::Status apply(SearchDecided event, std::optional<AppendAudit> record = std::nullopt) {
    const Command answer = call(coordinator_, std::move(event), std::move(record));
    if (const auto* error = std::get_if<ReplyError>(&answer)) return error->status;
    return absl::OkStatus();
  }

  // Asks until nothing is due. True where more may be.
  absl::StatusOr<bool> conduct(ExperimentId experiment, Due due) {
    const auto search = store_.search(experiment);
    if (absl::IsNotFound(search.status())) return false;
    LOCUS_RETURN_IF_ERROR(search.status());
    if (search->state == SearchState::kEnded) return false;
    int raced = 0;
    for (int turn = 0; turn < kTurnsInARow; ++turn) {
      {
        const std::lock_guard lock(mutex_);
        if (stopping_) return false;
      }
      const std::lock_guard lock(conducting_);
      auto event = conductor_.next(experiment, /*wish=*/nullptr, due.all ? nullptr : &due.trials);
      if (absl::IsNotFound(event.status())) return false;  // deleted meanwhile
      LOCUS_RETURN_IF_ERROR(event.status());
      if (!*event) return false;
      due.all = due.all || (*event)->decisions.rows.size() >= Conductor::kRowsOfAnEvent;  // it was cut short
      const absl::Status status = apply(**std::move(event));
      if (status.ok()) {
        raced = 0;
      } else if (!has_reason(status, ErrorReason::kWrongState) || ++raced == kDecideTries) {
        return status;
      }
    }
    return true;
  }

  void serve() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      const auto next = std::min_element(due_.begin(), due_.end(),
                                         [](const auto& a, const auto& b) { return a.second.at < b.second.at; });
      if (next == due_.end()) {
        woken_.wait(lock);
        continue;
      }
      if (const Microseconds left = next->second.at - clock_.steady(); left > 0) {
        woken_.wait_for(lock, std::chrono::microseconds(left));
        continue;
      }
      const ExperimentId experiment = next->first;
      Due due = std::move(next->second);
      due_.erase(next);
      lock.unlock();
      const absl::StatusOr<bool> more = conduct(experiment, std::move(due));
      lock.lock();
      settle(experiment, more);
    }
  }

  // Keeps why it failed, and when it is tried again.
  void settle(ExperimentId experiment, const absl::StatusOr<bool>& more) {
    if (more.ok()) {
      if (troubles_.erase(experiment) > 0) log_info("the search of experiment {} goes on", experiment);
      if (*more) due_[experiment].all = true;
      return;
    }
    Trouble& trouble = troubles_[experiment];
    const std::string why(more.status().message());
    if (trouble.why != why)
      log_warning("the search of experiment {} could not go on and is tried again: {}", experiment, why);
    trouble.why = why;
    const Microseconds later = clock_.steady() + std::chrono::microseconds(trouble.wait).count();
    due_.try_emplace(experiment, Due{.at = later}).first->second.all = true;
    trouble.wait = std::min<std::chrono::seconds>(kAgainMost, 2 * trouble.wait);
  }

  Store& store_;
  Coordinator& coordinator_;
  Clock& clock_;
  std::mutex conducting_;  // one answer at a time
  Conductor conductor_;
  std::mutex reading_;
  Conductor reader_;  // of folds alone, so that readers do not wait for the rules

  std::mutex mutex_;
  std::condition_variable woken_;
  std::map<ExperimentId, Due> due_;
  std::map<ExperimentId, Trouble> troubles_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<SearchRunner> SearchRunner::start(Store& store, SearchScript& script, Coordinator& coordinator,
                                                  Clock& clock) {
  auto out = std::make_unique<Runner>(store, script, coordinator, clock);
  out->begin();
  return out;
}

}  // namespace locus::server
