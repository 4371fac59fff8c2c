// What every store checks and changes of accounts.
#include "storage/rules/accounts.h"

#include <limits>

#include "storage/rules/refusals.h"

namespace locus {

absl::Status change_account(AccountRows& rows, const PutAccount& asked, Microseconds now) {
  LOCUS_RETURN_IF_ERROR(check_account(asked.row));
  const auto known = rows.account(asked.row.name);
  AccountRow row = asked.row;
  row.created_us = known ? known->created_us : now;
  rows.put_account(row);
  return absl::OkStatus();
}

absl::Status change_account(AccountRows& rows, const RemoveAccount& asked) {
  if (!rows.account(asked.name)) return refusal::account_not_found(asked.name);
  rows.erase_account(asked.name);
  return absl::OkStatus();
}

absl::Status change_account(AccountRows& rows, const ChargeAccount& asked) {
  const bool anew = asked.row.by_day.empty();
  rows.put_usage(asked.row,
                 anew ? std::numeric_limits<std::int64_t>::max() : asked.row.by_day.rbegin()->first - kQuotaDays + 1);
  return absl::OkStatus();
}

}  // namespace locus
