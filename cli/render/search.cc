// Where a search stands, as text.
#include "cli/render/search.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <vector>

#include "cli/render/numbers.h"
#include "core/base/json.h"

namespace locus {
namespace {

// Values of metrics whose unit is not told: enough digits for losses and for per cent.
std::string score_text(double value) { return show_fixed(value, std::abs(value) < 10 ? 4 : 2); }

// "train.lr 0.001, train.batch 64"; what is no object stays as it is.
std::string values_text(const std::string& json) {
  const Json values = Json::parse(json.empty() ? "{}" : json, nullptr, /*allow_exceptions=*/false);
  if (!values.is_object()) return printable(json);
  std::string out;
  for (const auto& [path, value] : values.items())
    out += (out.empty() ? "" : ", ") + path + " " + (value.is_string() ? value.get<std::string>() : value.dump());
  return out;
}

std::string amount_text(double amount) {
  return amount == std::floor(amount) ? show_count(std::llround(amount)) : show_fixed(amount, 2);
}

std::string dimension_text(const v1::SearchDimension& dimension) {
  std::string out = dimension.path() + " ";
  if (dimension.kind() != "choice") {
    const Json low = dimension.low(), high = dimension.high();
    return out + dimension.kind() + " " + low.dump() + " to " + high.dump();
  }
  std::string choices;
  for (const std::string& choice : dimension.choices()) choices += (choices.empty() ? "" : " | ") + choice;
  return out + choices;
}

std::string terms_text(const v1::SearchPhase& phase) {
  std::string out = phase.propose();
  if (phase.proposals() > 0) out += ", " + show_counted(phase.proposals(), "proposal");
  if (phase.groups_size() > 1)
    out +=
        (phase.shared() ? ", the same for all " : ", drawn for each of ") + show_count(phase.groups_size()) + " groups";
  if (phase.advance() != "none" && !phase.advance().empty())
    out += "; " + phase.advance() + " over " + phase.resource() + ", " + phase.unit() + " by " + phase.unit();
  out += "; judged by " + phase.metric() + " on " + phase.split() +
         (phase.direction() == "min" ? ", smaller is better\n" : ", larger is better\n");
  for (const v1::SearchDimension& dimension : phase.space()) out += "  " + printable(dimension_text(dimension)) + "\n";
  return out;
}

std::string ladder_text(const v1::SearchPhase& phase) {
  std::vector<std::vector<std::string>> rows;
  for (int i = 0; i < phase.brackets_size(); ++i) {
    for (const v1::SearchRung& rung : phase.brackets(i).rungs()) {
      rows.push_back({phase.brackets_size() > 1 ? std::to_string(i + 1) : "", show_count(rung.rung()),
                      show_count(rung.sent()), show_count(rung.there()), show_count(rung.advanced()),
                      show_count(rung.stopped()), show_count(rung.failed())});
    }
  }
  if (rows.empty()) return "";
  return "\n" + render_text_table({{"bracket", Align::kRight},
                                   {phase.resource(), Align::kRight},
                                   {"sent", Align::kRight},
                                   {"there", Align::kRight},
                                   {"went on", Align::kRight},
                                   {"stopped", Align::kRight},
                                   {"failed", Align::kRight}},
                                  rows);
}

std::string states_text(const v1::SearchPhase& phase) {
  std::map<std::string, std::int64_t> counts;
  for (const v1::SearchUnit& unit : phase.units()) ++counts[unit.state()];
  std::string out;
  for (const char* state : {"waiting", "running", "parked", "stopped", "failed", "finished"}) {
    if (counts.contains(state)) out += (out.empty() ? "" : ", ") + show_count(counts[state]) + " " + state;
  }
  return out.empty() ? out : "\nunits: " + out + "\n";
}

std::string budget_text(const v1::SearchPhase& phase) {
  std::string out;
  for (const v1::SearchBudgetLine& line : phase.budget())
    out += "  " + printable(line.name()) + ": " + amount_text(line.spent()) + " of " + amount_text(line.limit()) + "\n";
  return out.empty() ? out : "budget:\n" + out;
}

std::string choices_text(const v1::SearchPhase& phase) {
  std::vector<std::vector<std::string>> rows;
  for (const v1::SearchChoice& choice : phase.choices()) {
    const bool any = !choice.values_json().empty() && choice.values_json() != "{}";
    rows.push_back(
        {choice.group(), any ? values_text(choice.values_json()) : "nobody was left",
         choice.has_value() ? score_text(choice.value()) : "", choice.has_margin() ? score_text(choice.margin()) : "",
         choice.has_image_error() ? score_text(choice.image_error()) : "",
         choice.seeds() > 0 ? show_count(choice.agreed()) + " of " + show_count(choice.seeds()) : "", choice.note()});
  }
  if (rows.empty()) return "";
  return "\n" + render_text_table({{"group"},
                                   {"chosen"},
                                   {"value", Align::kRight},
                                   {"ahead by", Align::kRight},
                                   {"image error", Align::kRight},
                                   {"seeds agree", Align::kRight},
                                   {"note"}},
                                  rows);
}

std::string rung_scores(const v1::SearchUnit& unit) {
  std::string out;
  for (const v1::SearchScore& score : unit.scores()) {
    out += (out.empty() ? "" : "  ") + std::to_string(score.rung()) + ": " +
           (score.has_value() ? score_text(score.value()) : "failed");
  }
  return out;
}

std::string units_text(const v1::SearchPhase& phase, TextStyle style) {
  std::vector<std::vector<std::string>> rows;
  for (const v1::SearchUnit& unit : phase.units()) {
    std::string trials;
    for (const std::int64_t trial : unit.trials()) trials += (trials.empty() ? "" : ",") + std::to_string(trial);
    rows.push_back({std::to_string(unit.proposal()), unit.label(), values_text(unit.values_json()), trials,
                    unit.state(), rung_scores(unit), unit.reason()});
  }
  if (rows.empty()) return "";
  return "\n" + render_text_table({{"proposal", Align::kRight},
                                   {"cell"},
                                   {"values"},
                                   {"trials"},
                                   kStateColumn,
                                   {phase.metric() + " by " + phase.resource()},
                                   {"reason"}},
                                  rows, style);
}

std::string phase_text(const v1::SearchPhase& phase, bool units, TextStyle style) {
  std::string out = "\n";
  if (!phase.name().empty())
    out += "phase " + printable(phase.name()) + "  " + paint_state(phase.state(), phase.state(), style) + "\n";
  if (!phase.reason().empty()) out += printable(phase.reason()) + "\n";
  if (!phase.metric().empty()) out += terms_text(phase);
  out += ladder_text(phase) + states_text(phase) + budget_text(phase) + choices_text(phase);
  return units ? out + units_text(phase, style) : out;
}

}  // namespace

std::string render_search(const v1::Search& search, bool units, TextStyle style) {
  std::string out = printable(search.experiment()) + "  " + paint_state(search.state(), search.state(), style) + "  " +
                    show_counted(search.decided(), "decision");
  if (search.generation() > 1) out += ", generation " + std::to_string(search.generation());
  out += "\n";
  if (!search.reason().empty()) out += printable(search.reason()) + "\n";
  for (const v1::SearchPhase& phase : search.phases()) out += phase_text(phase, units, style);
  if (search.next_size() > 0) out += "\nnext:\n";
  for (const std::string& sentence : search.next()) out += "  " + printable(sentence) + "\n";
  return out;
}

std::string render_decision(const v1::SearchDecision& decision) {
  const std::time_t seconds = decision.time().seconds();
  std::tm parts{};
  localtime_r(&seconds, &parts);
  char time[32];
  std::strftime(time, sizeof time, "%Y-%m-%d %H:%M:%S", &parts);
  std::string number = std::to_string(decision.number());
  number.insert(0, number.size() < 5 ? 5 - number.size() : 0, ' ');
  std::string kind = decision.kind();
  kind.resize(std::max<std::size_t>(kind.size(), 8), ' ');
  std::string out = number + "  " + time + "  " + kind + "  ";
  if (!decision.phase().empty()) out += decision.phase() + ": ";
  out += decision.text();
  if (!decision.principal().empty()) out += " (" + decision.principal() + ")";
  return printable(out) + "\n";
}

}  // namespace locus
