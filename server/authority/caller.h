// A call with who makes it, and what the audit keeps of it.
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "absl/status/status.h"
#include "core/identity/principal.h"
#include "core/ports/identity.h"
#include "server/authority/rpcs.h"

namespace locus::server {

// Lives as long as the call. Thread-compatible.
class Caller {
 public:
  Caller(Principal who, const RpcRule& rule, const google::protobuf::Message& request);

  const Principal principal;
  const RpcRule& rule;

  // What the row of the audit is about, where the request does not name it: "experiments/priors".
  void about(std::string subject) const { subject_ = std::move(subject); }
  // The row of a call that changes something, to be written in the transaction of the change. Asked for once: a call that
  // ends well without it has changed nothing, and gets a row that says so.
  AppendAudit deed() const;
  // It only looked, as for a dry run: no row.
  void looked() const { taken_ = true; }
  bool took_deed() const { return taken_; }  // or looked
  // The row of a call that was refused, or that changed nothing.
  AppendAudit row(const absl::Status& outcome) const;

 private:
  mutable std::string subject_;
  mutable bool taken_ = false;
};

// The audit's row of something that `who` did or was refused, without a call: rpc is "login", "logout", ...
AuditRow audit_row(const Principal& who, std::string rpc, std::string subject, const absl::Status& outcome);

}  // namespace locus::server
