// Reads search.advance, search.stop and search.budget: who goes on, who is stopped, what may be spent.
#include <charconv>
#include <numeric>

#include "core/catalog/options.h"
#include "core/experiment/plan/fields.h"
#include "core/experiment/plan/key_reader.h"
#include "core/experiment/plan/search_section.h"

namespace locus {
namespace {

constexpr char kAdvance[] = "search.advance";
constexpr double kEtaMost = 1000;
constexpr double kSeedsMost = 10'000;
constexpr double kEpochsMost = 1'000'000;

// "1/3", exact. 0.3333 is refused: a third of nine would be two.
absl::StatusOr<Share> share_of(const Json& json, const std::string& field) {
  const std::string wanted = field + " is a fraction below 1, written as text: 1/3";
  if (!json.is_string())
    return refuse(ErrorReason::kWrongType, wanted + ", not " + describe_json(json), field,
                  {{"value", show_json(json)}});
  const auto& text = json.get_ref<const std::string&>();
  Share out;
  const std::size_t slash = text.find('/');
  const auto read = [&](std::size_t from, std::size_t to, std::int64_t& value) {
    const char *begin = text.data() + from, *end = text.data() + to;
    const auto [stop, error] = std::from_chars(begin, end, value);
    return begin != end && stop == end && error == std::errc() && value > 0 && value <= 1'000'000;
  };
  const bool good = slash != std::string::npos && read(0, slash, out.numerator) &&
                    read(slash + 1, text.size(), out.denominator) && out.numerator < out.denominator;
  if (!good) return refuse(ErrorReason::kOptionOutOfRange, wanted + ", not '" + text + "'", field, {{"value", text}});
  const std::int64_t common = std::gcd(out.numerator, out.denominator);
  return Share{out.numerator / common, out.denominator / common};
}

// [1, 3, 9], or {least: 1, eta: 3}.
void read_rungs(const Json& json, SearchRequest& request, Mistakes& mistakes) {
  const std::string field = std::string(kAdvance) + ".rungs";
  request.rungs = true;
  if (json.is_object()) {
    KeyReader keys(json, field, "rungs", {"least", "eta"}, mistakes);
    SearchRequest::Geometric rungs;
    rungs.least = keys.integer("least", 1, kEpochsMost).value_or(rungs.least);
    rungs.eta = keys.integer("eta", 2, kEtaMost).value_or(rungs.eta);
    request.geometric = rungs;
    return;
  }
  if (!json.is_array() || json.empty()) {
    mistakes.note(refuse(
        ErrorReason::kWrongType,
        field + " is an increasing list as in [3, 9, 27], or {least: 1, eta: 3}, not " + describe_json(json), field));
    return;
  }
  OptionSpec rule;
  rule.name = "rungs", rule.type = "integer", rule.minimum = 1, rule.maximum = kEpochsMost;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const auto rung = mistakes.value(check_option(rule, json[i], indexed(field, i)));
    if (!rung) continue;
    auto& rungs = request.search.advance.rungs;
    if (!rungs.empty() && rung->get<std::int64_t>() <= rungs.back()) {
      mistakes.note(
          refuse(ErrorReason::kInvalidSpecification,
                 field + " must increase, and " + show_json(*rung) + " comes after " + std::to_string(rungs.back()),
                 indexed(field, i)));
      continue;
    }
    rungs.push_back(rung->get<std::int64_t>());
  }
}

RaceRule race_rule(const std::string& word) {
  for (const RaceRule rule : {RaceRule::kHalving, RaceRule::kTTest, RaceRule::kFriedman}) {
    if (word == to_string(rule)) return rule;
  }
  return RaceRule::kKimNelson;
}

void read_race(const Json& json, SearchRequest& request, Mistakes& mistakes) {
  const std::string field = std::string(kAdvance) + ".race";
  RaceTerms& race = request.search.advance.race;
  std::string word = "kn";
  if (json.is_object() && json.contains("rule") && json["rule"].is_string()) word = json["rule"].get<std::string>();
  race.rule = race_rule(word);
  std::vector<std::string> known = {"rule", "alpha", "first", "most"};
  if (race.rule == RaceRule::kKimNelson) known.emplace_back("delta");
  if (race.rule == RaceRule::kHalving) known = {"rule", "budget"};
  KeyReader keys(json, field, "a race by the rule " + word, known, mistakes);
  keys.word("rule", {"kn", "halving", "t-race", "f-race"});
  if (const auto delta = keys.above("delta", 0)) race.terms.delta = *delta;
  if (const auto alpha = keys.above("alpha", 0)) {
    race.terms.alpha = *alpha;
    if (*alpha >= 0.5) {
      mistakes.note(refuse(ErrorReason::kOptionOutOfRange,
                           keys.at("alpha") + " is the chance of a wrong end, below 0.5, not " + show_json(*alpha),
                           keys.at("alpha")));
    }
  }
  race.terms.first = keys.integer("first", 2, kSeedsMost).value_or(race.terms.first);
  if (const auto most = keys.integer("most", 2, kSeedsMost)) race.most = *most, request.most = true;
  if (race.rule != RaceRule::kHalving) return;
  race.terms.first = 1;
  keys.require("budget", "sequential halving spends a number of runs; add budget: 64");
  race.budget = keys.integer("budget", 2).value_or(0);
}

// What each rule understands beside its name.
std::vector<std::string> keys_of(AdvanceRule rule) {
  switch (rule) {
    case AdvanceRule::kNone:
      return {"rule"};
    case AdvanceRule::kHalve:
      return {"rule", "resource", "unit", "rungs", "keep", "wait"};
    case AdvanceRule::kAsha:
      return {"rule", "resource", "unit", "rungs", "eta", "wait", "park"};
    case AdvanceRule::kHyperband:
      return {"rule", "rungs", "eta"};
    case AdvanceRule::kRace:
      break;
  }
  return {"rule", "race"};
}

// Halving that does not wait is asynchronous halving.
void settle_waiting(KeyReader& keys, Advance& advance, Mistakes& mistakes) {
  const auto wait = keys.boolean("wait");
  if (!wait) return;
  if (advance.rule == AdvanceRule::kAsha && *wait) {
    mistakes.note(refuse(ErrorReason::kInvalidSpecification,
                         "asha promotes without waiting for the others of a rung; write rule: halve to wait",
                         keys.at("wait")));
  }
  if (advance.rule != AdvanceRule::kHalve || *wait) return;
  if (advance.keep.numerator != 1) {
    mistakes.note(refuse(ErrorReason::kOptionOutOfRange,
                         "without waiting one of so many goes on, so keep must be 1/2, 1/3, ...; or wait",
                         keys.at("keep")));
  }
  advance.rule = AdvanceRule::kAsha;
  advance.eta = advance.keep.denominator;
}

std::optional<StopRule> read_stop(const std::string& kind, const Json& json, const std::string& field,
                                  Mistakes& mistakes) {
  StopRule out;
  out.field = field;
  OptionSpec any;
  any.type = "number";
  if (kind == "median") {
    KeyReader keys(json, field, "median", {"after", "from", "percentile"}, mistakes);
    MedianRule rule;
    rule.after = keys.integer("after", 1).value_or(rule.after);
    rule.from = keys.integer("from", 0, kEpochsMost).value_or(rule.from);
    OptionSpec percent = any;
    percent.minimum = 0, percent.maximum = 100;
    rule.percentile = keys.number("percentile", percent).value_or(rule.percentile);
    out.rule = rule;
    return out;
  }
  if (kind == "patience") {
    KeyReader keys(json, field, "patience", {"validations", "least"}, mistakes);
    PatienceRule rule;
    rule.validations = keys.integer("validations", 1, kEpochsMost).value_or(rule.validations);
    OptionSpec least = any;
    least.minimum = 0;
    rule.least = keys.number("least", least).value_or(rule.least);
    out.rule = rule;
    return out;
  }
  KeyReader keys(json, field, "threshold", {"metric", "above", "below", "at"}, mistakes);
  ThresholdRule rule;
  out.metric = keys.text("metric").value_or("");
  rule.above = keys.number("above", any);
  rule.below = keys.number("below", any);
  keys.require("at", "a threshold is looked at once; add at: EPOCH");
  rule.at = keys.integer("at", 1, kEpochsMost).value_or(1);
  if (keys.has("above") == keys.has("below")) {
    mistakes.note(refuse(ErrorReason::kInvalidSpecification,
                         field + " stops what is above a bound or what is below one; give one of the two", field));
  }
  out.rule = rule;
  return out;
}

}  // namespace

void read_advance(const Json& json, SearchRequest& request, Mistakes& mistakes) {
  if (json == "none") return;
  Advance& advance = request.search.advance;
  const bool named = json.is_object() && json.contains("rule") && json["rule"].is_string();
  const std::string word = named ? json["rule"].get<std::string>() : "none";
  for (const AdvanceRule rule :
       {AdvanceRule::kHalve, AdvanceRule::kAsha, AdvanceRule::kHyperband, AdvanceRule::kRace}) {
    if (word == to_string(rule)) advance.rule = rule;
  }
  if (!named || (advance.rule == AdvanceRule::kNone && word != "none")) {
    KeyReader rule(json, kAdvance, "advance",
                   {"rule", "resource", "unit", "rungs", "keep", "eta", "wait", "park", "race"}, mistakes);
    rule.require("rule", "search.advance names a rule, as in {rule: halve, rungs: [1, 3, 9]}");
    rule.word("rule", {"none", "halve", "asha", "hyperband", "race"});
    return;
  }
  KeyReader keys(json, kAdvance, "advance by the rule " + word, keys_of(advance.rule), mistakes);
  if (keys.word("resource", {"epochs", "seeds"}) == "seeds") advance.resource = SearchResource::kSeeds;
  if (keys.word("unit", {"cell", "trial"}) == "trial") advance.unit = SearchUnit::kTrial;
  if (advance.resource == SearchResource::kSeeds && advance.unit == SearchUnit::kTrial) {
    mistakes.note(refuse(ErrorReason::kInvalidSpecification,
                         "a trial has one seed, so further seeds are granted to cells; write unit: cell",
                         keys.at("unit")));
  }
  const bool rungs = advance.rule == AdvanceRule::kHalve || advance.rule == AdvanceRule::kAsha;
  if (rungs) keys.require("rungs", "the rule " + word + " needs the rungs it judges at, as in rungs: [1, 3, 9]");
  if (keys.has("rungs")) read_rungs(keys["rungs"], request, mistakes);
  if (keys.has("keep")) {
    if (const auto keep = mistakes.value(share_of(keys["keep"], keys.at("keep")))) advance.keep = *keep;
  }
  if (request.geometric) advance.eta = request.geometric->eta;
  if (const auto eta = keys.integer("eta", 2, kEtaMost)) advance.eta = *eta;
  if (const auto park = keys.boolean("park")) advance.park = *park;
  settle_waiting(keys, advance, mistakes);
  if (advance.rule != AdvanceRule::kRace) return;
  advance.resource = SearchResource::kSeeds;
  if (keys.has("race")) read_race(keys["race"], request, mistakes);
}

void read_stops(const Json& json, Search& search, Mistakes& mistakes) {
  const std::string field = "search.stop";
  if (!mistakes.note(check_list(json, field))) return;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string place = indexed(field, i);
    if (!mistakes.note(check_mapping(json[i], place))) continue;
    const std::string kind = json[i].size() == 1 ? json[i].begin().key() : "";
    if (kind != "median" && kind != "patience" && kind != "threshold") {
      mistakes.note(refuse(ErrorReason::kInvalidSpecification,
                           place + " names one rule: {median: {after: 5}}, {patience: {validations: 3}} or {threshold: "
                                   "{below: 15, at: 3}}",
                           place));
      continue;
    }
    if (auto stop = read_stop(kind, *json[i].begin(), place + "." + kind, mistakes))
      search.stops.push_back(*std::move(stop));
  }
}

void read_budget(const Json& json, Search& search, Mistakes& mistakes) {
  KeyReader keys(json, "search.budget", "budget", {"proposals", "stages", "epochs", "slot_hours", "target"}, mistakes);
  SearchBudget& budget = search.budget;
  if (json.is_object() && json.empty()) {
    mistakes.note(refuse(ErrorReason::kMissingKey,
                         "search.budget limits nothing; name what may be spent, as in {slot_hours: 12}, or take it out",
                         "search.budget"));
  }
  budget.proposals = keys.integer("proposals", 1);
  budget.stages = keys.integer("stages", 1);
  budget.epochs = keys.above("epochs", 0);
  budget.slot_hours = keys.above("slot_hours", 0);
  if (!keys.has("target")) return;
  KeyReader target(keys["target"], keys.at("target"), "target", {"metric", "at_least", "at_most"}, mistakes);
  OptionSpec any;
  any.type = "number";
  SearchBudget::Target out;
  out.metric = target.text("metric").value_or("");
  out.at_least = target.number("at_least", any);
  out.at_most = target.number("at_most", any);
  if (target.has("at_least") == target.has("at_most")) {
    mistakes.note(refuse(ErrorReason::kInvalidSpecification,
                         "search.budget.target is reached from one side; give at_least or at_most", target.field()));
  }
  budget.target = out;
}

}  // namespace locus
