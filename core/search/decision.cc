// Decisions as rows of a log, and back.
#include "core/search/decision.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/base/error.h"

namespace locus {
namespace {

template <class... Each>
struct Overloaded : Each... {
  using Each::operator()...;
};
template <class... Each>
Overloaded(Each...) -> Overloaded<Each...>;

Json optional_number(const std::optional<double>& value) { return value ? number_to_json(*value) : Json(nullptr); }
std::optional<double> number_or_none(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return number_from_json(json);
}

using Numbers = std::vector<std::int64_t>;

Json chosen_json(const ChosenCandidate& one) {
  return {{"group", one.group},
          {"candidate", one.candidate},
          {"value", optional_number(one.value)},
          {"margin", optional_number(one.margin)},
          {"seeds", one.seeds},
          {"agreed", one.agreed},
          {"note", one.note}};
}

ChosenCandidate chosen_of(const Json& json) {
  ChosenCandidate out;
  out.group = json.at("group");
  out.candidate = json.at("candidate");
  out.value = number_or_none(json.at("value"));
  out.margin = number_or_none(json.at("margin"));
  out.seeds = json.at("seeds");
  out.agreed = json.at("agreed");
  out.note = json.at("note");
  return out;
}

Json observe_json(const ObserveDecision& observed) {
  Json out = {{"trial", observed.trial},
              {"step", observed.step},
              {"value", optional_number(observed.value)},
              {"stage", observed.stage},
              {"attempt", observed.attempt}};
  if (!observed.metric.empty()) out["metric"] = observed.metric;
  if (observed.revises != 0) out["revises"] = observed.revises;
  return out;
}

ObserveDecision observe_of(const Json& json) {
  ObserveDecision out;
  out.trial = json.at("trial");
  out.step = json.at("step");
  out.value = number_or_none(json.at("value"));
  out.metric = json.value("metric", "");
  out.stage = json.at("stage");
  out.attempt = json.at("attempt");
  out.revises = json.value("revises", std::int64_t{0});
  return out;
}

Json propose_json(const ProposeDecision& proposed) {
  Json out = {{"units", proposed.units}};
  for (const SearchUnitRow& unit : proposed.added) out["added"].push_back(unit_json(unit));
  if (!proposed.proposer.empty()) out["proposer"] = proposed.proposer;
  if (!proposed.choices.empty()) out["choices"] = choice_groups_json(proposed.choices);
  return out;
}

ProposeDecision propose_of(const Json& json) {
  ProposeDecision out;
  out.units = json.at("units").get<Numbers>();
  for (const Json& unit : json.value("added", Json::array())) out.added.push_back(unit_of(unit));
  out.proposer = json.value("proposer", Json::object());
  out.choices = choice_groups_of(json.value("choices", Json::array()));
  return out;
}

std::pair<const char*, Json> words_of(const SearchDecision& decision) {
  using Words = std::pair<const char*, Json>;
  return std::visit(
      Overloaded{[](const BeginDecision& one) -> Words {
                   return {"begin", {{"setup", setup_json(one.setup)}}};
                 },
                 [](const ObserveDecision& one) -> Words {
                   return {"observe", observe_json(one)};
                 },
                 [](const ProposeDecision& one) -> Words {
                   return {"propose", propose_json(one)};
                 },
                 [](const AdvanceDecision& one) -> Words {
                   return {"advance", {{"units", one.units}, {"rung", one.rung}, {"settled", one.settled}}};
                 },
                 [](const StopDecision& one) -> Words {
                   return {"stop",
                           {{"units", one.units},
                            {"rung", one.rung},
                            {"step", one.step},
                            {"settled", one.settled},
                            {"reason", one.reason}}};
                 },
                 [](const ChooseDecision& one) -> Words {
                   Json chosen = Json::array();
                   for (const ChosenCandidate& each : one.chosen) chosen.push_back(chosen_json(each));
                   return {"choose", {{"chosen", std::move(chosen)}}};
                 },
                 [](const OverrideDecision& one) -> Words {
                   return {"override",
                           {{"units", one.units}, {"go_on", one.go_on}, {"rung", one.rung}, {"reason", one.reason}}};
                 },
                 [](const EndDecision& one) -> Words {
                   return {"end", {{"reason", one.reason}}};
                 }},
      decision);
}

absl::Status unreadable(const DecisionRow& row, const std::string& why) {
  return make_error(absl::StatusCode::kDataLoss, ErrorReason::kStorageFailed,
                    "decision " + std::to_string(row.number) + " of a search, '" + row.kind +
                        "', cannot be read: " + why + "; restore the store from a backup",
                    "", {{"number", std::to_string(row.number)}, {"kind", row.kind}});
}

// Whether a fraction lies beyond all whole numbers, where one may be meant: it has no nearest one.
bool has_far_number(const Json& json) {
  constexpr std::string_view kOfAnySize[] = {"assignment", "high",   "labels",   "least",
                                             "low",        "margin", "proposer", "value"};
  if (json.is_number_float()) return !(std::abs(json.get<double>()) < 0x1p63);
  if (!json.is_structured()) return false;
  for (const auto& [key, inner] : json.items()) {
    if (std::ranges::find(kOfAnySize, key) == std::end(kOfAnySize) && has_far_number(inner)) return true;
  }
  return false;
}

SearchDecision decision_of(const std::string& kind, const Json& json) {
  if (kind == "observe") return observe_of(json);
  if (kind == "propose") return propose_of(json);
  if (kind == "advance")
    return AdvanceDecision{json.at("units").get<Numbers>(), json.at("rung"), json.at("settled").get<Numbers>()};
  if (kind == "stop") {
    return StopDecision{json.at("units").get<Numbers>(), json.at("rung"), json.at("step"), json.at("settled"),
                        json.at("reason")};
  }
  if (kind == "choose") {
    ChooseDecision out;
    for (const Json& each : json.at("chosen")) out.chosen.push_back(chosen_of(each));
    return out;
  }
  if (kind == "override")
    return OverrideDecision{json.at("units").get<Numbers>(), json.at("go_on"), json.at("rung"), json.at("reason")};
  if (kind == "end") return EndDecision{json.at("reason")};
  throw std::invalid_argument("this build knows no such kind");
}

}  // namespace

DecisionRow written(const SearchDecision& decision) {
  auto [kind, json] = words_of(decision);
  DecisionRow row;
  row.kind = kind;
  row.json = canonical_json(json);
  return row;
}

absl::StatusOr<SearchDecision> read(const DecisionRow& row) {
  try {
    const Json json = Json::parse(row.json);
    if (has_far_number(json)) return unreadable(row, "a number in it is beyond all whole ones");
    if (row.kind != "begin") return decision_of(row.kind, json);
    absl::StatusOr<SearchSetup> setup = setup_of(json.at("setup"));
    if (!setup.ok()) return unreadable(row, std::string(setup.status().message()));
    return BeginDecision{*std::move(setup)};
  } catch (const std::exception& error) {  // of the document's shape, and of words and numbers in it
    return unreadable(row, error.what());
  }
}

}  // namespace locus
