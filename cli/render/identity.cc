// Tokens and the audit as text.
#include "cli/render/identity.h"

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

}  // namespace

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
