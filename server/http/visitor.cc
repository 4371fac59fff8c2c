// Who makes an HTTP request.
#include "server/http/visitor.h"

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/limits.h"

namespace locus::server {
namespace {

constexpr std::string_view kBearerScheme = "Bearer ";
constexpr std::string_view kCookieName = "__Host-locus=";  // the prefix holds browsers to Secure, Path=/ and no Domain

absl::Status not_shown(const std::string& message) {
  return make_error(absl::StatusCode::kUnauthenticated, ErrorReason::kNotAuthenticated, message);
}

// The session's secret; empty without one.
std::string session_cookie(const HttpRequest& request) {
  const auto headers = request.headers.find("cookie");
  if (headers == request.headers.end()) return "";
  for (const std::string& header : headers->second) {
    for (std::size_t at = 0; at < header.size();) {
      while (at < header.size() && (header[at] == ' ' || header[at] == ';')) ++at;
      const std::size_t end = std::min(header.find(';', at), header.size());
      const std::string_view pair = std::string_view(header).substr(at, end - at);
      if (pair.starts_with(kCookieName)) return std::string(pair.substr(kCookieName.size()));
      at = end;
    }
  }
  return "";
}

std::string set_session(const std::string& secret, std::int64_t seconds) {
  return std::string(kCookieName) + secret + "; Path=/; Max-Age=" + std::to_string(seconds) +
         "; Secure; HttpOnly; SameSite=Strict";
}

bool reads(const HttpRequest& request) { return request.method == "GET" || request.method == "HEAD"; }

absl::Status check_ours(const HttpRequest& request) {
  if (reads(request) || request.header("x-locus") == "1") return absl::OkStatus();
  return not_shown("a request of a browser that changes something carries the header X-Locus: 1");
}

HttpResponse nothing_here() {
  return error_response(make_error(absl::StatusCode::kNotFound, ErrorReason::kRouteNotFound,
                                   "this server asks nobody who they are: there is nothing to sign in to"));
}

}  // namespace

absl::StatusOr<Principal> visitor_of(Gate& gate, const HttpRequest& request) {
  if (!gate.asks()) return local_principal(request.address);
  const auto shown = request.headers.find("authorization");
  if (shown != request.headers.end()) {
    const std::string header = request.header("authorization");
    if (!header.starts_with(kBearerScheme)) return not_shown("the header Authorization is 'Bearer ' and a token");
    return gate.credentials().by_token(header.substr(kBearerScheme.size()), request.address);
  }
  const std::string session = session_cookie(request);
  if (session.empty()) return nobody(request.address);
  LOCUS_RETURN_IF_ERROR(check_ours(request));
  return gate.credentials().by_session(session, request.address);
}

HttpResponse log_in(Gate& gate, const HttpRequest& request) {
  if (!gate.asks()) return nothing_here();
  if (const absl::Status status = check_ours(request); !status.ok()) return error_response(status);
  const Json body = Json::parse(request.body, nullptr, false);
  if (!body.is_object() || body.size() != 1 || !body.contains("token") || !body["token"].is_string()) {
    return error_response(make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                                     "signing in takes {\"token\": \"locus_...\"}", "token"));
  }
  const auto secret = gate.credentials().log_in(body["token"].get<std::string>(), request.address);
  if (!secret.ok()) return error_response(secret.status());
  HttpResponse out;
  out.body = "{}";
  out.set_cookie = set_session(*secret, std::chrono::duration_cast<std::chrono::seconds>(kSessionMost).count());
  return out;
}

HttpResponse log_out(Gate& gate, const HttpRequest& request) {
  if (!gate.asks()) return nothing_here();
  if (const absl::Status status = check_ours(request); !status.ok()) return error_response(status);
  if (const absl::Status status = gate.credentials().log_out(session_cookie(request), request.address); !status.ok())
    return error_response(status);
  HttpResponse out;
  out.body = "{}";
  out.set_cookie = set_session("", 0);
  return out;
}

}  // namespace locus::server
