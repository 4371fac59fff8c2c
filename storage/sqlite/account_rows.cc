// The rules' view of the tables of accounts, and their reads.
#include "storage/sqlite/account_rows.h"

namespace locus::sqlite {
namespace {

#define LOCUS_ACCOUNT_COLUMNS                                                                                        \
  "name, weight, may_be_urgent, devices, urgent_devices, device_hours, queued_trials, experiments, artifact_bytes, " \
  "created_us"
AccountRow read_account(const Statement& s) {
  return {s.text(0),    s.integer(1), s.integer(2) != 0, s.integer(3), s.integer(4),
          s.integer(5), s.integer(6), s.integer(7),      s.integer(8), s.integer(9)};
}

// Of the live experiments of an owner but one.
#define LOCUS_OWNED " e.owner = ?1 AND e.deleted = 0 AND e.id <> ?2 "

std::int64_t count_owned(Statement s, const std::string& owner, ExperimentId but) {
  s.bind(owner, but).step();
  return s.integer(0);
}

}  // namespace

std::optional<AccountRow> SqliteAccountRows::account(const std::string& name) {
  auto s = db_.prepare("SELECT " LOCUS_ACCOUNT_COLUMNS " FROM account WHERE name = ?");
  if (!s.bind(name).step()) return std::nullopt;
  return read_account(s);
}

void SqliteAccountRows::put_account(const AccountRow& row) {
  db_.prepare("INSERT OR REPLACE INTO account (" LOCUS_ACCOUNT_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .bind(row.name, row.weight, row.may_be_urgent, row.devices, row.urgent_devices, row.device_hours,
            row.queued_trials, row.experiments, row.artifact_bytes, row.created_us)
      .run();
}

void SqliteAccountRows::erase_account(const std::string& name) {
  db_.prepare("DELETE FROM account WHERE name = ?").bind(name).run();
}

void SqliteAccountRows::put_usage(const UsageRow& row, std::int64_t kept_from) {
  db_.prepare(
         "INSERT INTO account_usage (account, used, at_us) VALUES (?, ?, ?) "
         "ON CONFLICT (account) DO UPDATE SET used = excluded.used, at_us = excluded.at_us")
      .bind(row.account, row.used, row.at_us)
      .run();
  db_.prepare("DELETE FROM account_day WHERE account = ? AND day < ?").bind(row.account, kept_from).run();
  for (const auto& [day, used] : row.by_day) {
    db_.prepare(
           "INSERT INTO account_day (account, day, used) VALUES (?, ?, ?) "
           "ON CONFLICT (account, day) DO UPDATE SET used = excluded.used")
        .bind(row.account, day, used)
        .run();
  }
}

std::vector<AccountRow> list_accounts(Connection& db) {
  std::vector<AccountRow> out;
  auto s = db.prepare("SELECT " LOCUS_ACCOUNT_COLUMNS " FROM account ORDER BY name");
  while (s.step()) out.push_back(read_account(s));
  return out;
}

std::vector<UsageRow> list_usage(Connection& db) {
  std::vector<UsageRow> out;
  auto s = db.prepare("SELECT account, used, at_us FROM account_usage ORDER BY account");
  while (s.step()) {
    out.push_back({.account = s.text(0), .used = s.integer(1), .at_us = s.integer(2), .by_day = {}});
    auto days = db.prepare("SELECT day, used FROM account_day WHERE account = ?");
    days.bind(out.back().account);
    while (days.step()) out.back().by_day[days.integer(0)] = days.integer(1);
  }
  return out;
}

AccountUse count_account_use(Connection& db, const std::string& owner, ExperimentId but) {
  AccountUse use;
  use.experiments = count_owned(db.prepare("SELECT COUNT(*) FROM experiment e WHERE" LOCUS_OWNED), owner, but);
  use.queued_trials = count_owned(
      db.prepare("SELECT COUNT(*) FROM (SELECT DISTINCT t.experiment_id, t.ordinal FROM experiment e "
                 "JOIN trial t ON t.experiment_id = e.id "
                 "JOIN trial_stage l ON l.experiment_id = t.experiment_id AND l.trial = t.ordinal "
                 "JOIN stage s ON s.id = l.stage_id WHERE" LOCUS_OWNED "AND e.state <> 'cancelled' AND t.retired = 0 "
                 "AND s.state IN ('blocked', 'queued', 'running'))"),
      owner, but);
  use.artifact_bytes = count_owned(db.prepare("WITH owned AS (SELECT DISTINCT l.stage_id FROM experiment e "
                                              "JOIN trial_stage l ON l.experiment_id = e.id WHERE" LOCUS_OWNED
                                              ") SELECT COALESCE(SUM(a.bytes), 0) FROM artifact a WHERE a.sha256 IN ("
                                              "SELECT c.sha256 FROM checkpoint c JOIN owned USING (stage_id) UNION "
                                              "SELECT o.sha256 FROM stage_output o JOIN owned USING (stage_id))"),
                                   owner, but);
  return use;
}

}  // namespace locus::sqlite
