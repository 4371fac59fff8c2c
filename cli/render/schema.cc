// Writes the specification reference.
#include "cli/render/schema.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/experiment/schema.h"

namespace locus {
namespace {

constexpr char kKeysIntroduction[] =
    R"(# The specification of an experiment, version 1

Written by `tools/docs` from `core/experiment/schema.def` and `engine/catalog.json`: edit those, not this page.

YAML or JSON, at most 1 MiB. `examples/` holds some that run; `locus plan FILE` checks one and says what it would run.
Every mistake is answered at once,
with the field (`matrix.prior[2].violin.curves`) and, from the command line, with file and line.

```yaml
version: 1
name: my-comparison
dataset: fashion-mnist
model: {backbone: vit, dim: 64, depth: 3, heads: 4, patch: 7}
train: {epochs: 3, batch: 32, lr: 3.0e-3}
matrix:
  prior: [none, learned-absolute]
  train.lr: [1.0e-3, 3.0e-3]
replicates: {seed: [0, 1, 2, 3, 4]}
stages: [{evaluate: {resolution: [28, 42]}}]
baseline: {prior: learned-absolute}
metric: {name: top1, reports: test, selects_on: validation}
```
)";

constexpr char kRules[] =
    R"(
## Rules

- **Config paths**: `prior`, `dataset`, `task`, `model.backbone`, `train.recipe`, and any option of a section:
  `model.dim`, `train.lr`. Below `matrix`,
  `baseline` and the like a path is one key: `train.lr: [1.0e-3, 3.0e-3]`.
- **Priors**: an id, `{violin: {curves: [hilbert]}}` with options, or a list of these for a combination, its order
  kept. In a backbone of several stages, `{violin: {stages: [{curves: [hilbert]}, {}, null]}}` says for each what
  differs; null leaves the prior out.
- **Sizes**: where an item has named sizes, as `model: {backbone: vit, size: deit-small}`, `size` gives the options that
  are not written beside it, before a dataset's own defaults. It may be a factor, `model.size: [deit-tiny,
  deit-small]`. A size means its numbers: writing these names the same stages.
- **Labels**: `{value: ..., label: "tiny"}` names a value of a factor; assignments may use the label.
- **Assignments** map factors to values. A value means the equal value of the factor, or the one so labeled, or, for
  a prior without options, every
  value of these ids.
- A value in the matrix wins over the fixed one at the same path; the plan says so.
- At most 100,000 trials, counted before exclusions and before anything is expanded.
- If `metric.reports` names a split that no listed stage measures, an `evaluate` stage with default options is added.
  The primary result is labeled with the
  dataset's own resolution where it is evaluated, otherwise with the first listed.
- An `evaluate` stage with `images` scores a part of its split: the first of one fixed permutation, which depends on the
  ids of dataset and split alone. Its results carry the label `images`, and are reported only where no listed stage
  scores the whole split; the plan says so, and names limits that exceed what they limit.
- **Searches**: `search: {propose: sobol, proposals: 32, space: {train.lr: {log: [1.0e-4, 1.0e-2]}}}` adds 32 settings
  to every combination of the matrix, its *group*: the same for all groups unless `shared: false`, so that every prior
  is tuned with the same budget. Without a space all cells of the matrix are one group. Proposal i follows from
  `seed`, the space and i alone: more of them append, and written out as a matrix they name the same stages. Values
  are rounded to `digits` decimal digits; a proposal with the values of an earlier one shares its cells.
- **Rungs**: with `advance: {rule: halve, rungs: [1, 3, 9]}` the best third of each group goes on at every rung, and
  none before all have reached it, so the plan is exact. `asha` does not wait; the plan gives bounds. `hyperband`
  takes its proposals from its brackets. A race compares cells over the seeds of `replicates.seed`, in their order.
  What is judged is `metric.name` on `metric.selects_on`, of a cell the mean over its seeds; what fails is last.
- Rungs and rules that count epochs need a validation at the end of these epochs: `train.validate_every` is a whole
  number that divides them. They say `train.epochs`, which is one number for all cells.
- **Phases** inherit what stands outside of `phases`, fix values with `set`, add factors with `matrix` and replace
  `replicates`, `search`, `stages` and keys of `metric`. A choice is made for each combination of the factors that are
  not chosen (`per` names fewer), by the mean over seeds, or over seeds and datasets, on `metric.selects_on`; of equal
  ones the first written is taken. Where a later phase uses it the matrix says the same values for those factors. What
  is used takes the place of a fixed value: a phase with the value written in names the same stages.
- **`over_seeds: {top: 3}`** exists to meet published protocols: the best three of five normal values read 0.55
  standard deviations high, and differ more from one another than means of all five.
- What is proposed, who goes on, races, phases, optimizers from outside, and what tuned numbers are worth:
  [searches.md](searches.md).
- YAML scalars follow the core schema of YAML 1.2; a key given twice, several documents and tags are refused; aliases
  count by what they stand for.
)";

std::string schema_cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? "\\|" : c == '\n' ? " " : std::string(1, c);
  return out;
}

std::string code(const std::string& text) { return text.empty() ? "" : "`" + schema_cell(text) + "`"; }

std::string joined(const Json& list) {
  std::string out;
  for (const Json& one : list)
    out += (out.empty() ? "" : ", ") + (one.is_string() ? one.get<std::string>() : one.dump());
  return out;
}

std::string allowed(const Json& option) {
  if (option.contains("choices")) return joined(option["choices"]);
  std::string out;
  const auto bound = [&](const char* key, const char* sign) {
    if (option.contains(key)) out += (out.empty() ? "" : ", ") + (sign + option[key].dump());
  };
  bound("exclusive_minimum", "> ");
  bound("minimum", ">= ");
  bound("maximum", "<= ");
  if (option.value("min_items", 0) > 0) out += (out.empty() ? "" : ", ") + (option["min_items"].dump() + " or more");
  if (option.value("unique", false)) out += out.empty() ? "each once" : ", each once";
  return out;
}

std::string option_row(const Json& option) {
  std::string type = option.value("type", "");
  if (type == "list") type += " of " + option.value("element", "");
  std::string help = option.value("help", "");
  if (const std::string unit = option.value("unit", ""); !unit.empty()) help += " (" + unit + ")";
  const std::string initial = option.contains("default") ? code(option["default"].dump()) : "required";
  return "| `" + option.value("name", "") + "` | " + type + " | " + initial + " | " + schema_cell(allowed(option)) +
         " | " + schema_cell(help) + " |\n";
}

std::string size_table(const Json& item) {
  const Json presets = item.value("presets", Json::object());
  if (presets.empty()) return "";
  std::string out = "\n| size | options |\n|---|---|\n";
  for (const auto& [size, options] : presets.items()) {
    std::string given;
    for (const auto& [name, value] : options.items()) given += (given.empty() ? "" : ", ") + name + ": " + value.dump();
    out += "| `" + size + "` | " + code(given) + " |\n";
  }
  return out;
}

std::string item_section(const Json& item) {
  std::string out = "\n### " + item.value("id", "") + "\n\n" + item.value("summary", "") + ".\n";
  if (const std::string formula = item.value("formula", ""); !formula.empty()) out += "\n    " + formula + "\n";
  std::vector<std::string> facts;
  for (const char* key : {"aliases", "provides", "excludes"}) {
    if (item.contains(key) && !item[key].empty()) facts.push_back(std::string(key) + ": " + joined(item[key]));
  }
  for (const char* key : {"constraints", "requires"}) {
    for (const Json& rule : item.value(key, Json::array()))
      if (const std::string help = rule.value("help", ""); !help.empty()) facts.push_back(help);
  }
  const Json of_item = item.value("facts", Json::object()), defaults = of_item.value("defaults", Json::object());
  for (const auto& [path, value] : defaults.items())
    facts.push_back("`" + path + "` is " + value.dump() + " unless given");
  if (!facts.empty()) out += "\n";
  for (const std::string& fact : facts) out += "- " + fact + "\n";
  return out + option_table(item) + size_table(item);
}

}  // namespace

std::string option_table(const Json& item) {
  const Json options = item.value("options", Json::array());
  if (options.empty()) return "";
  std::string out = "\n| option | type | default | allowed | meaning |\n|---|---|---|---|---|\n";
  for (const Json& option : options) out += option_row(option);
  return out;
}

std::string render_specification_reference(const Json& catalog) {
  std::string out =
      std::string(kKeysIntroduction) + "\n## Keys\n\n| key | value | default | meaning |\n|---|---|---|---|\n";
  for (const SpecificationKey& key : specification_keys())
    out += "| `" + std::string(key.path) + "` | " + key.type + " | " + code(key.initial) + " | " +
           schema_cell(key.help) + " |\n";
  std::vector<std::pair<std::string, std::string>> kinds = {
      {"prior", "Priors"}, {"backbone", "Backbones: options of `model`"}, {"dataset", "Datasets"},
      {"task", "Tasks"},   {"recipe", "Recipes: options of `train`"},     {"stage", "Stages"}};
  for (const Json& section : catalog.value("sections", Json::array())) {
    const std::string key = section.value("key", "");
    out += "| `" + key + "` | item | " + code(section.value("neutral", "")) + " | " +
           schema_cell(section.value("help", "")) + " |\n";
    kinds.emplace_back(section.value("kind", ""), "Items of `" + key + "`");
  }
  out += kRules;
  for (const auto& [kind, title] : kinds) {
    out += "\n## " + title + "\n";
    for (const Json& item : catalog.value("items", Json::array())) {
      if (item.value("kind", "") == kind) out += item_section(item);
    }
  }
  return out;
}

}  // namespace locus
