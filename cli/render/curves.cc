// Curves as CSV (RFC 4180).
#include "cli/render/curves.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

namespace locus {
namespace {

std::string number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

// What a point has beside its value; nothing where the list is shorter.
template <class List, class Show>
std::string at(const List& list, int index, Show show) {
  return index < list.size() ? show(list[index]) : "";
}

template <class Curve>
std::string clock(const Curve& curve, int i) {
  return std::to_string(curve.step(i)) + "," + at(curve.epoch(), i, number) + "," +
         at(curve.images(), i, [](std::int64_t n) { return std::to_string(n); }) + "," + at(curve.seconds(), i, number);
}

}  // namespace

void keep_trial(std::int64_t ordinal, v1::Curves& curves) {
  auto* trials = curves.mutable_trials();
  const auto other = [ordinal](const v1::TrialCurve& curve) { return curve.trial() != ordinal; };
  trials->erase(std::remove_if(trials->begin(), trials->end(), other), trials->end());
}

std::string render_curves_csv(const v1::Curves& curves) {
  std::map<int, std::string> labels;
  for (const v1::CellCurve& cell : curves.cells()) labels[cell.cell()] = quoted(cell.label());
  std::string out = "trial,cell,label,seed,step,epoch,images,seconds," + quoted(curves.metric()) + "\n";
  for (const v1::TrialCurve& curve : curves.trials()) {
    const std::string head = std::to_string(curve.trial()) + "," + std::to_string(curve.cell()) + "," +
                             labels[curve.cell()] + "," + std::to_string(curve.seed()) + ",";
    for (int i = 0; i < curve.step_size(); ++i)
      out += head + clock(curve, i) + "," + at(curve.value(), i, number) + "\n";
  }
  return out;
}

std::string render_mean_curves_csv(const v1::Curves& curves) {
  std::string out = "cell,label,step,epoch,images,seconds,mean,std,n\n";
  for (const v1::CellCurve& curve : curves.cells()) {
    const std::string head = std::to_string(curve.cell()) + "," + quoted(curve.label()) + ",";
    for (int i = 0; i < curve.step_size(); ++i) {
      out += head + clock(curve, i) + "," + at(curve.mean(), i, number) + "," + at(curve.std(), i, number) + "," +
             at(curve.n(), i, [](int n) { return std::to_string(n); }) + "\n";
    }
  }
  return out;
}

bool thinned(const v1::Curves& curves) {
  return std::any_of(curves.trials().begin(), curves.trials().end(),
                     [](const v1::TrialCurve& curve) { return curve.reduced(); });
}

}  // namespace locus
