// The rules' view of the tables of accounts, and their reads.
#pragma once

#include <vector>

#include "core/experiment/model.h"
#include "storage/rules/account_rows.h"
#include "storage/sqlite/connection.h"

namespace locus::sqlite {

// Thread-compatible. Throws SqliteError.
class SqliteAccountRows final : public AccountRows {
 public:
  explicit SqliteAccountRows(Connection& connection) : db_(connection) {}

  std::optional<AccountRow> account(const std::string& name) override;
  void put_account(const AccountRow& row) override;
  void erase_account(const std::string& name) override;
  void put_usage(const UsageRow& row, std::int64_t kept_from) override;

 private:
  Connection& db_;
};

std::vector<AccountRow> list_accounts(Connection& db);  // by name
std::vector<UsageRow> list_usage(Connection& db);       // by account
AccountUse count_account_use(Connection& db, const std::string& owner, ExperimentId but);

}  // namespace locus::sqlite
