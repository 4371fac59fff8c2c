// What is said of why a stage waits, held to the books: invariant 28, beyond what bounds and exchanges are about.
#include <algorithm>

#include "core/experiment/labels.h"
#include "core/scheduling/accounts.h"
#include "tests/simulation/place_watch.h"
#include "tests/simulation/world.h"

namespace locus::simulation {
namespace {

// The text after `mark`, up to `end`; nothing where either is missing.
std::optional<std::string> between(const std::string& text, const std::string& mark, const std::string& end) {
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t from = at + mark.size(), to = text.find(end, from);
  if (to == std::string::npos) return std::nullopt;
  return text.substr(from, to - from);
}

// That the experiments ask for which want the stage and are active.
std::vector<PlacementRules> rules_of(StageId stage, const Snapshot& stored) {
  std::vector<PlacementRules> out;
  for (const StageReference& reference : stored.references) {
    if (reference.stage != stage) continue;
    const auto row = std::ranges::find(stored.experiments, reference.experiment, &ExperimentRow::id);
    const PlacementPtr rules = stored_placement(row->placement);
    if (row->state == ExperimentState::kActive) out.push_back(rules ? *rules : PlacementRules{});
  }
  return out;
}

const StageRow* stage_of(const std::string& number, const Snapshot& stored) {
  const auto row =
      std::ranges::find_if(stored.stages, [&](const StageRow& one) { return std::to_string(one.id) == number; });
  return row == stored.stages.end() ? nullptr : &*row;
}

std::string rounded_up(Microseconds us) {
  const std::int64_t seconds = (std::max<Microseconds>(0, us) + kSecond - 1) / kSecond;
  return seconds < 120 ? std::to_string(seconds) + " s" : std::to_string((seconds + 59) / 60) + " min";
}

Violation untrue(StageId stage, const std::string& reason) {
  return Violation(28, "of stage " + std::to_string(stage) + " it is said that it " + reason);
}

}  // namespace

void PlaceWatch::check_reason(StageId stage, const std::string& reason, const ShareWatch& shares, Store& store,
                              Now now) {
  const Snapshot stored = store.load().value();
  if (reason.starts_with("waits for a larger worker: ")) check_size(stage, reason, stored);
  if (reason.starts_with("waits for a free slot: ")) check_kept(stage, reason, stored);
  if (reason.starts_with("waits for a worker of another kind: ")) check_kind(stage, reason, stored);
  if (reason.starts_with("waits for a worker that stays: ")) check_end(stage, reason, stored, now);
  if (reason.find(" and comes first, ") != std::string::npos) check_first(reason, shares, store);
}

// "it needs 3 devices of one node, the largest has 2 (w1)"
void PlaceWatch::check_size(StageId stage, const std::string& reason, const Snapshot& stored) {
  const auto needs = between(reason, "it needs ", " devices"), has = between(reason, "the largest has ", " (");
  const auto name = between(reason, " (", ")");
  const std::vector<PlacementRules> asked = rules_of(stage, stored);
  const bool right = needs && std::ranges::any_of(asked, [&](const PlacementRules& rules) {
                       return std::to_string(rules.devices) == *needs;
                     });
  const auto worker = std::ranges::find(stored.workers, name.value_or(""), &WorkerRow::name);
  if (!right || !has || worker == stored.workers.end() || std::to_string(devices_together(*worker)) != *has ||
      std::stoi(*has) >= std::stoi(*needs))
    throw untrue(stage, reason);
  ++seen_["reasons that name a size"];
}

// "w0 is kept free for stage 7 (train), which takes 2 devices together", "stage 7 (measure) runs alone on w0"
void PlaceWatch::check_kept(StageId stage, const std::string& reason, const Snapshot& stored) {
  if (const auto number = between(reason, " is kept free for stage ", " (")) {
    const StageRow* first = stage_of(*number, stored);
    if (first == nullptr || first->id == stage || first->state != StageState::kQueued ||
        between(reason, "stage " + *number + " (", ")") != first->kind)
      throw untrue(stage, reason);
    const auto devices = between(reason, "which takes ", " devices together");
    const std::vector<PlacementRules> asked = rules_of(first->id, stored);
    const bool several = devices && std::ranges::any_of(asked, [&](const PlacementRules& rules) {
                           return std::to_string(rules.devices) == *devices;
                         });
    if (devices ? !several : first->kind != "measure") throw untrue(stage, reason);
    ++seen_["reasons that name what slots are kept for"];
  } else if (reason.find(" runs alone on ") != std::string::npos) {
    const StageRow* first = stage_of(between(reason, "free slot: stage ", " (").value_or(""), stored);
    const auto running = first == nullptr ? running_.end() : running_.find(first->id);
    if (running == running_.end() || first->kind != "measure") throw untrue(stage, reason);
    const auto worker = std::ranges::find(stored.workers, running->second.worker, &WorkerRow::id);
    if (reason.find(" runs alone on " + worker->name) == std::string::npos) throw untrue(stage, reason);
    ++seen_["reasons that name what runs alone"];
  }
}

// "1 of 2 workers that could run it have no pool=vision"; after the first clause others may follow, and in the end
// "; w1, of that kind, drains" or "lacks dataset/d at revision 1".
void PlaceWatch::check_kind(StageId stage, const std::string& reason, const Snapshot& stored) {
  const auto failing = between(reason, "another kind: ", " of ");
  const auto able = failing ? between(reason, ": " + *failing + " of ", " worker") : std::nullopt;
  const std::size_t no = reason.find(" no ");
  if (!failing || !able || no == std::string::npos) throw untrue(stage, reason);
  const std::vector<PlacementRules> asked = rules_of(stage, stored);
  const std::string clause = reason.substr(no + 4);
  const bool right = std::ranges::any_of(asked, [&](const PlacementRules& rules) {
    return std::ranges::any_of(clauses_of(rules),
                               [&](const auto& entry) { return clause.starts_with(entry.first + "=" + entry.second); });
  });
  const auto workers = static_cast<int>(stored.workers.size());
  if (!right || std::stoi(*failing) < 1 || std::stoi(*failing) > std::stoi(*able) || std::stoi(*able) > workers)
    throw untrue(stage, reason);
  ++seen_["reasons that name a label"];
  const std::size_t of_kind = reason.find(", of that kind, ");
  if (of_kind == std::string::npos) return;
  const std::size_t name = reason.rfind("; ", of_kind) + 2;
  const auto worker = std::ranges::find(stored.workers, reason.substr(name, of_kind - name), &WorkerRow::name);
  const bool alike = worker != stored.workers.end() && std::ranges::any_of(asked, [&](const PlacementRules& rules) {
                       return first_unmet(rules, stored_labels(worker->labels_json).effective()).empty();
                     });
  const bool drains = reason.substr(of_kind).starts_with(", of that kind, drains");
  if (!alike || drains != worker->drained()) throw untrue(stage, reason);
  ++seen_["reasons that name one of the kind"];
}

// "w1 ends in 20 s and this takes about 40 s", or "is drained in".
void PlaceWatch::check_end(StageId stage, const std::string& reason, const Snapshot& stored, Now now) {
  const std::string said = reason.substr(reason.find(": ") + 2);
  const Microseconds takes = estimate(stage);
  const auto ends = [&](const std::string& name, const char* how, Microseconds left) {
    std::string text = name + (left > 0 ? how + rounded_up(left) : " is about to end");
    if (takes > 0) text += " and this takes about " + rounded_up(takes);
    return said.starts_with(text) && (left <= 0 || takes > left);
  };
  const bool right =
      std::ranges::any_of(
          lives_, [&](const auto& entry) { return ends(entry.first, " ends in ", entry.second.ends - now.steady); }) ||
      std::ranges::any_of(stored.workers, [&](const WorkerRow& worker) {
        return worker.drains_later() && ends(worker.name, " is drained in ", worker.drain_from_us - now.wall);
      });
  if (!right) throw untrue(stage, reason);
  ++seen_["reasons that name an end"];
}

// "account ada holds 1 device with a weight of 2 and comes first, bob holds 2 devices with a weight of 1"
void PlaceWatch::check_first(const std::string& reason, const ShareWatch& shares, Store& store) {
  const std::string before = "; account ", middle = " and comes first, ";
  const std::size_t from = reason.find(before) + before.size(), at = reason.find(middle);
  const std::string first = reason.substr(from, at - from), second = reason.substr(at + middle.size());
  const std::vector<AccountRow> accounts = store.identity().accounts().value();
  const auto name_of = [](const std::string& text) { return text.substr(0, text.find(' ')); };
  const auto said_of = [&](const std::string& name) {
    return name + " holds " + devices_text(shares.holding(name)) + " with a weight of " +
           std::to_string(account_of(accounts, name).weight);
  };
  const std::string one = name_of(first), other = name_of(second);
  const bool less = shares.holding(one) * account_of(accounts, other).weight <=
                    shares.holding(other) * account_of(accounts, one).weight;
  if (first != said_of(one) || !second.starts_with(said_of(other)) || !less)
    throw Violation(28, "it is said that it " + reason + "; in truth " + said_of(one) + ", " + said_of(other));
  ++seen_["reasons that name who comes first"];
}

}  // namespace locus::simulation
