// Reads the section `search` and completes it from the rest of the specification.
#include "core/experiment/plan/search_section.h"

#include <algorithm>
#include <limits>

#include "core/catalog/options.h"
#include "core/experiment/plan/fields.h"
#include "core/experiment/plan/key_reader.h"
#include "core/limits.h"

namespace locus {
namespace {

constexpr double kSeedMost = 9007199254740992.0;  // 2^53

Proposer proposer_of(const std::string& word) {
  for (const Proposer one : {Proposer::kRandom, Proposer::kSobol, Proposer::kExternal}) {
    if (word == to_string(one)) return one;
  }
  return Proposer::kGrid;
}

bool drawn(const Search& search) { return search.proposer == Proposer::kRandom || search.proposer == Proposer::kSobol; }

// What each way of proposing needs and cannot use.
void check_proposer(KeyReader& keys, const SearchRequest& request, Mistakes& mistakes) {
  const Search& search = request.search;
  const std::string word = to_string(search.proposer);
  if (search.proposer == Proposer::kGrid) {
    if (request.proposals) {
      mistakes.note(invalid_search("a grid proposes all of its points; take proposals out, or write propose: sobol",
                                   keys.at("proposals")));
    }
    if (!search.shared) {
      mistakes.note(invalid_search("every group meets the same grid; take shared out, or write propose: sobol",
                                   keys.at("shared")));
    }
    for (const Dimension& one : search.space) {
      if (one.kind == Dimension::Kind::kChoice || one.kind == Dimension::Kind::kInteger) continue;
      mistakes.note(
          invalid_search("a grid has no points between two bounds; list them, as in {choice: [0.001, 0.003]}, "
                         "or write propose: sobol",
                         keys.at("space." + one.path)));
    }
    return;
  }
  keys.require("space",
               "propose: " + word + " needs a space to draw from, as in space: {train.lr: {log: [1.0e-4, 1.0e-2]}}");
  if (drawn(search) && search.advance.rule != AdvanceRule::kHyperband) {
    keys.require("proposals", "propose: " + word + " draws as many settings as you say; add proposals: 32");
  }
  if (search.proposer == Proposer::kExternal && !search.shared) {
    mistakes.note(invalid_search("a client proposes to every group what it likes; take shared out", keys.at("shared")));
  }
}

// The number that the rungs end at: epochs of a training or seeds of a cell; nothing, with a note, where it is not written.
std::optional<std::int64_t> last_rung(const Specification& spec, const Advance& advance, Mistakes& mistakes) {
  if (advance.resource == SearchResource::kSeeds) return static_cast<std::int64_t>(spec.seeds.size());
  const auto epochs = spec.fixed.find(kEpochsPath);
  if (epochs != spec.fixed.end() && epochs->second.value.is_number()) {
    const double value = epochs->second.value.get<double>();
    if (value >= 1 && value <= 1e6) return static_cast<std::int64_t>(value);
  }
  if (epochs == spec.fixed.end() && spec.knows_all_of(kEpochsPath)) {
    mistakes.note(refuse(ErrorReason::kMissingKey,
                         "rungs that grow by a factor end at train.epochs; write how many there are", kEpochsPath,
                         {{"key", "epochs"}}));
  }
  return std::nullopt;
}

void complete_hyperband(const Specification& spec, SearchRequest& request, Mistakes& mistakes) {
  Advance& advance = request.search.advance;
  if (!advance.rungs.empty()) {
    mistakes.note(invalid_search("Hyperband makes its own rungs; write rungs: {least: 1, eta: 3}, or take them out",
                                 "search.advance.rungs"));
    return;
  }
  const auto last = last_rung(spec, advance, mistakes);
  if (!last) return;
  const std::int64_t least = request.geometric ? request.geometric->least : 1;
  if (least > *last) {
    mistakes.note(invalid_search(
        "the first rung, " + std::to_string(least) + ", is beyond train.epochs, " + std::to_string(*last),
        "search.advance.rungs"));
    return;
  }
  advance.brackets = hyperband(*last, advance.eta, least);
  std::int64_t units = 0;
  for (const Bracket& bracket : advance.brackets) units += bracket.units.front();
  if (request.proposals && request.search.proposals != units && request.search.proposer != Proposer::kGrid) {
    mistakes.note(invalid_search("Hyperband over " + std::to_string(*last) + " epochs with eta " +
                                     std::to_string(advance.eta) + " begins " + std::to_string(units) +
                                     " proposals in " + std::to_string(advance.brackets.size()) +
                                     " brackets; write that, or take proposals out",
                                 "search.proposals"));
  }
  request.search.proposals = units;
}

void complete_rungs(const Specification& spec, SearchRequest& request, Mistakes& mistakes) {
  Advance& advance = request.search.advance;
  if (advance.rule == AdvanceRule::kHyperband) return complete_hyperband(spec, request, mistakes);
  if (advance.rule != AdvanceRule::kHalve && advance.rule != AdvanceRule::kAsha) return;
  const std::string field = "search.advance.rungs";
  if (request.geometric) {
    const auto last = last_rung(spec, advance, mistakes);
    if (!last) return;
    if (request.geometric->least >= *last) {
      mistakes.note(invalid_search("the first rung, " + std::to_string(request.geometric->least) +
                                       ", is not below the last, " + std::to_string(*last) + ", so nothing is judged",
                                   field));
      return;
    }
    advance.rungs = geometric_rungs(request.geometric->least, *last, request.geometric->eta);
    return;
  }
  if (request.rungs && advance.rungs.size() == 1) {
    mistakes.note(
        invalid_search("one rung judges nobody before the end; give those before it as well, as in [1, 3, 9]", field));
  }
  const auto seeds = static_cast<std::int64_t>(spec.seeds.size());
  if (advance.resource == SearchResource::kSeeds && !advance.rungs.empty() && advance.rungs.back() != seeds) {
    mistakes.note(invalid_search("the last rung is all seeds of a cell, and replicates.seed lists " +
                                     std::to_string(seeds) + ", not " + std::to_string(advance.rungs.back()),
                                 field));
  }
}

void complete_race(const Specification& spec, SearchRequest& request, Mistakes& mistakes) {
  RaceTerms& race = request.search.advance.race;
  if (request.search.advance.rule != AdvanceRule::kRace || !spec.knows_all_of("replicates")) return;
  const auto seeds = static_cast<std::int64_t>(spec.seeds.size());
  if (!request.most) race.most = seeds;
  const std::string field = "search.advance.race";
  if (race.most > seeds) {
    mistakes.note(invalid_search("a race of up to " + std::to_string(race.most) +
                                     " seeds needs as many in "
                                     "replicates.seed, which lists " +
                                     std::to_string(seeds),
                                 field + ".most"));
  } else if (race.rule != RaceRule::kHalving && race.terms.first > race.most) {
    mistakes.note(invalid_search("the race decides nothing before " + std::to_string(race.terms.first) +
                                     " seeds, and has " + std::to_string(race.most) +
                                     "; list more in replicates.seed or lower first",
                                 field + (request.most ? ".most" : ".first")));
  }
}

// Paths that the matrix has too, or that rungs speak of.
void check_paths(const Specification& spec, const Search& search, Mistakes& mistakes) {
  for (const Dimension& dimension : search.space) {
    const std::string field = "search.space." + dimension.path;
    for (const Axis& axis : spec.axes) {
      for (const Factor& factor : axis) {
        if (factor.path != dimension.path) continue;
        mistakes.note(invalid_search(
            dimension.path + " is a factor, at " + factor.field + ", and searched as well; keep one of the two",
            field));
      }
    }
    const bool epochs = search.advance.rule != AdvanceRule::kNone || !search.stops.empty();
    if (dimension.path == kEpochsPath && epochs)
      mistakes.note(
          invalid_search("rungs and stopping rules count epochs of one training; train.epochs cannot be searched "
                         "with them",
                         field));
  }
}

// Cells of an include get the proposals as those of the matrix do; they cannot bring their own.
void check_includes(const Specification& spec, const Search& search, Mistakes& mistakes) {
  for (const Settings& one : spec.include) {
    for (const Dimension& dimension : search.space) {
      const auto found = one.find(dimension.path);
      if (found == one.end()) continue;
      mistakes.note(invalid_search(dimension.path +
                                       " is searched, so an included cell cannot set it; leave it out, and "
                                       "the cell gets every proposal",
                                   found->second.field));
    }
  }
}

// Counted by arithmetic before anything is drawn; repeated proposals count as well.
void check_count(const Specification& spec, const Search& search, Mistakes& mistakes) {
  const bool grid = search.proposer == Proposer::kGrid;
  std::int64_t trials = grid ? grid_size(search.space, std::numeric_limits<std::int64_t>::max())
                             : std::max<std::int64_t>(1, search.proposals);
  const auto times = [&](std::size_t factor) {
    if (__builtin_mul_overflow(trials, static_cast<std::int64_t>(factor), &trials))
      trials = std::numeric_limits<std::int64_t>::max();
  };
  for (const Axis& axis : spec.axes) times(axis.front().values.size());
  times(spec.seeds.size());
  if (search.horizon == SearchHorizon::kRung) times(search.advance.rungs.size());
  if (trials <= kTrialsPerExperiment) return;
  const bool huge = trials == std::numeric_limits<std::int64_t>::max();
  const std::string count = huge ? "more than 9 * 10^18" : std::to_string(trials);
  mistakes.note(make_error(absl::StatusCode::kResourceExhausted, ErrorReason::kTooManyTrials,
                           "the search spans " + count + " trials over matrix and seeds; an experiment holds at most " +
                               std::to_string(kTrialsPerExperiment) + ": propose less or split it",
                           grid ? "search.space" : "search.proposals",
                           {{"trials", count}, {"limit", std::to_string(kTrialsPerExperiment)}}));
}

void check_horizon(const Search& search, Mistakes& mistakes) {
  if (search.horizon == SearchHorizon::kFull) return;
  const AdvanceRule rule = search.advance.rule;
  const bool ladder = rule == AdvanceRule::kHalve || rule == AdvanceRule::kAsha;
  if (ladder && search.advance.resource == SearchResource::kEpochs && search.advance.park) return;
  mistakes.note(invalid_search(
      "horizon: rung trains anew at every rung of epochs that halve and asha park at; take it out", "search.horizon"));
}

}  // namespace

absl::Status invalid_search(const std::string& message, const std::string& field) {
  return refuse(ErrorReason::kInvalidSpecification, message, field);
}

absl::Status parse_search(const Json& json, Specification& spec) {
  Mistakes mistakes;
  KeyReader keys(
      json, "search", "search",
      {"seed", "propose", "space", "proposals", "shared", "advance", "stop", "budget", "parallel", "horizon"},
      mistakes);
  if (!json.is_object()) {
    spec.unread.insert("");
    return mistakes.status();
  }
  if (json.empty()) {
    return refuse(
        ErrorReason::kMissingKey,
        "search says nothing; write what to try, as in {propose: sobol, proposals: 32, space: {train.lr: {log: "
        "[1.0e-4, 1.0e-2]}}}",
        "search");
  }
  SearchRequest request;
  Search& search = request.search;
  search.seed = static_cast<std::uint64_t>(keys.integer("seed", 0, kSeedMost).value_or(0));
  search.proposer = proposer_of(keys.word("propose", {"grid", "random", "sobol", "external"}).value_or("grid"));
  if (keys.has("space")) read_space(keys["space"], spec, search, mistakes);
  request.proposals = keys.has("proposals");
  search.proposals = keys.integer("proposals", 1, kTrialsPerExperiment).value_or(0);
  search.shared = keys.boolean("shared").value_or(true);
  if (keys.has("advance")) read_advance(keys["advance"], request, mistakes);
  if (keys.has("stop")) read_stops(keys["stop"], search, mistakes);
  if (keys.has("budget")) read_budget(keys["budget"], search, mistakes);
  search.parallel = keys.integer("parallel", 1, kTrialsPerExperiment).value_or(0);
  if (keys.word("horizon", {"full", "rung"}) == "rung") search.horizon = SearchHorizon::kRung;
  check_proposer(keys, request, mistakes);
  check_horizon(search, mistakes);
  request.whole = mistakes.none();
  for (const Dimension& dimension : search.space) {
    if (!request.whole) spec.unread.insert(dimension.path);
  }
  spec.search = std::move(request);
  return mistakes.status();
}

void complete_search(Specification& spec, Mistakes& mistakes) {
  if (!spec.search || !spec.search->whole) return;
  SearchRequest& request = *spec.search;
  Mistakes found;
  check_paths(spec, request.search, found);
  complete_rungs(spec, request, found);
  complete_race(spec, request, found);
  if (!spec.matched.empty() && !request.search.shared) {
    found.note(
        invalid_search("matched promises that only " + spec.matched.front() +
                           " differs, and without shared each group draws settings of its own; take shared: false "
                           "out",
                       "search.shared"));
  }
  if (!request.search.shared && !spec.include.empty()) {
    found.note(
        invalid_search("groups that draw their own proposals are combinations of the matrix; write the cells "
                       "there instead of include",
                       "include"));
  }
  check_includes(spec, request.search, found);
  if (!request.search.space.empty() && found.none()) check_count(spec, request.search, found);
  request.whole = mistakes.note(found.status());
  for (const Dimension& dimension : request.search.space) {
    if (!request.whole) spec.unread.insert(dimension.path);
  }
}

}  // namespace locus
