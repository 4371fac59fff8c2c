// One request and its answer, without Beast.
#include "server/http/exchange.h"

#include "core/base/error.h"
#include "core/base/json.h"
#include "server/wire/status.h"

namespace locus::server {
namespace {

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

absl::Status bad_target(const std::string& why) {
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument, "the request's address " + why);
}

absl::StatusOr<std::string> decode(std::string_view text, bool plus_is_space) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 2 < text.size() ? hex(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex(text[i + 2]) : -1;
      if (high < 0 || low < 0) return bad_target("has a percent sign without two hexadecimal digits");
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return bad_target("holds a control character");
    out += c;
  }
  return out;
}

}  // namespace

std::string HttpRequest::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found != headers.end() && found->second.size() == 1 ? found->second.front() : std::string();
}

absl::Status parse_target(std::string_view target, HttpRequest* request) {
  if (target.empty() || target.front() != '/') return bad_target("does not start with a slash");
  const std::size_t question = target.find('?');
  LOCUS_ASSIGN_OR_RETURN(request->path, decode(target.substr(0, question), false));
  if (question == std::string_view::npos) return absl::OkStatus();
  std::string_view rest = target.substr(question + 1);
  while (!rest.empty()) {
    const std::size_t end = rest.find('&');
    const std::string_view pair = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    LOCUS_ASSIGN_OR_RETURN(std::string key, decode(pair.substr(0, equals), true));
    std::string value;
    if (equals != std::string_view::npos) {
      LOCUS_ASSIGN_OR_RETURN(value, decode(pair.substr(equals + 1), true));
    }
    request->query.emplace_back(std::move(key), std::move(value));
  }
  return absl::OkStatus();
}

HttpResponse error_response(const absl::Status& status, int code) {
  HttpError error = to_http_error(status);
  HttpResponse out;
  out.status = error.code;
  out.body = std::move(error.body);
  if (const auto detail = error_detail(status); detail && detail->metadata.contains("retry_seconds"))
    out.retry_after = detail->metadata.at("retry_seconds");
  if (code != 0 && code != out.status) {
    Json body = Json::parse(out.body);
    body["error"]["code"] = code;
    out.status = code;
    out.body = body.dump();
  }
  return out;
}

}  // namespace locus::server
