// How many workers a pool is to have.
#include "provisioner/pool.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/base/invalid.h"
#include "provisioner/settings.h"

namespace locus {
namespace {

constexpr std::string_view kDatasetPrefix = "dataset/";  // of an item among revisions

constexpr char kPoolKey[] = "pool";  // that of a worker which the provisioner of a pool has invited
constexpr std::int64_t kSlotsMost = 1024;

bool serves(const PoolRules& rules, const v1::DemandGroup& group) {
  if (rules.memory_bytes > 0 && group.memory_bytes() > rules.memory_bytes) return false;
  if (rules.slots > 0 && group.devices() > rules.slots) return false;
  for (const auto& [label, pattern] : group.require()) {
    const auto found = rules.labels.find(label);
    if (found == rules.labels.end() ? !rules.more_labels : !matches(pattern, found->second)) return false;
  }
  if (!rules.datasets) return true;
  return std::all_of(group.revisions().begin(), group.revisions().end(), [&](const auto& item) {
    return !item.first.starts_with(kDatasetPrefix) ||
           rules.datasets->contains(item.first.substr(kDatasetPrefix.size()));
  });
}

}  // namespace

absl::StatusOr<PoolRules> read_pool_rules(const Json& settings, const std::string& engine, const std::string& pool,
                                          int min, int max) {
  PoolRules rules;
  rules.min = min;
  rules.max = max;
  if (min > max || max < 1) {
    return invalid("max", "a pool of at least " + std::to_string(min) + " and at most " + std::to_string(max) +
                              " workers cannot be; give a --max of 1 or more that --min does not exceed");
  }
  SettingsSection section(settings, "");
  section.ignore(engine);
  rules.slots = section.number("slots").value_or(0);
  rules.seconds_per_worker =
      section.number("seconds_per_worker")
          .value_or(rules.seconds_per_worker * std::clamp<std::int64_t>(rules.slots, 1, kSlotsMost));
  rules.seconds_without_estimate = section.number("seconds_without_estimate").value_or(rules.seconds_without_estimate);
  rules.memory_bytes = section.number("memory_bytes").value_or(0);
  if (const auto datasets = section.texts("datasets")) rules.datasets.emplace(datasets->begin(), datasets->end());
  if (auto labels = section.named_texts("labels")) {
    rules.labels = *std::move(labels);
    rules.more_labels = false;
  }
  rules.labels.emplace(kPoolKey, pool);
  LOCUS_RETURN_IF_ERROR(section.end());
  for (const auto& [label, value] : rules.labels) {
    if (!valid_label_key(label)) return invalid("labels." + label, "\"" + label + "\" cannot be the name of a label");
  }
  if (rules.slots > kSlotsMost)
    return invalid("slots", "slots is " + std::to_string(rules.slots) + "; no worker has more than 1024");
  if (rules.seconds_per_worker > 0) return rules;
  return invalid("seconds_per_worker", "seconds_per_worker is 0; give how much waiting work is worth a worker");
}

int workers_wanted(const PoolRules& rules, const v1::Demand& demand) {
  double seconds = 0;
  for (const v1::DemandGroup& group : demand.groups()) {
    if (!serves(rules, group)) continue;
    seconds += group.device_seconds();
    seconds += static_cast<double>(group.without_estimate()) * static_cast<double>(rules.seconds_without_estimate);
  }
  const double workers = std::ceil(seconds / static_cast<double>(rules.seconds_per_worker));
  if (!(workers < rules.max)) return rules.max;  // whatever is no number is too much
  return std::max(rules.min, static_cast<int>(workers));
}

int workers_to_start(const PoolRules& rules, int wanted, int there) {
  const int a_round = std::max(1, rules.max / 4);
  return std::clamp(std::min(wanted, rules.max) - there, 0, a_round);
}

}  // namespace locus
