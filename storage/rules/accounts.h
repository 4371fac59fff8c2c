// What every store checks and changes of accounts, as the mutations say.
#pragma once

#include "absl/status/status.h"
#include "core/ports/identity.h"
#include "storage/rules/account_rows.h"

namespace locus {

absl::Status change_account(AccountRows& rows, const PutAccount& asked, Microseconds now);
absl::Status change_account(AccountRows& rows, const RemoveAccount& asked);
absl::Status change_account(AccountRows& rows, const ChargeAccount& asked);

}  // namespace locus
