// What a specification would run and cost, as text.
#include "cli/render/plan.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "cli/render/numbers.h"
#include "cli/render/reports.h"
#include "cli/render/text_table.h"

namespace locus {
namespace {

// "0.8–4.2 M": the unit once where both have it.
std::string range(const v1::PlanRange& of, const std::function<std::string(std::int64_t)>& show) {
  const std::string least = show(of.least()), most = show(of.most());
  if (least == most) return most;
  const std::size_t a = least.find(' '), b = most.find(' ');
  const bool same_unit = a != std::string::npos && b != std::string::npos && least.substr(a) == most.substr(b);
  return (same_unit ? least.substr(0, a) : least) + "\u2013" + most;
}

std::string history_text(const v1::PlanHistory& history) {
  const std::string runs =
      (history.stages() > 1 && history.runs() > 1 ? "up to " : "") + show_counted(history.runs(), "run");
  const bool same = history.basis() == "same-setting";
  const std::string what = same ? " of the same setting" : " of other settings of this size";
  return history.kind() + ": " + show_counted(history.stages(), "stage") + " by " + runs + what + " on " +
         history.device();
}

std::string time_text(const v1::Plan& plan) {
  if (plan.stages_to_run() + plan.stages_running() == 0) return "";
  if (!plan.has_compute_seconds()) return "time: not known, no stage of this size has run here\n";
  std::string out = "time: about " + show_duration(plan.compute_seconds()) + " of computing";
  if (plan.has_wall_seconds()) {
    out += ", " + show_duration(plan.wall_seconds()) + " on the " +
           (plan.free_slots() == 1 ? "slot that is" : show_count(plan.free_slots()) + " slots that are") + " free now";
  }
  out += "\n";
  for (const v1::PlanHistory& history : plan.history()) out += "  " + history_text(history) + "\n";
  if (plan.stages_without_history() > 0)
    out += "  " + show_counted(plan.stages_without_history(), "stage") + " without history " +
           (plan.stages_without_history() == 1 ? "is" : "are") + " not counted\n";
  return out;
}

using Show = std::function<std::string(const v1::PlanCell&)>;
struct CostColumn {
  std::string title;
  Show show;
};

// What differs between the cells; what they agree in stands below the table, once.
std::vector<CostColumn> differing(const v1::Plan& plan) {
  std::vector<CostColumn> all = {
      {"parameters", [](const v1::PlanCell& c) { return c.has_parameters() ? show_count(c.parameters()) : ""; }},
      {"its priors'",
       [](const v1::PlanCell& c) { return c.has_prior_parameters() ? show_count(c.prior_parameters()) : ""; }},
      {"operations", [](const v1::PlanCell& c) { return c.has_flops() ? show_short(c.flops()) : ""; }},
      {"memory", [](const v1::PlanCell& c) { return c.has_memory_bytes() ? show_bytes(c.memory_bytes()) : ""; }},
      {"time", [](const v1::PlanCell& c) {
         if (c.stages_to_run() == 0 || !c.has_compute_seconds()) return std::string();
         return show_duration(c.compute_seconds()) + (c.stages_without_history() > 0 ? " +" : "");
       }}};
  std::erase_if(all, [&](const CostColumn& column) {
    std::set<std::string> values;
    for (const v1::PlanCell& cell : plan.cell_list()) values.insert(column.show(cell));
    return values.size() < 2;
  });
  return all;
}

std::string cells_text(const v1::Plan& plan) {
  const std::vector<CostColumn> costs = differing(plan);
  std::vector<Column> columns = {
      {"cell"}, {"trials", Align::kRight}, {"stages done", Align::kRight}, {"to run", Align::kRight}};
  for (const CostColumn& cost : costs) columns.push_back({cost.title, Align::kRight});
  std::vector<std::vector<std::string>> rows;
  for (const v1::PlanCell& cell : plan.cell_list()) {
    rows.push_back(
        {cell.label(), show_count(cell.trials()), show_count(cell.stages_done()), show_count(cell.stages_to_run())});
    for (const CostColumn& cost : costs) rows.back().push_back(cost.show(cell));
  }
  std::string out = render_text_table(columns, rows);
  if (plan.cell_list_size() < plan.cells())
    out += "and " + show_count(plan.cells() - plan.cell_list_size()) + " more\n";
  return out;
}

std::string kinds_text(const v1::Plan& plan) {
  std::vector<std::vector<std::string>> rows;
  for (const v1::PlanKind& kind : plan.kinds()) {
    rows.push_back({kind.kind(), show_count(kind.total()), show_count(kind.done()), show_count(kind.to_run()),
                    kind.has_compute_seconds() ? show_duration(kind.compute_seconds()) : ""});
  }
  if (rows.empty()) return "";
  return "\n" + render_text_table({{"stage"},
                                   {"total", Align::kRight},
                                   {"done", Align::kRight},
                                   {"to run", Align::kRight},
                                   {"computing", Align::kRight}},
                                  rows);
}

// Priors that no cell counts.
std::string uncounted_text(const v1::Plan& plan) {
  std::set<std::string> priors;
  for (const v1::PlanCell& cell : plan.cell_list())
    priors.insert(cell.uncounted_priors().begin(), cell.uncounted_priors().end());
  std::string out;
  for (const std::string& prior : priors) out += (out.empty() ? ", without those of " : ", ") + printable(prior);
  return out;
}

std::string model_text(const v1::Plan& plan) {
  if (!plan.has_parameters()) return "";
  std::string out = "parameters: " + range(plan.parameters(), show_short);
  if (plan.has_prior_parameters()) out += ", of these the priors' own " + range(plan.prior_parameters(), show_short);
  out += uncounted_text(plan) + "\n";
  if (plan.has_flops())
    out += "operations: " + range(plan.flops(), show_short) + " an image, a multiply-add two of them\n";
  if (plan.has_memory_bytes()) out += "memory: about " + range(plan.memory_bytes(), show_bytes) + " a training\n";
  return out;
}

std::string from_to(const std::string& least, const std::string& most) {
  return least == most ? most : least + "\u2013" + most;
}

std::string epochs_text(double epochs) {
  return epochs == std::floor(epochs) ? show_count(std::llround(epochs)) : show_fixed(epochs, 1);
}

std::string proposals_text(const v1::PlanSearch& search) {
  if (search.propose() == "external")
    return "search: proposals of a client" +
           (search.proposals() > 0 ? ", " + show_count(search.proposals()) + " at most" : std::string());
  std::string out = "search: " + search.propose() + ", " + show_counted(search.proposals(), "proposal");
  if (search.groups() < 2) return out;
  return out + (search.shared() ? ", the same for all " : ", drawn for each of ") + show_count(search.groups()) +
         " groups";
}

std::string rungs_text(const v1::PlanSearch& search) {
  std::vector<std::vector<std::string>> rows;
  for (int i = 0; i < search.brackets_size(); ++i) {
    for (const v1::PlanRung& rung : search.brackets(i).rungs()) {
      rows.push_back({search.brackets_size() > 1 ? std::to_string(i + 1) : "", show_count(rung.rung()),
                      from_to(show_count(rung.least()), show_count(rung.most()))});
    }
  }
  return render_text_table(
      {{"bracket", Align::kRight}, {search.resource(), Align::kRight}, {search.unit() + "s", Align::kRight}}, rows);
}

// Rungs and work, where rules decide over them.
std::string search_text(const v1::PlanSearch& search) {
  std::string out = proposals_text(search);
  if (!search.decides()) return out + ", every one to its end\n";
  if (search.units() == 0) return out + "\n";
  if (search.advance() != "none")
    out += ", " + search.advance() + " over " + show_counted(search.units(), search.unit());
  out += "\n";
  if (search.advance() != "none") out += rungs_text(search);
  out += "work: " + from_to(show_count(search.least_trainings()), show_count(search.most_trainings())) +
         " trainings, " + from_to(epochs_text(search.least_epochs()), epochs_text(search.most_epochs())) +
         " epochs; all other counts are of cells that are trained to their end\n";
  if (search.parked() == 0) return out;
  out += "parked: at most " + show_counted(search.parked(), "checkpoint");
  out += search.has_parked_bytes() ? ", about " + show_bytes(search.parked_bytes()) : ", of unknown size";
  return out + "\n";
}

template <class Words>
std::string listed(const Words& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + printable(word);
  return out;
}

std::string phase_text(const v1::PlanPhase& phase) {
  std::string out = "\nphase " + printable(phase.name()) + ": " + show_counted(phase.cells(), "cell") + ", " +
                    show_counted(phase.trials(), "trial");
  if (phase.deferred()) {
    out += ", which wait for " + listed(phase.uses());
  } else {
    out += ", " + show_counted(phase.stages_to_run(), "stage") + " to run";
    if (phase.uses_size() > 0) out += ", with " + listed(phase.uses());
  }
  out += "\n";
  if (phase.has_search()) out += search_text(phase.search());
  if (phase.groups() > 0)
    out += "choice: " + listed(phase.chooses()) + ", one of " + show_count(phase.candidates()) + " for each of " +
           show_counted(phase.groups(), "group") + "\n";
  return out;
}

std::string decided_text(const v1::Plan& plan) {
  std::string out = plan.has_search() ? "\n" + search_text(plan.search()) : "";
  for (const v1::PlanPhase& phase : plan.phases()) out += phase_text(phase);
  return out;
}

std::string deferred_text(const v1::Plan& plan) {
  if (plan.trials_deferred() == 0) return "";
  return "\n" + show_counted(plan.trials_deferred(), "trial") + (plan.trials_deferred() == 1 ? " waits" : " wait") +
         " for a choice; what they will run is not counted above";
}

}  // namespace

std::string render_plan(const v1::Plan& plan) {
  std::string out = printable(plan.name()) + ": " + show_counted(plan.cells(), "cell") + ", " +
                    show_counted(plan.trials(), "trial") + ", " + show_counted(plan.stages_total(), "stage") + "\n\n";
  out += cells_text(plan) + kinds_text(plan) + decided_text(plan);
  out += "\n" + model_text(plan) + time_text(plan);
  out += show_counted(plan.stages_done(), "stage") + " done already, " +
         (plan.stages_running() > 0 ? show_count(plan.stages_running()) + " running, " : "") +
         show_count(plan.stages_to_run()) + " to run" + deferred_text(plan);
  if (plan.exists()) {
    out += "\nan experiment of this name exists: " + show_counted(plan.trials_added(), "trial") + " would be added, " +
           show_count(plan.trials_removed()) + " removed, " + show_count(plan.trials_changed()) + " changed";
    if (plan.trials_removed() + plan.trials_changed() > 0) out += " (submit --replace allows that)";
  }
  out += "\n";
  for (const std::string& warning : plan.warnings()) out += "warning: " + printable(warning) + "\n";
  return out;
}

std::string render_cost(const v1::Plan& plan) {
  std::string out;
  if (plan.has_parameters()) out += range(plan.parameters(), show_short) + " parameters";
  if (plan.has_memory_bytes())
    out += (out.empty() ? "" : ", ") + std::string("about ") + range(plan.memory_bytes(), show_bytes) + " a training";
  if (plan.has_compute_seconds()) {
    out += (out.empty() ? "" : ", ") + std::string("about ") + show_duration(plan.compute_seconds()) + " of computing";
    if (plan.stages_without_history() > 0)
      out += " and " + show_counted(plan.stages_without_history(), "stage") + " without history";
  }
  return out.empty() ? out : "costs:     " + out + "\n";
}

}  // namespace locus
