// The rules of a search a second time, written from their description alone: everything is counted anew from the whole log at every
// question, without anything of core/search but its rows.
#pragma once

#include "tests/core/search/plain_log.h"

namespace locus::search_tests {

// An answer without its reasons: "advance to 1 [3 4] settled [0 2]".
inline std::string said(const std::optional<RuleAnswer>& verdict) {
  if (!verdict) return "wait";
  if (const auto* one = std::get_if<ProposeDecision>(&verdict->decision)) return "propose " + listed(one->units);
  if (const auto* one = std::get_if<AdvanceDecision>(&verdict->decision)) {
    const std::string to = one->units.empty() ? "" : " to " + std::to_string(one->rung) + " " + listed(one->units);
    return "advance" + to + " settled " + listed(one->settled);
  }
  if (const auto* one = std::get_if<StopDecision>(&verdict->decision)) return "stop " + listed(one->units);
  return std::holds_alternative<EndDecision>(verdict->decision) ? "end" : "choose";
}

class Plain : public PlainLog {
 public:
  explicit Plain(const std::vector<DecisionRow>& log) : PlainLog(log) {}

  std::string answer() const {
    if (ended_) return "wait";
    if (const auto unit = stopped(); unit >= 0) return "stop " + listed({unit});
    const bool limited = setup_.search.budget.epochs || setup_.search.budget.stages || setup_.search.budget.proposals;
    const AdvanceRule rule = setup_.search.advance.rule;
    if (limited && rule != AdvanceRule::kAsha) {
      if (const std::string out = propose(); !out.empty()) return out;
    }
    std::string out;
    if (rule == AdvanceRule::kHalve || rule == AdvanceRule::kHyperband) out = halve(limited);
    if (rule == AdvanceRule::kAsha) out = setup_.search.advance.park ? climb() : arrive();
    if (rule == AdvanceRule::kRace) out = race(limited);
    if (!out.empty()) return out;
    if (out = propose(); !out.empty()) return out;
    if (unfinished() > 0 || !closed()) return "wait";
    return "end";
  }

 private:
  // ---- rules ----
  std::string sent_on(const std::vector<Unit>& next, std::int64_t rung, std::vector<Unit> losers, Lacks& why) const {
    std::vector<Unit> now = allowed(next, rung, why);
    if (setup_.search.parallel > 0 && !losers.empty()) now.clear();
    if (now.empty() && losers.empty()) return "";
    const std::string to = now.empty() ? "" : " to " + std::to_string(rung) + " " + listed(now);
    return "advance" + to + " settled " + listed(losers);
  }

  std::string halve(bool limited) const {
    if (limited && !closed()) return "";
    const Advance& advance = setup_.search.advance;
    const bool bands = advance.rule == AdvanceRule::kHyperband;
    for (std::size_t b = 0; b < (bands ? advance.brackets.size() : 1); ++b) {
      for (std::int64_t group = 0; group < groups(); ++group) {
        std::vector<Unit> mine;
        for (const Unit unit : of_group(group)) {
          if (bracket(unit) == static_cast<std::int64_t>(b)) mine.push_back(unit);
        }
        bool waits = false;
        if (const std::string out = halve(mine, waits); !out.empty()) return out;
        if (waits && limited) return "";
      }
    }
    return "";
  }
  std::string halve(const std::vector<Unit>& mine, bool& waits) const {
    const Advance& advance = setup_.search.advance;
    std::int64_t keep_of = advance.keep.numerator, keep_in = advance.keep.denominator;
    if (advance.rule == AdvanceRule::kHyperband) keep_of = 1, keep_in = advance.eta;
    for (std::int64_t rung = 0; !mine.empty() && !last(mine[0], rung); ++rung) {
      std::vector<std::pair<double, Unit>> order;  // negated scores
      for (const Unit unit : mine) {
        if (sent_[at(unit)] < 0 && !closed()) return waits = true, "";
        if (sent_[at(unit)] < rung) continue;
        const auto known = score(unit, rung);
        if (!known && !stopped_[at(unit)]) return waits = true, "";
        const bool gone = stopped_[at(unit)] && sent_[at(unit)] == rung;
        order.emplace_back(gone || !known ? -kWorst : -*known, unit);
      }
      std::sort(order.begin(), order.end());
      const auto places = std::max<std::int64_t>(1, static_cast<std::int64_t>(order.size()) * keep_of / keep_in);
      std::vector<Unit> next, losers;
      for (std::size_t i = 0; i < order.size(); ++i) {
        const Unit unit = order[i].second;
        if (!std::isfinite(order[i].first) || sent_[at(unit)] != rung || stopped_[at(unit)]) continue;
        if (static_cast<std::int64_t>(i) < places) {
          next.push_back(unit);
        } else if (!settled_[at(unit)] && !by_seeds()) {
          losers.push_back(unit);
        }
      }
      std::sort(losers.begin(), losers.end());
      Lacks why{};
      if (const std::string out = sent_on(next, rung + 1, losers, why); !out.empty()) return out;
      if (why == Lacks::kPlace) return waits = true, "";
    }
    return "";
  }

  std::string climb() const {
    const auto top = static_cast<std::int64_t>(setup_.search.advance.rungs.size()) - 1;
    for (std::int64_t rung = top - 1; rung >= 0; --rung) {
      for (std::int64_t group = 0; group < groups(); ++group) {
        std::vector<std::pair<double, Unit>> order;
        for (const Unit unit : of_group(group)) {
          if (sent_[at(unit)] >= rung && score(unit, rung)) order.emplace_back(-*score(unit, rung), unit);
        }
        std::sort(order.begin(), order.end());
        order.resize(order.size() / at(setup_.search.advance.eta));
        for (const auto& [negated, unit] : order) {
          if (sent_[at(unit)] != rung || !parked(unit)) continue;
          Lacks why{};
          return sent_on({unit}, rung + 1, {}, why);
        }
      }
    }
    return "";
  }

  std::string arrive() const {
    for (std::int64_t group = 0; group < groups(); ++group) {
      for (std::int64_t rung = 0; at(rung) + 1 < setup_.search.advance.rungs.size(); ++rung) {
        std::vector<std::pair<int, Unit>> order;
        for (const Unit unit : of_group(group)) {
          if (sent_[at(unit)] >= rung && score(unit, rung)) order.emplace_back(came(unit, rung), unit);
        }
        std::sort(order.begin(), order.end());
        for (std::size_t n = 0; n < order.size(); ++n) {
          const Unit unit = order[n].second;
          if (sent_[at(unit)] != rung || !parked(unit)) continue;
          std::size_t better = 0;
          for (std::size_t i = 0; i < n; ++i) better += *score(order[i].second, rung) >= *score(unit, rung) ? 1 : 0;
          if (better >= std::max<std::size_t>(1, (n + 1) / at(setup_.search.advance.eta)))
            return "stop " + listed({unit});
          if (affordable({unit}, rung + 1))
            return "advance to " + std::to_string(rung + 1) + " " + listed({unit}) + " settled []";
        }
      }
    }
    return "";
  }

  // Kim and Nelson, or sequential halving; the live units, and how many seeds they were judged by.
  std::pair<std::vector<Unit>, std::int64_t> left(const std::vector<Unit>& mine, bool& decided) const {
    const RaceTerms& race = setup_.search.advance.race;
    const auto value = [&](Unit unit, std::int64_t seed) -> std::optional<double> {
      if (at(seed) >= seeds(unit, sent_[at(unit)])) return std::nullopt;
      const auto found = values_.find({setup_.units[at(unit)].trials[at(seed)], 0});
      if (found == values_.end()) return std::nullopt;
      const double sign = setup_.maximize ? 1 : -1;
      return found->second && std::isfinite(*found->second) ? sign * *found->second : std::nan("");
    };
    std::vector<Unit> live = mine;
    decided = false;
    const auto k = static_cast<double>(mine.size());
    const auto n0 = race.terms.first;
    const std::int64_t end = mine.size() == 1 ? n0 : rungs(mine[0]).back();
    std::int64_t judged = 0;
    for (std::int64_t r = 1; r <= end; ++r) {
      for (const Unit unit : live) {
        for (std::int64_t seed = 0; seed < r; ++seed) {
          if (!value(unit, seed)) return {live, judged};
        }
      }
      const std::vector<std::int64_t> rounds = rungs(mine[0]);
      const bool by_rounds = race.rule == RaceRule::kHalving || mine.size() == 1;
      if (by_rounds && std::find(rounds.begin(), rounds.end(), r) == rounds.end()) continue;
      std::erase_if(live, [&](Unit unit) {
        for (std::int64_t seed = 0; seed < r; ++seed) {
          if (std::isnan(*value(unit, seed))) return true;
        }
        return false;
      });
      judged = r;
      const auto sum = [&](Unit unit) {
        double out = 0;
        for (std::int64_t seed = 0; seed < r; ++seed) out += *value(unit, seed);
        return out;
      };
      // Rounds that bring no new seeds, where there are no more, halve by those there are.
      const auto halvings = by_rounds ? std::max<std::ptrdiff_t>(1, std::count(rounds.begin(), rounds.end(), r)) : 0;
      for (std::ptrdiff_t each = 0; each < halvings; ++each) {
        std::sort(live.begin(), live.end(), [&](Unit a, Unit b) { return sum(a) != sum(b) ? sum(a) > sum(b) : a < b; });
        live.resize(live.size() - live.size() / 2);
        std::sort(live.begin(), live.end());
        if (live.size() <= 1) return decided = true, std::pair(live, judged);
      }
      if (by_rounds) continue;
      if (r < n0) continue;
      const double eta = (std::pow(2 * race.terms.alpha / (k - 1), -2.0 / static_cast<double>(n0 - 1)) - 1) / 2;
      const auto h2s2 = [&](Unit a, Unit b) {
        double mean = 0, out = 0;
        for (std::int64_t seed = 0; seed < n0; ++seed)
          mean += (*value(a, seed) - *value(b, seed)) / static_cast<double>(n0);
        for (std::int64_t seed = 0; seed < n0; ++seed) out += std::pow(*value(a, seed) - *value(b, seed) - mean, 2);
        return 2 * eta * static_cast<double>(n0 - 1) * out / static_cast<double>(n0 - 1);
      };
      const double delta = race.terms.delta;
      std::vector<Unit> stay;
      for (const Unit a : live) {
        bool out = false;
        for (const Unit b : live) {
          const double bound = std::max(0.0, delta / 2 * (h2s2(a, b) / delta / delta - static_cast<double>(r)));
          out = out || (a != b && sum(b) - sum(a) > bound);
        }
        if (!out) stay.push_back(a);
      }
      live = stay;
      bool beyond = true;
      for (const Unit a : live) {
        for (const Unit b : live) beyond = beyond && (a == b || static_cast<double>(r) > h2s2(a, b) / delta / delta);
      }
      if (live.empty()) return decided = true, std::pair(live, judged);
      if (live.size() > 1 && !beyond) continue;
      Unit best = live[0];
      for (const Unit unit : live) best = sum(unit) > sum(best) ? unit : best;
      return decided = true, std::pair(std::vector<Unit>{best}, judged);
    }
    return {live, judged};
  }

  std::string race(bool limited) const {
    if (limited && !closed()) return "";
    for (std::int64_t group = 0; group < groups(); ++group) {
      std::vector<Unit> mine;
      bool begun = true;
      for (const Unit unit : of_group(group)) {
        begun = begun && sent_[at(unit)] >= 0;
        if (sent_[at(unit)] >= 0) mine.push_back(unit);
      }
      if ((!begun && !closed()) || mine.empty()) continue;
      bool decided = false;
      const auto [live, judged] = left(mine, decided);
      std::vector<Unit> losers;
      std::map<std::int64_t, std::vector<Unit>> next;  // by rung
      bool waits = false;
      for (const Unit unit : mine) {
        const bool lives = std::find(live.begin(), live.end(), unit) != live.end();
        const std::int64_t rung = sent_[at(unit)];
        if (!lives && parked(unit)) losers.push_back(unit);
        if (!lives || decided) continue;
        waits = waits || running(unit);
        if (rungs(unit)[at(rung)] <= judged && !last(unit, rung)) next[rung].push_back(unit);
      }
      Lacks why = Lacks::kNothing;
      const std::int64_t to = next.empty() ? 0 : next.begin()->first + 1;
      const std::string out = sent_on(next.empty() ? losers : next.begin()->second, to, losers, why);
      if (next.empty() && !losers.empty()) return "advance settled " + listed(losers);
      if (!next.empty() && !out.empty()) return out;
      if (limited && (waits || (!next.empty() && why == Lacks::kPlace))) return "";
    }
    return "";
  }

  // ---- stopping rules ----
  std::vector<double> curve(Unit unit) const {  // by validation, as far as every trial has it; gaps are left out
    std::vector<double> out;
    for (std::int64_t epoch = 1; epoch <= kEpochs; ++epoch) {
      double sum = 0;
      bool all = true;
      for (const std::int64_t trial : setup_.units[at(unit)].trials) {
        const auto found =
            values_.find({trial, static_cast<std::int64_t>(static_cast<double>(epoch) * kStepsPerEpoch)});
        all = all && found != values_.end() && found->second;
        if (all) sum += *found->second;
      }
      if (!all) return out;
      out.push_back((setup_.maximize ? 1 : -1) * sum / static_cast<double>(setup_.units[at(unit)].trials.size()));
    }
    return out;
  }
  bool stops(const StopRule& rule, Unit unit) const {
    const std::vector<double> mine = curve(unit);
    if (mine.empty()) return false;
    if (const auto* one = std::get_if<ThresholdRule>(&rule.rule)) {
      if (mine.size() < at(one->at)) return false;
      const double value = (setup_.maximize ? 1 : -1) * mine[at(one->at) - 1];
      return std::isnan(value) || (one->above && value > *one->above) || (one->below && value < *one->below);
    }
    const auto best = [&](std::size_t from, std::size_t to) {
      double out = kWorst;
      for (std::size_t i = from; i < to; ++i) out = std::isnan(mine[i]) ? out : std::max(out, mine[i]);
      return out;
    };
    if (const auto* one = std::get_if<PatienceRule>(&rule.rule)) {
      for (std::size_t n = at(one->validations) + 1; n <= mine.size(); ++n) {
        const std::size_t split = n - at(one->validations);
        if (!(best(split, n) > best(0, split) + one->least)) return true;
      }
      return false;
    }
    const auto& median = std::get<MedianRule>(rule.rule);
    std::vector<double> others;
    std::int64_t finished = 0;
    for (const Unit other : of_group(setup_.units[at(unit)].group)) {
      const std::int64_t rung = sent_[at(other)];
      if (other == unit || rung < 0 || stopped_[at(other)] || !last(other, rung)) continue;
      const auto result = score(other, rung);
      if (!result || !std::isfinite(*result)) continue;
      ++finished;
      const std::vector<double> theirs = curve(other);
      if (theirs.size() >= mine.size() && !std::isnan(theirs[mine.size() - 1]))
        others.push_back(theirs[mine.size() - 1]);
    }
    if (static_cast<std::int64_t>(mine.size()) < median.from || finished < median.after || others.empty()) return false;
    std::sort(others.begin(), others.end());
    const double place = median.percentile / 100 * static_cast<double>(others.size() - 1);
    const auto low = static_cast<std::size_t>(std::floor(place)), high = std::min(low + 1, others.size() - 1);
    return best(0, mine.size()) < others[low] + (place - std::floor(place)) * (others[high] - others[low]);
  }
  Unit stopped() const {
    for (const Unit unit : grown_) {
      if (!running(unit) && !parked(unit)) continue;
      for (const StopRule& rule : setup_.search.stops) {
        if (stops(rule, unit)) return unit;
      }
    }
    return -1;
  }
};

}  // namespace locus::search_tests
