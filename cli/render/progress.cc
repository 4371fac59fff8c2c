// Progress lines and bars.
#include "cli/render/progress.h"

#include <algorithm>

#include "cli/render/numbers.h"
#include "cli/render/text_table.h"

namespace locus {
namespace {

constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};

std::string paint(const std::string& text, const char* code, bool color) {
  return color ? "\033[" + std::string(code) + "m" + text + "\033[0m" : text;
}

std::string bar(double done, int width) {
  const int eighths = static_cast<int>(std::clamp(done, 0.0, 1.0) * width * 8);
  std::string out;
  for (int i = 0; i < eighths / 8; ++i) out += "█";
  out += kEighths[eighths % 8];
  const int used = eighths / 8 + (eighths % 8 > 0 ? 1 : 0);
  for (int i = used; i < width; ++i) out += "░";
  return out;
}

std::string cut(const std::string& text, std::size_t width) {
  if (display_width(text) <= width) return text + std::string(width - display_width(text), ' ');
  std::string out;
  std::size_t columns = 0;
  for (const char c : text) {
    if ((c & 0xc0) != 0x80 && ++columns >= width) break;
    out += c;
  }
  return out + "…";
}

int stages_in(const v1::Experiment& experiment, const char* state) {
  const auto found = experiment.stages().find(state);
  return found == experiment.stages().end() ? 0 : found->second;
}

// "2 failed, 1 held": what people must know beside the counts of done and running.
std::string troubles(const v1::Experiment& experiment) {
  std::string out;
  for (const char* state : {"failed", "held", "cancelled"}) {
    const int count = stages_in(experiment, state);
    if (count > 0) out += (out.empty() ? "" : ", ") + std::to_string(count) + " " + state;
  }
  return out;
}

std::string remaining(const v1::Experiment& experiment) {
  // An experiment that was extended has rested in between, perhaps for days.
  const std::string since = experiment.revision() > 1 ? " since it was first submitted" : "";
  if (is_over(experiment)) return show_duration(experiment.elapsed_seconds()) + (since.empty() ? " in all" : since);
  const std::string elapsed = show_duration(experiment.elapsed_seconds()) + (since.empty() ? " so far" : since);
  return experiment.eta_seconds() < 0
             ? elapsed
             : elapsed + ", about " + show_duration(static_cast<double>(experiment.eta_seconds())) + " left";
}

std::string counts(const v1::Experiment& experiment) {
  std::string out = std::to_string(experiment.trials_done()) + "/" + std::to_string(experiment.trials()) + " trials, ";
  if (experiment.trials_waiting() > 0) out += std::to_string(experiment.trials_waiting()) + " waiting, ";
  if (experiment.trials_parked() > 0) out += std::to_string(experiment.trials_parked()) + " parked, ";
  return out + std::to_string(stages_in(experiment, "succeeded")) + "/" + std::to_string(experiment.stages_total()) +
         " stages";
}

const char* color_of(const std::string& state) {
  if (state == "completed") return "32";
  if (state == "failed" || state == "cancelled") return "31";
  return state == "paused" ? "33" : "36";
}

}  // namespace

bool is_over(const v1::Experiment& experiment) {
  return experiment.state() == "completed" || experiment.state() == "failed" || experiment.state() == "cancelled";
}

std::vector<std::string> render_progress(const v1::Experiment& experiment, const ProgressStyle& style) {
  const int total = std::max(1, experiment.stages_total());
  double done = stages_in(experiment, "succeeded") + stages_in(experiment, "parked");
  for (const v1::RunningStage& running : experiment.running()) {
    if (running.steps() > 0)
      done += std::clamp(static_cast<double>(running.step()) / static_cast<double>(running.steps()), 0.0, 1.0);
  }
  const int bar_width = std::clamp(style.width / 4, 10, 30);
  const std::string trouble = troubles(experiment);
  std::string head = counts(experiment) + "  " + remaining(experiment);
  if (!trouble.empty()) head += "  " + trouble;
  std::vector<std::string> out;
  out.push_back(paint(printable(experiment.name()), "1", style.color) + "  " +
                paint(experiment.state(), color_of(experiment.state()), style.color));
  out.push_back(paint(bar(done / total, bar_width), color_of(experiment.state()), style.color) + " " +
                cut(head, static_cast<std::size_t>(std::max(10, style.width - bar_width - 2))));
  int shown = 0;
  for (const v1::RunningStage& running : experiment.running()) {
    if (shown++ == style.most_running) break;
    const double share =
        running.steps() > 0 ? static_cast<double>(running.step()) / static_cast<double>(running.steps()) : 0;
    const std::string percent = std::to_string(static_cast<int>(std::clamp(share, 0.0, 1.0) * 100)) + "%";
    const std::string title = printable(running.cell_label()) + ", seed " + std::to_string(running.seed()) + ", " +
                              (running.phase().empty() ? running.role() : running.phase()) + "  @" +
                              printable(running.worker());
    out.push_back(bar(share, bar_width) + " " + std::string(4 - std::min<std::size_t>(4, percent.size()), ' ') +
                  percent + "  " + cut(title, static_cast<std::size_t>(std::max(10, style.width - bar_width - 8))));
  }
  if (experiment.running_size() > style.most_running) {
    out.push_back("and " + std::to_string(experiment.running_size() - style.most_running) + " more running");
  }
  for (std::string& line : out) line.erase(line.find_last_not_of(' ') + 1);
  return out;
}

std::string render_progress_line(const v1::Experiment& experiment) {
  std::string out = printable(experiment.name()) + " " + experiment.state() + ": " + counts(experiment) + ", " +
                    std::to_string(experiment.running_size()) + " running";
  if (const std::string trouble = troubles(experiment); !trouble.empty()) out += ", " + trouble;
  return out + ", " + remaining(experiment);
}

}  // namespace locus
