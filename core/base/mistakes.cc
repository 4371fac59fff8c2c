// The list travels in a payload of the status, as JSON, like the detail of each.
#include "core/base/mistakes.h"

#include "absl/strings/cord.h"
#include "core/base/error.h"
#include "core/base/json.h"

namespace locus {
namespace {

constexpr char kViolationsUrl[] = "locus.v1/violations";
constexpr std::size_t kMostKept = 1000;  // a matrix may hold a hundred thousand values, all of them wrong

Json described(const absl::Status& status) {
  const ErrorDetail detail = error_detail(status).value_or(ErrorDetail{});
  return {{"code", static_cast<int>(status.code())},
          {"reason", std::string(to_string(detail.reason))},
          {"message", std::string(status.message())},
          {"field", detail.field},
          {"metadata", detail.metadata}};
}

absl::Status restored(const Json& json) {
  return make_error(static_cast<absl::StatusCode>(json.value("code", 0)),
                    parse_error_reason(json.value("reason", "")).value_or(ErrorReason::kInvariantBroken),
                    json.value("message", ""), json.value("field", ""),
                    json.value("metadata", std::map<std::string, std::string>()));
}

}  // namespace

Violations violations_of(const absl::Status& status) {
  Violations out;
  if (status.ok()) return out;
  const auto payload = status.GetPayload(kViolationsUrl);
  const Json json = payload ? Json::parse(std::string(*payload), nullptr, false) : Json();
  if (!json.is_object()) {
    out.list.push_back(status);
    return out;
  }
  for (const Json& one : json.value("list", Json::array())) out.list.push_back(restored(one));
  out.more = json.value("more", std::int64_t{0});
  return out;
}

absl::Status join(const Violations& violations) {
  if (violations.list.empty()) return absl::OkStatus();
  const absl::Status& first = violations.list.front();
  const std::int64_t others = static_cast<std::int64_t>(violations.list.size()) - 1 + violations.more;
  if (others == 0) return first;
  const ErrorDetail detail = error_detail(first).value_or(ErrorDetail{});
  absl::Status out = make_error(first.code(), detail.reason,
                                std::string(first.message()) + " (and " + std::to_string(others) +
                                    (others == 1 ? " more mistake)" : " more mistakes)"),
                                detail.field, detail.metadata);
  Json list = Json::array();
  for (const absl::Status& one : violations.list) list.push_back(described(one));
  const Json json = {{"list", std::move(list)}, {"more", violations.more}};
  out.SetPayload(kViolationsUrl, absl::Cord(json.dump(-1, ' ', false, Json::error_handler_t::replace)));
  return out;
}

absl::Status each_of(const absl::Status& status, const std::function<absl::Status(const absl::Status&)>& change) {
  Violations found = violations_of(status);
  for (absl::Status& one : found.list) one = change(one);
  return join(found);
}

bool Mistakes::note(const absl::Status& status) {
  if (status.ok()) return true;
  Violations more = violations_of(status);
  found_.more += more.more;
  for (absl::Status& one : more.list) {
    const auto detail = error_detail(one);
    const bool placed = detail && !detail->field.empty();
    if (!seen_.insert(placed ? detail->field : "\n" + std::string(one.message())).second) continue;
    if (found_.list.size() < kMostKept) {
      found_.list.push_back(std::move(one));
    } else {
      ++found_.more;
    }
  }
  return false;
}

}  // namespace locus
