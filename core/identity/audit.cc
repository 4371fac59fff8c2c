// The chain of the audit.
#include "core/identity/audit.h"

#include "core/base/json.h"
#include "core/base/sha256.h"

namespace locus {
namespace {

constexpr std::size_t kMostAuditProblems = 100;

}  // namespace

std::string audit_digest(const AuditRow& row) {
  const Json json = {row.id,  row.time_us, row.principal, row.via,         row.address,
                     row.rpc, row.subject, row.outcome,   row.detail_json, row.previous};
  return sha256_hex(json.dump());
}

void AuditVerifier::add(const AuditRow& row) {
  if (problems_.size() < kMostAuditProblems) {
    if (row.id != next_) {
      problems_.push_back("row " + std::to_string(next_) + " is missing: row " + std::to_string(row.id) +
                          " stands in its place");
    } else if (row.previous != expected_) {
      problems_.push_back("row " + std::to_string(row.id) +
                          " does not follow the row before it: one of them was changed");
    }
  }
  next_ = row.id + 1;
  expected_ = audit_digest(row);
}

std::vector<std::string> AuditVerifier::finish() {
  if (next_ != chain_.last + 1) {
    problems_.push_back("the rows end at " + std::to_string(next_ - 1) + ", the chain at " +
                        std::to_string(chain_.last) + ": the newest are missing");
  } else if (chain_.last >= chain_.first && expected_ != chain_.last_digest) {
    problems_.push_back("row " + std::to_string(chain_.last) + " is not the one that was written last");
  }
  return std::move(problems_);
}

}  // namespace locus
