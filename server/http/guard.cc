// Who may speak to the HTTP side.
#include "server/http/guard.h"

#include <algorithm>

#include "core/base/error.h"

namespace locus::server {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// "[::1]:7172" -> "[::1]", "localhost:7172" -> "localhost".
std::string without_port(const std::string& host) {
  if (!host.empty() && host.front() == '[') return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

absl::Status refused(const std::string& header, const std::string& value, const std::string& remedy) {
  return make_error(absl::StatusCode::kPermissionDenied, ErrorReason::kOriginRefused,
                    header + " is \"" + value.substr(0, 100) + "\", which is not this server; " + remedy, "",
                    {{"header", header}, {"value", value.substr(0, 100)}});
}

}  // namespace

Guard::Guard(const std::vector<std::string>& hosts, bool secure)
    : scheme_(secure ? "https://" : "http://"), hosts_{"localhost", "127.0.0.1", "[::1]"} {
  for (const auto& host : hosts) hosts_.insert(lower(host));
}

absl::Status Guard::check(const HttpRequest& request) const {
  const auto hosts = request.headers.find("host");
  if (hosts == request.headers.end() || hosts->second.size() != 1) {
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                      "a request needs exactly one Host header");
  }
  const std::string host = lower(hosts->second.front());
  if (hosts_.count(without_port(host)) == 0) {
    return refused("Host", host, "open the address that `locus serve` prints, or allow the name with --allow-host");
  }
  const auto origins = request.headers.find("origin");
  if (origins != request.headers.end()) {
    for (const std::string& origin : origins->second) {
      if (lower(origin) != scheme_ + host) return refused("Origin", origin, "only its own pages may call it");
    }
  }
  const std::string site = request.header("sec-fetch-site");
  const bool navigation = request.header("sec-fetch-mode") == "navigate" && request.method == "GET" &&
                          request.path.compare(0, 5, "/api/") != 0;
  if (!site.empty() && site != "same-origin" && site != "none" && !navigation) {
    return refused("Sec-Fetch-Site", site, "only its own pages may call it");
  }
  return absl::OkStatus();
}

const std::vector<std::pair<std::string, std::string>>& security_headers() {
  static const std::vector<std::pair<std::string, std::string>> kHeaders = {
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
       "font-src 'self'; "
       "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors "
       "'none'"},
      {"X-Content-Type-Options", "nosniff"},
      {"X-Frame-Options", "DENY"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
  };
  return kHeaders;
}

}  // namespace locus::server
