// Who may speak to the HTTP side: pages of this server, on names that are this server. And what every answer
// forbids the browser.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/http/exchange.h"

namespace locus::server {

// Immutable; thread-safe.
class Guard {
 public:
  // Loopback names are always allowed (a browser that was led here under another name is not); `hosts` adds
  // others. `secure`: its pages come over https.
  explicit Guard(const std::vector<std::string>& hosts, bool secure = false);
  // PERMISSION_DENIED (ORIGIN_REFUSED) for a foreign Host, Origin or cross-site fetch; INVALID_ARGUMENT
  // without exactly one Host.
  absl::Status check(const HttpRequest& request) const;

 private:
  const std::string scheme_;
  std::set<std::string> hosts_;
};

// Content security policy and its kin, on every answer.
const std::vector<std::pair<std::string, std::string>>& security_headers();

}  // namespace locus::server
