// Accounts, tokens and the audit as text.
#pragma once

#include <string>
#include <vector>

#include "locus/v1/identity_service.pb.h"

namespace locus {

std::string render_accounts(const v1::ListAccountsResponse& answer);
std::string render_tokens(const v1::ListTokensResponse& answer);
std::string render_audit(const std::vector<v1::AuditEntry>& entries);

}  // namespace locus
