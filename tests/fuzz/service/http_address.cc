// Addresses of requests, host and origin, the places that alerts are posted to, and page tokens: a line each.
#include "server/application/paging.h"
#include "server/http/exchange.h"
#include "server/http/guard.h"
#include "server/http/post.h"
#include "server/http/routes.h"
#include "tests/fuzz/fuzz.h"

namespace locus::fuzz {

void http_address(std::string_view bytes) {
  static const server::Guard kGuard({"locus.example"});
  static const server::Routes kRoutes(nullptr);
  std::string lines[4];  // target, Host, Origin, fetch site
  for (std::string& line : lines) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    line = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  (void)server::parse_plain_url(lines[0], "url");
  (void)server::parse_page_token("trial", lines[0], 0);
  server::HttpRequest request;
  request.method = "POST";
  request.headers = {{"host", {lines[1]}}, {"origin", {lines[2]}}, {"sec-fetch-site", {lines[3]}}};
  if (kGuard.check(request).ok()) {
    require(lines[2].find("evil") == std::string::npos || lines[1].find("evil") != std::string::npos,
            "another origin than the host is refused");
  }
  if (!server::parse_target(lines[0], &request).ok()) return;
  require(request.path.starts_with('/'), "a path starts with a slash");
  for (const char c : request.path) require(static_cast<unsigned char>(c) >= 0x20, "a path has no control characters");
  (void)kRoutes.takes(request);
}

}  // namespace locus::fuzz
