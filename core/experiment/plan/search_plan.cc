// Checks a search against what its cells train and validate.
#include "core/experiment/plan/search_plan.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/catalog/facts.h"
#include "core/catalog/options.h"
#include "core/experiment/plan/fields.h"
#include "core/experiment/plan/search_section.h"

namespace locus {
namespace {

constexpr char kRungsField[] = "search.advance.rungs";
// A checkpoint keeps float32 weights and two moments of the optimizer for each.
constexpr double kCheckpointBytesPerParameter = 3 * 4;

double epochs_of(const Configuration& cell) { return cell.recipe()->resolved.value("epochs", 0.0); }
double validated_every(const Configuration& cell) { return cell.recipe()->resolved.value("validate_every", 0.0); }

bool counts_epochs(const Search& search) {
  const AdvanceRule rule = search.advance.rule;
  const bool rungs =
      rule != AdvanceRule::kNone && rule != AdvanceRule::kRace && search.advance.resource == SearchResource::kEpochs;
  return rungs || !search.stops.empty();
}

// A proposal that repeats another is the unit that this one is: it is judged with it and trains nothing.
SearchSize size_of(const SearchCells& cells, const Specification& spec, const Configured& configured) {
  SearchSize out;
  out.cells.resize(cells.groups.size());
  for (std::size_t i = 0; i < cells.places.size(); ++i) {
    const SearchPlace& place = cells.places[i];
    if (place.rung == 0) out.cells[static_cast<std::size_t>(place.group)] += 1;
    out.epochs = std::max(out.epochs, epochs_of(configured.cells[i]));
    out.validate_every = std::max(out.validate_every, validated_every(configured.cells[i]));
  }
  out.seeds = static_cast<std::int64_t>(spec.seeds.size());
  return out;
}

// "3 or 6": the multiples of `every` beside `epoch`, below `epochs`.
std::string allowed_near(std::int64_t epoch, std::int64_t every, double epochs) {
  const std::int64_t below = epoch / every * every, above = below + every;
  if (below < 1) return std::to_string(above);
  return std::to_string(below) + (static_cast<double>(above) < epochs ? " or " + std::to_string(above) : "");
}

// Looks at one training that cells share: an epoch that something is judged at.
class EpochCheck {
 public:
  EpochCheck(const Configuration& cell, Mistakes& mistakes)
      : epochs_(epochs_of(cell)), every_(validated_every(cell)), mistakes_(mistakes) {}

  // At the end of `epoch`, below the last, the model is validated whatever the batch.
  void look(std::int64_t epoch, const std::string& what, const std::string& field) {
    if (every_ < 1 || every_ != std::floor(every_)) {
      mistakes_.note(invalid_search(what + " is judged where an epoch ends, and train.validate_every is " +
                                        show_json(every_) +
                                        ", so no validation need fall there; write train.validate_every: 1 or another "
                                        "whole number of epochs",
                                    field));
      return;
    }
    const auto every = static_cast<std::int64_t>(every_);
    if (epoch % every == 0) return;
    mistakes_.note(invalid_search(what + " lies between validations, which come every " + std::to_string(every) +
                                      " epochs; the nearest that is validated is " +
                                      allowed_near(epoch, every, epochs_),
                                  field));
  }

  double epochs() const { return epochs_; }
  double every() const { return every_; }

 private:
  double epochs_, every_;
  Mistakes& mistakes_;
};

void check_rungs(const Search& search, bool listed, EpochCheck& epochs, Mistakes& mistakes) {
  const Advance& advance = search.advance;
  if (advance.rule == AdvanceRule::kNone || advance.resource == SearchResource::kSeeds) return;
  std::set<std::int64_t> rungs(advance.rungs.begin(), advance.rungs.end());
  for (const Bracket& bracket : advance.brackets) rungs.insert(bracket.rungs.begin(), bracket.rungs.end());
  if (rungs.empty()) return;
  if (static_cast<double>(*rungs.rbegin()) != epochs.epochs()) {
    mistakes.note(invalid_search("the last rung is the whole training: train.epochs is " + show_json(epochs.epochs()) +
                                     ", and the rungs end at " + std::to_string(*rungs.rbegin()),
                                 kRungsField));
    return;
  }
  std::size_t index = 0;
  for (const std::int64_t rung : rungs) {
    if (rung == *rungs.rbegin()) break;
    epochs.look(rung, "the rung " + std::to_string(rung),
                listed ? indexed(kRungsField, index++) : std::string(kRungsField));
  }
}

void check_stop(const StopRule& stop, EpochCheck& epochs, Mistakes& mistakes) {
  const auto at = [&](std::int64_t epoch, const char* key) {
    const std::string field = stop.field + "." + key;
    if (static_cast<double>(epoch) >= epochs.epochs()) {
      mistakes.note(invalid_search("training ends after " + show_json(epochs.epochs()) + " epochs, so epoch " +
                                       std::to_string(epoch) + " leaves nothing to stop; name an earlier one",
                                   field));
      return;
    }
    epochs.look(epoch, "epoch " + std::to_string(epoch), field);
  };
  if (const auto* median = std::get_if<MedianRule>(&stop.rule)) {
    if (median->from > 0) at(median->from, "from");
    if (median->from == 0) epochs.look(static_cast<std::int64_t>(std::max(1.0, epochs.every())), "median", stop.field);
  } else if (const auto* threshold = std::get_if<ThresholdRule>(&stop.rule)) {
    at(threshold->at, "at");
  } else {
    const auto validations = std::get<PatienceRule>(stop.rule).validations;
    const double there = epochs.every() > 0 ? std::ceil(epochs.epochs() / epochs.every()) : 1;
    if (static_cast<double>(validations) + 1 < there) return;
    mistakes.note(invalid_search("patience looks back over " + std::to_string(validations) +
                                     " validations before it stops anything, and a training has " + show_json(there) +
                                     "; lower it or validate more often",
                                 stop.field + ".validations"));
  }
}

// One training of each kind that the cells have; one kind alone where epochs are counted over all of them.
void check_epochs(const Specification& spec, const Configured& configured, Mistakes& mistakes) {
  const Search& search = spec.search->search;
  const bool anew = search.horizon == SearchHorizon::kRung;
  std::set<const ResolvedSection*> seen;
  double first = -1;
  for (const Configuration& cell : configured.cells) {
    if (!seen.insert(cell.recipe()).second) continue;
    const double epochs = epochs_of(cell);
    if (!anew && first >= 0 && epochs != first) {
      mistakes.note(
          invalid_search("epochs are counted over all cells, and some train for " + show_json(first) +
                             " epochs, others for " + show_json(epochs) + "; give them one train.epochs",
                         search.advance.rule == AdvanceRule::kNone ? search.stops.front().field : kRungsField));
      return;
    }
    first = epochs;
    EpochCheck check(cell, mistakes);
    if (!anew) check_rungs(search, !spec.search->geometric, check, mistakes);
    for (const StopRule& stop : search.stops) check_stop(stop, check, mistakes);
  }
}

void check_metric(const std::string& name, const std::string& field, const Configured& configured, Mistakes& mistakes) {
  if (name.empty()) return;
  MetricRequest request;
  request.name = name;
  for (const Configuration& cell : configured.cells) {
    const auto found = resolve_metric(request, *cell.task());
    if (found.ok()) continue;
    const auto detail = error_detail(found.status());
    mistakes.note(refuse(detail ? detail->reason : ErrorReason::kUnknownItem, std::string(found.status().message()),
                         field, detail ? detail->metadata : std::map<std::string, std::string>()));
    return;
  }
}

void check_budget(const Search& search, const SearchSize& size, Mistakes& mistakes) {
  const FirstJudged first = first_judged(search, size);
  const SearchBudget& budget = search.budget;
  const auto nothing = [&](const std::string& given, const std::string& needed, const char* key) {
    mistakes.note(invalid_search("a budget of " + given + " pays for nothing: the first proposal is judged after " +
                                     needed + "; raise it or take it out",
                                 std::string("search.budget.") + key));
  };
  if (budget.epochs && *budget.epochs < first.epochs)
    nothing(show_json(*budget.epochs) + " epochs", show_json(first.epochs) + " epochs", "epochs");
  if (budget.stages && *budget.stages < first.trainings)
    nothing(std::to_string(*budget.stages) + " stages", std::to_string(first.trainings) + " trainings", "stages");
}

void check_race(const Search& search, const SearchSize& size, Mistakes& mistakes) {
  const RaceTerms& race = search.advance.race;
  if (search.advance.rule != AdvanceRule::kRace) return;
  const std::string field = "search.advance.race";
  const std::int64_t candidates = *std::max_element(size.cells.begin(), size.cells.end());
  if (candidates < 2) {
    mistakes.note(
        invalid_search("a race needs two candidates in a group, and here is one; list more in the matrix or the "
                       "space",
                       "search.advance"));
    return;
  }
  if (race.rule != RaceRule::kHalving) return;
  std::int64_t rounds = 0, seeds = 0;
  for (std::int64_t reach = 1; reach < candidates; reach *= 2) ++rounds;
  if (race.budget < candidates * rounds) {
    mistakes.note(invalid_search("sequential halving of " + std::to_string(candidates) + " candidates has " +
                                     std::to_string(rounds) + " rounds and needs " +
                                     std::to_string(candidates * rounds) + " runs at least, not " +
                                     std::to_string(race.budget),
                                 field + ".budget"));
    return;
  }
  for (std::int64_t live = candidates; live > 1; live = (live + 1) / 2)
    seeds += seeds_of_round(race.budget, candidates, live);
  if (seeds <= size.seeds) return;
  mistakes.note(invalid_search("with " + std::to_string(race.budget) + " runs the last candidates get " +
                                   std::to_string(seeds) + " seeds, and replicates.seed lists " +
                                   std::to_string(size.seeds) + "; list more or lower the budget",
                               field + ".budget"));
}

}  // namespace

void check_judged_split(const Configured& configured, Mistakes& mistakes) {
  if (configured.metric.selects_on != "validation") return;
  for (const Configuration& cell : configured.cells) {
    const CatalogItem& dataset = *cell.dataset()->item;
    if (!dataset.facts.contains("splits") || images_of_split(dataset, cell.dataset()->resolved, "validation") > 0)
      continue;
    mistakes.note(refuse(ErrorReason::kConstraintViolated,
                         "something is chosen on validation, but the dataset '" + dataset.id +
                             "' as it is specified has no validation images; give it some, or choose another dataset",
                         "dataset"));
    return;
  }
}

void check_search(const Specification& spec, const SearchCells& cells, const Configured& configured,
                  Mistakes& mistakes) {
  const Search& search = spec.search->search;
  if (counts_epochs(search)) check_epochs(spec, configured, mistakes);
  if (search.decides()) check_judged_split(configured, mistakes);
  for (const StopRule& stop : search.stops) check_metric(stop.metric, stop.field + ".metric", configured, mistakes);
  if (search.budget.target)
    check_metric(search.budget.target->metric, "search.budget.target.metric", configured, mistakes);
  const SearchSize size = size_of(cells, spec, configured);
  check_race(search, size, mistakes);
  if (mistakes.none()) check_budget(search, size, mistakes);
}

SearchPlan plan_search(const Specification& spec, SearchCells cells, const Configured& configured) {
  SearchPlan out;
  out.search = spec.search->search;
  const SearchSize size = size_of(cells, spec, configured);
  out.figures = figures_of(out.search, size);
  for (std::size_t group = 0; group < size.cells.size(); ++group) {
    const auto repeated = static_cast<std::int64_t>(cells.repeats[group].size());
    out.proposals = std::max(out.proposals, size.cells[group] + repeated);
  }
  for (const CellCost& cost : configured.costs) {
    if (cost.parameters < 0) continue;
    out.checkpoint_bytes =
        std::max(out.checkpoint_bytes, kCheckpointBytesPerParameter * (cost.parameters + cost.training_parameters));
  }
  out.groups = std::move(cells.groups);
  out.repeats = std::move(cells.repeats);
  return out;
}

std::vector<std::string> remarks_on(const SearchPlan& plan, const Configured& configured) {
  std::vector<std::string> out;
  const Search& search = plan.search;
  std::size_t repeats = 0;
  for (const auto& one : plan.repeats) repeats += one.size();
  if (repeats > 0) {
    out.push_back(std::to_string(repeats) + (repeats == 1 ? " proposal repeats" : " proposals repeat") +
                  " the values of an earlier one and " + (repeats == 1 ? "shares its" : "share their") +
                  " stages; more digits or a larger space would tell them apart");
  }
  if (search.proposer == Proposer::kSobol && (search.proposals & (search.proposals - 1)) != 0) {
    out.push_back("a Sobol sequence covers the space evenly at 2, 4, 8, ... proposals, and search.proposals is " +
                  std::to_string(search.proposals));
  }
  if (!counts_epochs(search) || configured.metric.selects_on != "validation") return out;
  for (const Configuration& cell : configured.cells) {
    const auto images = cell.recipe()->resolved.value("validation_images", std::int64_t{0});
    const std::int64_t all = images_of_split(*cell.dataset()->item, cell.dataset()->resolved, "validation");
    if (images <= 0 || images >= all) continue;
    out.push_back("the search judges by the first " + std::to_string(images) + " of " + std::to_string(all) +
                  " validation images; set train.validation_images: 0 for all");
    break;
  }
  return out;
}

}  // namespace locus
