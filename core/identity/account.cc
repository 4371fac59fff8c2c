// What an account may be given.
#include "core/identity/account.h"

#include <utility>

#include "core/base/error.h"
#include "core/identity/principal.h"

namespace locus {
namespace {

absl::Status outside(const std::string& field, const std::string& what) {
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument, what, field);
}

}  // namespace

absl::Status check_account(const AccountRow& row) {
  if (!valid_account(row.name)) {
    return outside("name", "\"" + row.name +
                               "\" cannot be an account: write 1 to 63 bytes without control characters, and no space "
                               "at either end");
  }
  if (row.weight < 1 || row.weight > kWeightMost) {
    return outside("weight", "the weight of account " + row.name + " cannot be " + std::to_string(row.weight) +
                                 ": give it 1 to " + std::to_string(kWeightMost));
  }
  const std::pair<const char*, std::int64_t> bounds[] = {
      {"devices", row.devices},           {"urgent_devices", row.urgent_devices},
      {"device_hours", row.device_hours}, {"queued_trials", row.queued_trials},
      {"experiments", row.experiments},   {"artifact_bytes", row.artifact_bytes}};
  for (const auto& [field, value] : bounds) {
    if (value == kUnbounded || (value >= 0 && value <= kQuotaMost)) continue;
    return outside(field, std::string(field) + " of account " + row.name + " cannot be " + std::to_string(value) +
                              ": give it 0 to " + std::to_string(kQuotaMost) + ", or no bound");
  }
  return absl::OkStatus();
}

}  // namespace locus
