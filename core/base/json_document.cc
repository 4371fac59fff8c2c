// JSON from outside.
#include "core/base/json_document.h"

#include <functional>
#include <set>
#include <vector>

namespace locus {
namespace {

constexpr int kJsonDepth = 64;

// Follows a parse: the depth reached and the keys of every open object.
struct ParseWatch {
  std::vector<std::set<std::string>> open;
  std::string duplicate;
  bool deep = false;

  bool operator()(int depth, Json::parse_event_t event, Json& value) {
    using Kind = Json::parse_event_t;
    if (depth > kJsonDepth) deep = true;
    if (deep) return false;
    if (event == Kind::object_start) open.emplace_back();
    if (event == Kind::object_end && !open.empty()) open.pop_back();
    if (event == Kind::key && !open.empty() && !open.back().insert(value.get<std::string>()).second) {
      duplicate = value.get<std::string>();
    }
    return true;
  }
};

}  // namespace

absl::StatusOr<Json> parse_json(const std::string& text, ErrorReason reason, const std::string& field) {
  ParseWatch watch;
  Json value;
  try {
    value = Json::parse(text, std::ref(watch));
  } catch (const Json::exception& error) {
    return make_error(absl::StatusCode::kInvalidArgument, reason,
                      "this is not JSON (" + std::string(error.what()) + "); send one JSON document", field);
  }
  if (watch.deep) {
    return make_error(absl::StatusCode::kInvalidArgument, reason,
                      "the document is nested deeper than " + std::to_string(kJsonDepth) + " levels; flatten it", field,
                      {{"most", std::to_string(kJsonDepth)}});
  }
  if (!watch.duplicate.empty()) {
    return make_error(absl::StatusCode::kInvalidArgument, reason,
                      "the key \"" + watch.duplicate + "\" appears twice in one object; keep one", field,
                      {{"key", watch.duplicate}});
  }
  return value;
}

}  // namespace locus
