// Accounts, tokens and the audit as text.
#include "cli/render/identity.h"

#include <cstdio>
#include <ctime>

#include "cli/render/text_table.h"

namespace locus {
namespace {

// In universal time: what is compared with records of other machines.
std::string show_moment(std::int64_t seconds, const char* pattern) {
  const std::time_t time = seconds;
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, pattern, &parts);
  return text;
}

std::string show_day(const google::protobuf::Timestamp& time) { return show_moment(time.seconds(), "%Y-%m-%d"); }

// "3", "0.5", "12.3": at most one digit of a fraction, or three below one.
std::string show_amount(double amount) {
  char text[32];
  std::snprintf(text, sizeof text, amount != 0 && amount < 1 ? "%.3g" : "%.1f", amount);
  std::string out = text;
  if (out.ends_with(".0")) out.resize(out.size() - 2);
  return out;
}

// "devices 4, experiments 20".
std::string show_bounds(const v1::AccountBounds& bounds) {
  std::string out;
  const auto add = [&out](bool has, const char* what, std::int64_t most) {
    if (has) out += (out.empty() ? "" : ", ") + std::string(what) + " " + std::to_string(most);
  };
  add(bounds.has_devices(), "devices", bounds.devices());
  add(bounds.has_urgent_devices(), "urgent devices", bounds.urgent_devices());
  add(bounds.has_device_hours(), "device-hours", bounds.device_hours());
  add(bounds.has_queued_trials(), "queued trials", bounds.queued_trials());
  add(bounds.has_experiments(), "experiments", bounds.experiments());
  add(bounds.has_artifact_bytes(), "artifact bytes", bounds.artifact_bytes());
  return out;
}

}  // namespace

std::string render_accounts(const v1::ListAccountsResponse& answer) {
  std::vector<std::vector<std::string>> rows;
  for (const v1::Account& account : answer.accounts()) {
    rows.push_back({account.name().empty() ? "(nobody)" : printable(account.name()),
                    account.configured() ? std::to_string(account.weight()) : "(1)", show_amount(account.holding()),
                    std::to_string(account.queued()), show_amount(account.used_hours()),
                    show_amount(account.month_hours()), account.may_be_urgent() ? "yes" : "",
                    show_bounds(account.bounds())});
  }
  return render_text_table({{"account"},
                            {"weight", Align::kRight},
                            {"holds", Align::kRight},
                            {"queued", Align::kRight},
                            {"used h", Align::kRight},
                            {"30 days h", Align::kRight},
                            {"urgent"},
                            {"at most"}},
                           rows);
}

std::string render_tokens(const v1::ListTokensResponse& answer) {
  std::vector<std::vector<std::string>> rows;
  for (const v1::Token& token : answer.tokens()) {
    rows.push_back({token.id(), printable(token.principal()), printable(token.account()), token.role(), token.state(),
                    show_day(token.expire_time()), token.has_use_time() ? show_day(token.use_time()) : "never"});
  }
  return render_text_table({{"id"}, {"principal"}, {"account"}, {"role"}, {"state"}, {"expires"}, {"used"}}, rows);
}

std::string render_audit(const std::vector<v1::AuditEntry>& entries) {
  std::vector<std::vector<std::string>> rows;
  for (const v1::AuditEntry& entry : entries) {
    rows.push_back({show_moment(entry.time_us() / 1'000'000, "%Y-%m-%dT%H:%M:%SZ"), printable(entry.principal()),
                    entry.via(), printable(entry.address()), entry.rpc(), printable(entry.subject()), entry.outcome()});
  }
  return render_text_table({{"time"}, {"who"}, {"via"}, {"from"}, {"what"}, {"about"}, {"outcome"}}, rows);
}

}  // namespace locus
