// The tables of accounts as maps, and what an account has among the others.
#include "storage/memory/accounts.h"

#include <algorithm>
#include <set>

#include "storage/memory/tables.h"

namespace locus {

std::optional<AccountRow> MemoryAccountRows::account(const std::string& name) {
  const AccountRow* row = accounts.find(name);
  return row ? std::optional(*row) : std::nullopt;
}
void MemoryAccountRows::put_account(const AccountRow& row) { accounts.put(row.name, row); }
void MemoryAccountRows::erase_account(const std::string& name) { accounts.erase(name); }

void MemoryAccountRows::put_usage(const UsageRow& row, std::int64_t kept_from) {
  UsageRow merged = row;
  if (const UsageRow* known = usage.find(row.account)) merged.by_day.insert(known->by_day.begin(), known->by_day.end());
  std::erase_if(merged.by_day, [&](const auto& day) { return day.first < kept_from; });
  usage.put(row.account, std::move(merged));
}

AccountUse MemoryTables::use_of(const std::string& owner, ExperimentId but) {
  AccountUse use;
  std::set<std::string> named;
  for (const auto& [id, row] : experiments.rows()) {
    if (row.owner != owner || id == but) continue;
    ++use.experiments;
    const std::set<StageId> linked = linked_stages(id);
    for (const StageId stage : linked) named.merge(artifacts_named_by(stage));
    if (row.state == ExperimentState::kCancelled) continue;
    for (auto at = trials.rows().lower_bound({id, kFirst}); at != trials.rows().end() && at->first.first == id; ++at) {
      if (at->second.retired) continue;
      const std::vector<TrialStageRow> own_links = links_of(id, at->second.ordinal);
      use.queued_trials += std::any_of(own_links.begin(), own_links.end(), [&](const TrialStageRow& link) {
        return !terminal(stages.find(link.stage_id)->state);
      });
    }
  }
  for (const std::string& sha256 : named) {
    if (const ArtifactRow* row = artifacts.find(sha256)) use.artifact_bytes += row->bytes;
  }
  return use;
}

}  // namespace locus
