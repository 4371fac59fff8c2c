// The bounds of a stored specification.
#include "core/experiment/limits_of.h"

#include "core/base/json.h"

namespace locus {

std::int64_t stage_seconds_of(const std::string& spec_json) {
  if (spec_json.find("\"stage_seconds\"") == std::string::npos) return 0;  // most have none: nothing to parse
  const Json spec = Json::parse(spec_json, nullptr, /*allow_exceptions=*/false);
  if (!spec.is_object()) return 0;
  const auto limits = spec.find("limits");
  if (limits == spec.end() || !limits->is_object()) return 0;
  const auto seconds = limits->find("stage_seconds");
  return seconds != limits->end() && seconds->is_number_integer() ? seconds->get<std::int64_t>() : 0;
}

}  // namespace locus
