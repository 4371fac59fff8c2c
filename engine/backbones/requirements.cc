// Requirements and exclusions, read from catalog entries.
#include "engine/backbones/requirements.h"

#include <algorithm>

namespace locus::engine {
namespace {

bool contains(const Json& list, const Json& value) { return std::find(list.begin(), list.end(), value) != list.end(); }

// Whether a rule concerns a prior with these options: without "when" always.
bool concerns(const Json& rule, const Json& options) {
  if (!rule.contains("when")) return true;
  return contains(rule.at("when").at("values"), options.at(rule.at("when").at("option").get<std::string>()));
}

// Whether `entry`, with these options, excludes the other's id or one of its tags.
bool excludes(const Json& entry, const Json& options, const Json& other) {
  const auto shut_out = [&](const Json& list) {
    return std::any_of(list.begin(), list.end(), [&](const Json& what) {
      return what == other.at("id") || contains(other.at("provides"), what);
    });
  };
  if (shut_out(entry.at("excludes"))) return true;
  for (const Json& more : entry.value("excludes_when", Json::array())) {
    if (concerns(more, options) && shut_out(more.at("excludes"))) return true;
  }
  return false;
}

// What rules speak of.
std::map<std::string, std::int64_t> values_of(const StageInfo& stage) {
  const LayerInfo& info = stage.layers.at(0);
  return {{"dim", info.width},
          {"heads", info.heads},
          {"head_width", info.head_width()},
          {"depth", info.layers},
          {"prefix", stage.layers.back().reference.prefix},
          {"third_axis", stage.grid.rank() > 2 ? 1 : 0},
          {"points", stage.grid.points ? 1 : 0},
          {"windows", stage.windows ? 1 : 0},
          {"masked", stage.masked || stage.padded ? 1 : 0},
          {"condition", stage.condition ? 1 : 0}};
}

void check_rule(const Json& rule, const std::string& who, std::int64_t value) {
  const auto name = rule.at("value").get<std::string>();
  const std::string why = " (" + rule.at("help").get<std::string>() + ")";
  if (rule.at("rule") == "none") {
    if (value == 0) return;
    throw std::invalid_argument(who + ": " + name + " " + std::to_string(value) + " where there may be none" + why);
  }
  if (rule.at("rule") != "multiple-of")
    throw std::logic_error(who + ": a rule the engine does not know: " + rule.dump());
  const auto factor = rule.at("factor").get<std::int64_t>();
  if (value % factor == 0) return;
  throw std::invalid_argument(who + ": " + name + " " + std::to_string(value) + " must be a multiple of " +
                              std::to_string(factor) + why);
}

}  // namespace

std::string in_stage(const StageInfo& stage) {
  return stage.stages == 1 ? "" : "stage " + std::to_string(stage.index) + ": ";
}

void check_requirements(const SetPrior& prior, const StageInfo& stage) {
  const Json& entry = prior.item->item.json();
  const std::string who = in_stage(stage) + "prior " + prior.item->id();
  const std::int64_t rank = stage.grid.rank();
  if (stage.grid.points && !entry.at("layouts").value("points", false))
    throw std::invalid_argument(who + " is defined on grids, and the tokens are points of any place");
  if (!contains(entry.at("layouts").at("ranks"), rank))
    throw std::invalid_argument(who + " does not support grids of rank " + std::to_string(rank));
  const std::map<std::string, std::int64_t> values = values_of(stage);
  for (const Json& rule : entry.at("requires")) {
    if (concerns(rule, prior.options)) check_rule(rule, who, values.at(rule.at("value").get<std::string>()));
  }
}

void check_pair(const SetPrior& first, const SetPrior& second, const StageInfo& stage) {
  const Json &one = first.item->item.json(), &other = second.item->item.json();
  const std::string pair = in_stage(stage) + "priors " + first.item->id() + " and " + second.item->id();
  if (first.item == second.item) throw std::invalid_argument(pair + ": the same prior twice");
  if (excludes(one, first.options, other) || excludes(other, second.options, one))
    throw std::invalid_argument(pair + " exclude each other as they are set");
}

}  // namespace locus::engine
