// The tables of accounts as the rules of writing see them.
#pragma once

#include <optional>
#include <string>

#include "core/identity/account.h"

namespace locus {

// As Rows. What is put replaces the row of its key.
class AccountRows {
 public:
  virtual ~AccountRows() = default;

  virtual std::optional<AccountRow> account(const std::string& name) = 0;
  virtual void put_account(const AccountRow& row) = 0;
  virtual void erase_account(const std::string& name) = 0;
  // Its days are put, those before `kept_from` go, the others stay.
  virtual void put_usage(const UsageRow& row, std::int64_t kept_from) = 0;
};

}  // namespace locus
