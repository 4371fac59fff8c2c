// The chain of the audit: what makes a row that was changed or taken away show.
#pragma once

#include <string>
#include <vector>

#include "core/identity/rows.h"

namespace locus {

inline constexpr char kAuditBeginning[] = "0000000000000000000000000000000000000000000000000000000000000000";

// SHA-256 of the row as canonical JSON, `previous` included.
std::string audit_digest(const AuditRow& row);

// Checks rows in their order, fed in pieces, against the ends of the chain. Thread-compatible.
class AuditVerifier {
 public:
  explicit AuditVerifier(AuditChain chain)
      : chain_(std::move(chain)), expected_(chain_.first_previous), next_(chain_.first) {}
  void add(const AuditRow& row);
  // What is wrong, a sentence each, once every row was added; empty: nothing.
  std::vector<std::string> finish();

 private:
  AuditChain chain_;
  std::string expected_;
  std::int64_t next_;
  std::vector<std::string> problems_;
};

}  // namespace locus
