// From what the log grants to links: which stages trials are to have, and how far.
#include <algorithm>
#include <utility>

#include "core/analysis/queries.h"
#include "core/base/error.h"
#include "core/conduct/stage_draft.h"
#include "core/conduct/turn.h"

namespace locus {
namespace {

constexpr std::size_t kAskedOneByOne = 200;  // of more trials than that it is faster to read all

}  // namespace

absl::Status ConductorTurn::load_trials() {
  if (std::exchange(loaded_, true)) return absl::OkStatus();
  LOCUS_ASSIGN_OR_RETURN(auto views, all_trials(store_, row_.id));
  for (TrialView& view : views) trials_[view.trial.ordinal] = std::move(view);
  return absl::OkStatus();
}

absl::StatusOr<const TrialView*> ConductorTurn::trial(std::int64_t ordinal) {
  const bool many = std::max(look_.size(), change_.size()) > kAskedOneByOne;
  if (whole_ || many) LOCUS_RETURN_IF_ERROR(load_trials());
  if (const auto known = trials_.find(ordinal); known != trials_.end()) return &known->second;
  if (loaded_) return nullptr;
  LOCUS_ASSIGN_OR_RETURN(auto views, store_.trials(row_.id, ordinal - 1, 1));
  if (views.empty() || views.front().trial.ordinal != ordinal) return nullptr;
  return &trials_.emplace(ordinal, std::move(views.front())).first->second;
}

// Asks what these trials run, and which of it is stored.
absl::Status ConductorTurn::plan(const std::vector<std::int64_t>& trials) {
  std::vector<std::int64_t> open;
  std::copy_if(trials.begin(), trials.end(), std::back_inserter(open),
               [&](std::int64_t trial) { return !planned_.contains(trial); });
  if (open.empty()) return absl::OkStatus();
  LOCUS_ASSIGN_OR_RETURN(auto planned, script_.stages(row_, open, choices()));
  std::vector<std::string> identities;
  for (const std::int64_t trial : open) {
    TrialStages& of = planned_[trial] = std::move(planned[trial]);
    for (const TrialStages::Planned& stage : of.stages) {
      if (!stored_.contains(stage.identity)) identities.push_back(stage.identity);
    }
  }
  std::sort(identities.begin(), identities.end());
  identities.erase(std::unique(identities.begin(), identities.end()), identities.end());
  LOCUS_ASSIGN_OR_RETURN(auto rows, store_.stages_by_identity(identities));
  stored_.merge(rows);
  return absl::OkStatus();
}

// A stage as planned, stored or new, with everything it takes inputs from.
absl::Status ConductorTurn::add_planned(const TrialStages& of, const std::string& identity, SearchDecided& out) {
  if (out.stages.contains(identity)) return absl::OkStatus();
  const auto planned = std::find_if(of.stages.begin(), of.stages.end(),
                                    [&](const TrialStages::Planned& stage) { return stage.identity == identity; });
  if (planned == of.stages.end()) {
    return make_error(absl::StatusCode::kInternal, ErrorReason::kInvariantBroken,
                      "a stage takes its inputs from " + identity + ", which its trial does not have");
  }
  ExperimentSubmitted::StageDraft draft;
  if (const auto known = stored_.find(identity); known != stored_.end()) {
    LOCUS_ASSIGN_OR_RETURN(draft, stage_draft(store_, known->second));
  } else {
    draft.row.identity = identity;
    draft.row.kind = planned->kind;
    draft.row.config_json = planned->config_json;
    draft.row.seed = planned->seed;
    draft.row.requirements = planned->requirements;
  }
  draft.inputs = planned->inputs;
  out.stages.emplace(identity, std::move(draft));
  for (const auto& input : planned->inputs) LOCUS_RETURN_IF_ERROR(add_planned(of, input.identity, out));
  return absl::OkStatus();
}

// Takes back what its links want; of a training that is to stop on the way, what its other stages want.
absl::Status ConductorTurn::link_unwanted(const TrialView& view, bool training_too, SearchDecided& out) {
  for (std::size_t i = training_too ? 0 : 1; i < view.stages.size(); ++i) {
    const TrialStageView& stage = view.stages[i];
    if (stage.link.until_step == kNoFurther) continue;
    LOCUS_RETURN_IF_ERROR(add_stored_stage(store_, stage.stage, out.stages));
    out.links.push_back({view.trial.ordinal, stage.link.role, stage.stage.identity, kNoFurther});
  }
  return absl::OkStatus();
}

absl::Status ConductorTurn::link_wanted(const TrialView& view, std::int64_t want, SearchDecided& out) {
  const std::int64_t trial = view.trial.ordinal;
  const TrialStages& planned = planned_[trial];
  if (planned.stages.empty()) {
    return make_error(absl::StatusCode::kInternal, ErrorReason::kInvariantBroken,
                      "trial " + std::to_string(trial) + " of experiment " + row_.name +
                          " is sent on, and its specification gives it no stages");
  }
  const TrialStages::Planned& training = planned.stages.front();
  const TrialStageView* former = view.stages.empty() ? nullptr : &view.stages.front();
  if (former != nullptr && former->link.until_step != kNoFurther && former->stage.identity != training.identity) {
    return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kWrongState,
                      "trial " + std::to_string(trial) + " of experiment " + row_.name + " would go on with another " +
                          training.role +
                          " than it has: the catalog has changed since; submit it again with replace "
                          "(--replace)");
  }
  for (const TrialStages::Planned& stage : planned.stages) {
    if (&stage != &training && want != kToTheEnd) break;
    LOCUS_RETURN_IF_ERROR(add_planned(planned, stage.identity, out));
    out.links.push_back({trial, stage.role, stage.identity, want});
  }
  return want == kToTheEnd ? absl::OkStatus() : link_unwanted(view, /*training_too=*/false, out);
}

absl::Status ConductorTurn::resolve(SearchDecided& out, std::set<std::int64_t>& late) {
  if (whole_) {
    LOCUS_RETURN_IF_ERROR(load_trials());
    for (const auto& [ordinal, view] : trials_) change_.insert(ordinal);
  }
  std::map<std::int64_t, std::int64_t> wants;
  std::vector<std::int64_t> wanted, unwanted;
  for (const std::int64_t ordinal : change_) {
    LOCUS_ASSIGN_OR_RETURN(const TrialView* view, trial(ordinal));
    if (view == nullptr) late.insert(ordinal);
    if (view == nullptr || view->trial.retired) continue;
    const auto want = fold_.want(ordinal);
    if (!want || *want == kNoFurther) {
      const bool any = std::any_of(view->stages.begin(), view->stages.end(),
                                   [](const TrialStageView& stage) { return stage.link.until_step != kNoFurther; });
      if (any) unwanted.push_back(ordinal);
    } else if (view->stages.empty() || view->stages.front().link.until_step != *want) {
      wanted.push_back(ordinal);
      wants[ordinal] = *want;
    }
  }
  LOCUS_RETURN_IF_ERROR(plan(wanted));
  for (const std::int64_t ordinal : unwanted)
    LOCUS_RETURN_IF_ERROR(link_unwanted(trials_[ordinal], /*training_too=*/true, out));
  for (const std::int64_t ordinal : wanted)
    LOCUS_RETURN_IF_ERROR(link_wanted(trials_[ordinal], wants.at(ordinal), out));
  std::sort(unwanted.begin(), unwanted.end());
  unwanted.insert(unwanted.end(), wanted.begin(), wanted.end());
  for (const std::int64_t ordinal : unwanted) out.trials.push_back(trials_[ordinal].trial);
  return absl::OkStatus();
}

}  // namespace locus
