// Who makes an HTTP request: what its headers show. And how browsers sign in and out.
#pragma once

#include <chrono>

#include "absl/status/statusor.h"
#include "server/authority/gate.h"
#include "server/http/exchange.h"

namespace locus::server {

// "Authorization: Bearer locus_...", else the cookie of a session, else nobody; the local administrator where nobody is
// asked. Refused for what is shown and not in force, and NOT_AUTHENTICATED for a request by cookie that changes something
// without the header X-Locus: another page's form or script cannot send that. Blocks.
absl::StatusOr<Principal> visitor_of(Gate& gate, const HttpRequest& request);

// POST /login with {"token": "locus_..."}: 200 and the cookie of a session. POST /logout ends it. ROUTE_NOT_FOUND where
// nobody is asked. Both block.
HttpResponse log_in(Gate& gate, const HttpRequest& request);
HttpResponse log_out(Gate& gate, const HttpRequest& request);

// After a failure to show who one is, the answer waits this long, so that guessing is slow.
inline constexpr std::chrono::milliseconds kRefusedWaits{10};

}  // namespace locus::server
