// Whether an account may have what is submitted: see admission.h.
#include "server/application/admission.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"

namespace locus::server {
namespace {

absl::Status over_quota(const AccountRow& account, const char* bound, std::int64_t allowed, std::int64_t used,
                        const std::string& sentence) {
  return make_error(absl::StatusCode::kResourceExhausted, ErrorReason::kQuotaExceeded,
                    "account " + account.name + " may have " + std::to_string(allowed) + " " + sentence +
                        "; wait, take something away, or ask an administrator (locus accounts set)",
                    {},
                    {{"account", account.name},
                     {"quota", bound},
                     {"used", std::to_string(used)},
                     {"allowed", std::to_string(allowed)}});
}

// Trials of the plan of which something is left to run.
absl::StatusOr<std::int64_t> trials_to_run(Store& store, const ExperimentPlan& plan) {
  std::set<std::string> identities;
  for (const PlannedTrial& trial : plan.trials) {
    for (const PlannedStage& stage : trial.stages) identities.insert(stage.identity);
  }
  const std::vector<std::string> list(identities.begin(), identities.end());
  LOCUS_ASSIGN_OR_RETURN(const auto stored, store.stages_by_identity(list));
  const auto left = [&](const PlannedStage& stage) {
    const auto found = stored.find(stage.identity);
    return found == stored.end() || found->second.state != StageState::kSucceeded;
  };
  return std::count_if(plan.trials.begin(), plan.trials.end(), [&](const PlannedTrial& trial) {
    return std::any_of(trial.stages.begin(), trial.stages.end(), left);
  });
}

absl::Status check_bounds(Store& store, const AccountRow& account, const Admission& asked) {
  const bool bounded =
      account.experiments != kUnbounded || account.queued_trials != kUnbounded || account.artifact_bytes != kUnbounded;
  if (!bounded) return absl::OkStatus();
  LOCUS_ASSIGN_OR_RETURN(const AccountUse use, store.account_use(asked.owner, asked.known));
  if (account.experiments != kUnbounded && asked.known == 0 && use.experiments >= account.experiments) {
    return over_quota(account, "experiments", account.experiments, use.experiments,
                      "experiments and has " + std::to_string(use.experiments));
  }
  if (account.artifact_bytes != kUnbounded && use.artifact_bytes >= account.artifact_bytes) {
    return over_quota(account, "artifact_bytes", account.artifact_bytes, use.artifact_bytes,
                      "bytes of artifacts and has " + std::to_string(use.artifact_bytes));
  }
  if (account.queued_trials == kUnbounded) return absl::OkStatus();
  LOCUS_ASSIGN_OR_RETURN(const std::int64_t more, trials_to_run(store, asked.plan));
  if (more == 0 || use.queued_trials + more <= account.queued_trials) return absl::OkStatus();
  return over_quota(account, "queued_trials", account.queued_trials, use.queued_trials,
                    "trials that are to run, has " + std::to_string(use.queued_trials) + " besides, and these are " +
                        std::to_string(more));
}

}  // namespace

absl::Status admit(Store& store, const Admission& asked) {
  LOCUS_ASSIGN_OR_RETURN(const auto accounts, store.identity().accounts());
  const auto account = std::ranges::find(accounts, asked.owner, &AccountRow::name);
  const bool may_be_urgent = account != accounts.end() && account->may_be_urgent;
  if (asked.plan.service_class == ServiceClass::kUrgent && !unasked(asked.who) && !may_be_urgent &&
      !includes(asked.who.role, Role::kOperator)) {
    return make_error(absl::StatusCode::kPermissionDenied, ErrorReason::kNotPermitted,
                      "'" + asked.who.name + "' is no operator, and account '" + asked.owner +
                          "' may have no urgent work; submit it as normal, or ask an administrator (locus accounts "
                          "set --urgent)",
                      "class", {{"account", asked.owner}, {"role", to_string(asked.who.role)}});
  }
  return account == accounts.end() ? absl::OkStatus() : check_bounds(store, *account, asked);
}

}  // namespace locus::server
