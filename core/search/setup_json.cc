// The setup of a search as JSON, exact both ways.
#include <initializer_list>
#include <stdexcept>

#include "core/base/error.h"
#include "core/search/decision.h"

namespace locus {
namespace {

template <class Word>
Word word_of(const Json& json, std::initializer_list<Word> words) {
  const auto& text = json.get_ref<const std::string&>();
  for (const Word word : words) {
    if (text == to_string(word)) return word;
  }
  throw std::invalid_argument("'" + text + "' is no word that this build knows there");
}

template <class Value>
void put(Json& out, const char* key, const std::optional<Value>& value) {
  if (value) out[key] = *value;
}

template <class Value>
void take(const Json& json, const char* key, std::optional<Value>& out) {
  const auto found = json.find(key);
  if (found != json.end()) out = found->template get<Value>();
}

const char* kind_word(Dimension::Kind kind) {
  switch (kind) {
    case Dimension::Kind::kLinear:
      return "linear";
    case Dimension::Kind::kLog:
      return "log";
    case Dimension::Kind::kInteger:
      return "int";
    case Dimension::Kind::kChoice:
      break;
  }
  return "choice";
}

Json dimension_json(const Dimension& dimension) {
  return {{"path", dimension.path},
          {"kind", kind_word(dimension.kind)},
          {"low", number_to_json(dimension.low)},
          {"high", number_to_json(dimension.high)},
          {"digits", dimension.digits},
          {"choices", dimension.choices}};
}

Dimension dimension_of(const Json& json) {
  Dimension out;
  out.path = json.at("path");
  const std::string kind = json.at("kind");
  bool known = false;
  for (const auto each :
       {Dimension::Kind::kLinear, Dimension::Kind::kLog, Dimension::Kind::kInteger, Dimension::Kind::kChoice}) {
    if (kind == kind_word(each)) out.kind = each, known = true;
  }
  if (!known) throw std::invalid_argument("'" + kind + "' is no kind of dimension");
  out.low = number_from_json(json.at("low"));
  out.high = number_from_json(json.at("high"));
  out.digits = json.at("digits");
  out.choices = json.at("choices");
  return out;
}

Json race_json(const RaceTerms& race) {
  return {{"rule", to_string(race.rule)}, {"delta", race.terms.delta}, {"alpha", race.terms.alpha},
          {"first", race.terms.first},    {"most", race.most},         {"budget", race.budget}};
}

RaceTerms race_of(const Json& json) {
  RaceTerms out;
  out.rule =
      word_of(json.at("rule"), {RaceRule::kKimNelson, RaceRule::kHalving, RaceRule::kTTest, RaceRule::kFriedman});
  out.terms.delta = json.at("delta");
  out.terms.alpha = json.at("alpha");
  out.terms.first = json.at("first");
  out.most = json.at("most");
  out.budget = json.at("budget");
  return out;
}

Json advance_json(const Advance& advance) {
  Json brackets = Json::array();
  for (const Bracket& one : advance.brackets) brackets.push_back({{"units", one.units}, {"rungs", one.rungs}});
  return {{"rule", to_string(advance.rule)},
          {"resource", to_string(advance.resource)},
          {"unit", to_string(advance.unit)},
          {"rungs", advance.rungs},
          {"keep", {advance.keep.numerator, advance.keep.denominator}},
          {"eta", advance.eta},
          {"park", advance.park},
          {"brackets", std::move(brackets)},
          {"race", race_json(advance.race)}};
}

Advance advance_of(const Json& json) {
  Advance out;
  out.rule = word_of(json.at("rule"), {AdvanceRule::kNone, AdvanceRule::kHalve, AdvanceRule::kAsha,
                                       AdvanceRule::kHyperband, AdvanceRule::kRace});
  out.resource = word_of(json.at("resource"), {SearchResource::kEpochs, SearchResource::kSeeds});
  out.unit = word_of(json.at("unit"), {SearchUnit::kCell, SearchUnit::kTrial});
  out.rungs = json.at("rungs").get<std::vector<std::int64_t>>();
  out.keep = {json.at("keep").at(0), json.at("keep").at(1)};
  if (out.keep.denominator < 1) throw std::invalid_argument("a share has no denominator");
  out.eta = json.at("eta");
  out.park = json.at("park");
  for (const Json& one : json.at("brackets")) {
    out.brackets.push_back(
        {one.at("units").get<std::vector<std::int64_t>>(), one.at("rungs").get<std::vector<std::int64_t>>()});
  }
  out.race = race_of(json.at("race"));
  return out;
}

Json stop_json(const StopRule& stop) {
  Json out = {{"metric", stop.metric}, {"field", stop.field}};
  if (const auto* median = std::get_if<MedianRule>(&stop.rule)) {
    out["median"] = {{"after", median->after}, {"from", median->from}, {"percentile", median->percentile}};
  } else if (const auto* patience = std::get_if<PatienceRule>(&stop.rule)) {
    out["patience"] = {{"validations", patience->validations}, {"least", patience->least}};
  } else {
    const auto& threshold = std::get<ThresholdRule>(stop.rule);
    Json& json = out["threshold"] = {{"at", threshold.at}};
    put(json, "above", threshold.above);
    put(json, "below", threshold.below);
  }
  return out;
}

StopRule stop_of(const Json& json) {
  StopRule out;
  out.metric = json.at("metric");
  out.field = json.at("field");
  if (json.contains("median")) {
    const Json& rule = json["median"];
    out.rule = MedianRule{rule.at("after"), rule.at("from"), rule.at("percentile")};
  } else if (json.contains("patience")) {
    const Json& rule = json["patience"];
    out.rule = PatienceRule{rule.at("validations"), rule.at("least")};
  } else {
    const Json& rule = json.at("threshold");
    ThresholdRule threshold;
    threshold.at = rule.at("at");
    take(rule, "above", threshold.above);
    take(rule, "below", threshold.below);
    out.rule = threshold;
  }
  return out;
}

Json budget_json(const SearchBudget& budget) {
  Json out = Json::object();
  put(out, "proposals", budget.proposals);
  put(out, "stages", budget.stages);
  put(out, "epochs", budget.epochs);
  put(out, "slot_hours", budget.slot_hours);
  if (!budget.target) return out;
  Json& target = out["target"] = {{"metric", budget.target->metric}};
  put(target, "at_least", budget.target->at_least);
  put(target, "at_most", budget.target->at_most);
  return out;
}

SearchBudget budget_of(const Json& json) {
  SearchBudget out;
  take(json, "proposals", out.proposals);
  take(json, "stages", out.stages);
  take(json, "epochs", out.epochs);
  take(json, "slot_hours", out.slot_hours);
  if (!json.contains("target")) return out;
  SearchBudget::Target target;
  target.metric = json["target"].at("metric");
  take(json["target"], "at_least", target.at_least);
  take(json["target"], "at_most", target.at_most);
  out.target = target;
  return out;
}

Json search_json(const Search& search) {
  Json space = Json::array(), stops = Json::array();
  for (const Dimension& one : search.space) space.push_back(dimension_json(one));
  for (const StopRule& one : search.stops) stops.push_back(stop_json(one));
  return {{"seed", std::to_string(search.seed)},  // a number would lose its last bits
          {"propose", to_string(search.proposer)},   {"space", std::move(space)},
          {"proposals", search.proposals},           {"shared", search.shared},
          {"advance", advance_json(search.advance)}, {"stop", std::move(stops)},
          {"budget", budget_json(search.budget)},    {"parallel", search.parallel},
          {"horizon", to_string(search.horizon)}};
}

Search search_of(const Json& json) {
  Search out;
  out.seed = std::stoull(json.at("seed").get<std::string>());
  out.proposer =
      word_of(json.at("propose"), {Proposer::kGrid, Proposer::kRandom, Proposer::kSobol, Proposer::kExternal});
  for (const Json& one : json.at("space")) out.space.push_back(dimension_of(one));
  out.proposals = json.at("proposals");
  out.shared = json.at("shared");
  out.advance = advance_of(json.at("advance"));
  for (const Json& one : json.at("stop")) out.stops.push_back(stop_of(one));
  out.budget = budget_of(json.at("budget"));
  out.parallel = json.at("parallel");
  out.horizon = word_of(json.at("horizon"), {SearchHorizon::kFull, SearchHorizon::kRung});
  return out;
}

Json terms_json(const SearchChoiceTerms& terms) {
  Json out = {{"by", terms.by}, {"groups", choice_groups_json(terms.groups)}};
  put(out, "at_least", terms.at_least);
  return out;
}

SearchChoiceTerms terms_of(const Json& json) {
  SearchChoiceTerms out;
  out.by = json.at("by");
  take(json, "at_least", out.at_least);
  out.groups = choice_groups_of(json.at("groups"));
  return out;
}

SearchSetup setup_from(const Json& json) {
  SearchSetup out;
  out.phase = json.at("phase");
  out.phases = json.at("phases");
  out.search = search_of(json.at("search"));
  out.groups = json.at("groups").get<std::vector<std::string>>();
  for (const Json& unit : json.at("units")) out.units.push_back(unit_of(unit));
  out.metric = json.at("metric");
  out.split = json.at("split");
  out.labels = json.at("labels");
  out.reduce = json.at("reduce");
  out.maximize = json.at("maximize");
  out.steps_per_epoch = json.at("steps_per_epoch");
  out.last_step = json.at("last_step");
  out.validate_every = json.at("validate_every");
  if (json.contains("choose")) out.choose = terms_of(json["choose"]);
  return out;
}

}  // namespace

Json choice_groups_json(const std::vector<SearchChoiceGroup>& groups) {
  Json out = Json::array();
  for (const SearchChoiceGroup& group : groups) {
    Json candidates = Json::array();
    for (const SearchCandidate& one : group.candidates)
      candidates.push_back({{"assignment", one.assignment}, {"units", one.units}});
    out.push_back({{"assignment", group.assignment}, {"candidates", std::move(candidates)}});
  }
  return out;
}

std::vector<SearchChoiceGroup> choice_groups_of(const Json& json) {
  std::vector<SearchChoiceGroup> out;
  for (const Json& group : json) {
    SearchChoiceGroup one;
    one.assignment = group.at("assignment");
    for (const Json& candidate : group.at("candidates"))
      one.candidates.push_back({candidate.at("assignment"), candidate.at("units").get<std::vector<std::int64_t>>()});
    out.push_back(std::move(one));
  }
  return out;
}

// A list and not an object: a phase may have a hundred thousand.
Json unit_json(const SearchUnitRow& unit) {
  Json out = {unit.group, unit.proposal, unit.cell, unit.trials};
  if (unit.later_rungs.empty() && unit.steps_per_epoch == 0 && unit.last_step == 0) return out;
  out.push_back(unit.later_rungs);
  out.push_back(unit.steps_per_epoch);
  out.push_back(unit.last_step);
  return out;
}

SearchUnitRow unit_of(const Json& json) {
  SearchUnitRow out{json.at(0), json.at(1), json.at(2), json.at(3).get<std::vector<std::int64_t>>()};
  if (json.size() <= 4) return out;
  out.later_rungs = json.at(4).get<std::vector<std::vector<std::int64_t>>>();
  out.steps_per_epoch = json.at(5);
  out.last_step = json.at(6);
  return out;
}

Json setup_json(const SearchSetup& setup) {
  Json units = Json::array();
  for (const SearchUnitRow& unit : setup.units) units.push_back(unit_json(unit));
  Json out = {{"phase", setup.phase},
              {"phases", setup.phases},
              {"search", search_json(setup.search)},
              {"groups", setup.groups},
              {"units", std::move(units)},
              {"metric", setup.metric},
              {"split", setup.split},
              {"labels", setup.labels},
              {"reduce", setup.reduce},
              {"maximize", setup.maximize},
              {"steps_per_epoch", setup.steps_per_epoch},
              {"last_step", setup.last_step},
              {"validate_every", setup.validate_every}};
  if (setup.choose) out["choose"] = terms_json(*setup.choose);
  return out;
}

absl::StatusOr<SearchSetup> setup_of(const Json& json) {
  try {
    return setup_from(json);
  } catch (const std::exception& error) {  // of the document's shape, and of words and numbers in it
    return make_error(
        absl::StatusCode::kDataLoss, ErrorReason::kStorageFailed,
        std::string("the setup of a search cannot be read: ") + error.what() + "; restore the store from a backup");
  }
}

}  // namespace locus
