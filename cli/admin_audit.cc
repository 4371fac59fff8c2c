// locus admin audit: who did, or was refused, what.
#include "cli/admin.h"
#include "cli/render/identity.h"
#include "core/base/error.h"
#include "core/identity/audit.h"

namespace locus {
namespace {

constexpr int kAuditPage = 1000;

AuditRow row_of(const v1::AuditEntry& entry) {
  return {entry.id(),  entry.time_us(), entry.principal(), entry.via(),         entry.address(),
          entry.rpc(), entry.subject(), entry.outcome(),   entry.detail_json(), entry.previous()};
}

// Calls `each` with every entry there is. Those that are written meanwhile may be among them.
template <class Each>
absl::StatusOr<v1::ListAuditResponse> every_entry(Client& client, Each each) {
  v1::ListAuditRequest request;
  request.set_limit(kAuditPage);
  for (;;) {
    LOCUS_ASSIGN_OR_RETURN(v1::ListAuditResponse page, client.list_audit(request));
    for (const v1::AuditEntry& entry : page.entries()) each(entry);
    if (page.entries_size() < kAuditPage) return page;
    request.set_after(page.entries(page.entries_size() - 1).id());
  }
}

absl::StatusOr<int> verify_audit(Client& client) {
  LOCUS_ASSIGN_OR_RETURN(const v1::ListAuditResponse ends, client.list_audit());
  AuditVerifier verifier({ends.first(), ends.first_previous(), ends.last(), ends.last_digest()});
  std::int64_t rows = 0;
  LOCUS_RETURN_IF_ERROR(every_entry(client, [&](const v1::AuditEntry& entry) {
                          if (entry.id() > ends.last()) return;  // newer than the end that was asked for
                          verifier.add(row_of(entry));
                          ++rows;
                        }).status());
  const std::vector<std::string> problems = verifier.finish();
  for (const std::string& problem : problems) print(problem + "\n");
  if (problems.empty()) print(std::to_string(rows) + " rows follow one another, none is missing\n");
  return problems.empty() ? kExitDone : kExitFailed;
}

absl::StatusOr<int> show_audit(const AdminChoice& choice, Client& client) {
  std::vector<v1::AuditEntry> entries;
  LOCUS_RETURN_IF_ERROR(every_entry(client, [&](const v1::AuditEntry& entry) {
                          if (choice.server.json) return print_json(entry, true);
                          entries.push_back(entry);
                        }).status());
  if (!choice.server.json) print(render_audit(entries));
  return kExitDone;
}

}  // namespace

absl::StatusOr<int> admin_audit(const AdminChoice& choice, Client& client) {
  if (!choice.words.empty()) return wrong_words("locus admin audit, or locus admin audit --verify");
  return choice.verify ? verify_audit(client) : show_audit(choice, client);
}

}  // namespace locus
