// The tables of accounts as maps.
#pragma once

#include "storage/memory/table.h"
#include "storage/rules/account_rows.h"

namespace locus {

// Thread-compatible.
class MemoryAccountRows final : public AccountRows {
 public:
  explicit MemoryAccountRows(Journal& journal) : accounts(journal), usage(journal) {}

  std::optional<AccountRow> account(const std::string& name) override;
  void put_account(const AccountRow& row) override;
  void erase_account(const std::string& name) override;
  void put_usage(const UsageRow& row, std::int64_t kept_from) override;

  Table<std::string, AccountRow> accounts;
  Table<std::string, UsageRow> usage;
};

}  // namespace locus
