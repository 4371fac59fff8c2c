// The load of a stage, cut out of its configuration.
#include "core/experiment/load.h"

#include "core/base/canonical_text.h"
#include "core/base/json.h"

namespace locus {
namespace {

std::string batch_of(std::string_view config_json) {
  const auto recipe = top_level_member(config_json, "recipe");
  const auto options = recipe ? top_level_member(*recipe, "options") : std::nullopt;
  return std::string((options ? top_level_member(*options, "batch") : std::nullopt).value_or(""));
}

// {"options":{...}} without the option "images".
std::string stage_of(std::string_view config_json) {
  const std::string_view stage = top_level_member(config_json, "stage").value_or("");
  const auto options = top_level_member(stage, "options");
  if (!options || !top_level_member(*options, "images")) return std::string(stage);
  return "{\"options\":" + without_members(*options, {"images"}) + "}";
}

}  // namespace

std::string load_of(std::string_view kind, std::string_view config_json) {
  std::string out(kind);
  for (const char* member : {"dataset", "model"})
    out.append("\n").append(top_level_member(config_json, member).value_or(""));
  return out.append("\n").append(kind == "train" ? batch_of(config_json) : stage_of(config_json));
}

}  // namespace locus
