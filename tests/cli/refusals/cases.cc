// The enumeration.
#include "tests/cli/refusals/cases.h"

#include <fstream>

#include "core/experiment/schema.h"

namespace locus {
namespace {

using Words = std::vector<std::string>;

Mistake change(const std::string& path, const std::string& value) {
  return {{"plan", "-", "--set", path + "=" + value}, right_specification()};
}

// Values in YAML that are not of the type, written so that each shows another slip.
Words wrong_values(const std::string& type) {
  if (type == "text") return {"7", "true", "[a]", "{a: 1}"};
  if (type == "integer") return {"seven", "1.5", "true", "[1]", "{a: 1}", ".nan", "99999999999999999999"};
  if (type == "number") return {"seven", "0", "-1", "true", "[1]", "{a: 1}", ".nan", ".inf"};
  if (type == "item") return {"7", "true", "[]", "{}", "{a: {}, b: {}}", "no-such-item"};
  if (type == "options") return {"7", "vit", "[]", "{no_such_option: 1}"};
  if (type == "prior") return {"7", "true", "{}", "[[none]]", "no-such-prior"};
  if (type == "factors") return {"7", "prior", "[]", "{}", "{prior: none}", "{prior: []}", "{nonsense: [1]}"};
  if (type == "assignment") return {"7", "none", "[]", "{}", "{train.lr: 1.0}"};
  if (type == "mapping") return {"7", "text", "[]", "{no_such_key: 1}"};
  if (type == "list of factors") return {"7", "{}", "[7]", "[{}]", "[{train.lr: [1, 2], train.epochs: [1]}]"};
  if (type == "list of assignments") return {"7", "{}", "[7]", "[{}]", "[{nonsense: 1}]"};
  if (type == "list of overrides") return {"7", "{}", "[7]", "[{}]", "[{where: {prior: none}}]", "[{when: 1}]"};
  if (type == "list of integers") return {"7", "{}", "[]", "[one]", "[1.5]", "[-1]", "[0, 0]", "[true]"};
  if (type == "list of stages")
    return {"7", "{}", "[7]", "[{}]", "[train]", "[{evaluate: {}, train: {}}]", "[no-such-stage]"};
  if (type == "boolean") return {"7", "maybe", "[true]"};
  if (type == "rungs") return {"7", "[]", "[0, 2]", "[2, 1]", "[1, 1.5]", "{no_such_key: 1}", "{eta: 1}"};
  if (type == "list of rules") return {"7", "{}", "[7]", "[{}]", "[{nonsense: 1}]", "[{median: 7}]"};
  if (type == "list of phases") return {"7", "{}", "[]", "[7]", "[{}]", "[{name: Upper}]"};
  if (type == "list of paths") return {"7", "{}", "[7]", "nonsense", "model"};
  return {};
}

// Of one thing at a time: a prior is fixed or a factor.
void fix_prior(Mistake& mistake) {
  mistake.arguments.insert(mistake.arguments.end(), {"--set", "matrix=null", "--set", "baseline=null"});
}

// A key of a rule that knows it, beside what the rule needs.
std::string in_advance(const std::string& key, const std::string& value) {
  const std::string given = key + ": " + value;
  if (key == "rule") return "{" + given + "}";
  if (key == "race") return "{rule: race, " + given + "}";
  const std::string rule = key == "eta" || key == "park" ? "asha" : "halve";
  return "{rule: " + rule + (key == "rungs" ? "" : ", rungs: [1, 2]") + ", " + given + "}";
}

// "overrides[].where" can be set only with what stands around it.
Mistake change_key(const std::string& path, const std::string& value) {
  if (path == "overrides[].where") return change("overrides", "[{where: " + value + ", set: {train.lr: 1.0}}]");
  if (path == "overrides[].set") return change("overrides", "[{where: {prior: none}, set: " + value + "}]");
  const std::string phase = "phases[].";
  if (path == "phases[].set" && value == "{train.lr: 1.0}") return change_key(path, "{train.lr: -1}");  // that is right
  if (path.starts_with(phase))
    return change("phases", "[{name: first, " + path.substr(phase.size()) + ": " + value + "}]");
  const std::string advance = "search.advance.";
  if (path.starts_with(advance)) return change("search.advance", in_advance(path.substr(advance.size()), value));
  Mistake mistake = change(path, value);
  if (path == "prior") fix_prior(mistake);
  return mistake;
}

// Where an option of a catalog item is written.
std::string written(const Json& item, const std::string& option, const std::string& value, std::string& path) {
  const std::string kind = item["kind"], id = item["id"], pair = "{" + id + ": {" + option + ": " + value + "}}";
  if (kind == "prior") return path = "prior", pair;
  if (kind == "dataset" || kind == "task") return path = kind, pair;
  if (kind == "stage") return path = "stages", "[" + pair + "]";
  path = (kind == "backbone" ? "model." : "train.") + option;
  return value;
}

Words wrong_option_values(const Json& option) {
  const std::string type = option["type"];
  Words out;
  if (type == "integer") out = {"1.5", "one", "true", "[1]"};
  if (type == "number") out = {"one", "true", "[1]", ".nan", ".inf"};
  if (type == "string") out = {"7", "[a]", "no-such-choice"};
  if (type == "boolean") out = {"7", "maybe"};
  if (type == "list") out = {"7", "{}", "[{}]", "[no-such-element]"};
  if (option.contains("minimum") && type != "list") out.push_back(Json(option["minimum"].get<double>() - 1).dump());
  if (option.contains("exclusive_minimum")) out.push_back(option["exclusive_minimum"].dump());
  if (option.contains("maximum") && type != "list") out.push_back(Json(option["maximum"].get<double>() + 1).dump());
  if (option.contains("minimum") && type == "list")
    out.push_back("[" + Json(option["minimum"].get<int>() - 1).dump() + "]");
  if (option.value("min_items", 0) > 0) out.push_back("[]");
  if (option.value("unique", false)) {
    const std::string one = option.contains("choices") ? option["choices"][0].get<std::string>() : "7";
    out.push_back("[" + one + ", " + one + "]");
  }
  return out;
}

const Words kHostileNames = {"nothing",
                             "",
                             "../../etc/passwd",
                             "Nothing Here",
                             "a\x01\x1b[2Jb",
                             "<script>alert(1)</script>",
                             "caf\xc3\xa9",
                             "%00",
                             "-",
                             std::string(10'000, 'a')};
const Words kHostileTrials = {
    "nothing/0",   "present/99", "present/-1", "present/x", "present/", "present/0/1", "present/99999999999999999999",
    "../present/0"};

// What a command's required arguments are given so that something else is wrong.
Words filled(const Json& command) {
  Words out;
  for (const Json& argument : command["arguments"]) {
    if (!argument["required"].get<bool>()) continue;
    out.push_back(argument.contains("choices") ? argument["choices"][0].get<std::string>() : "x");
    if (argument["repeatable"].get<bool>()) out.push_back("y");
  }
  return out;
}

Mistake words(const Json& command, const Words& arguments) {
  Words all = {command["name"]};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return {all, ""};
}

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

void wrong_option_usage(const Json& command, const Json& option, std::vector<Mistake>& out) {
  if (option["flag"].get<bool>()) return;
  const Words given = filled(command);
  const std::string name = option["name"], value = option["value"];
  out.push_back(words(command, with(given, {name})));
  if (option.contains("choices")) out.push_back(words(command, with(given, {name, "no-such-choice"})));
  if (value == "COUNT" || value == "SECONDS" || value == "NUMBER" || value == "BYTES") {
    for (const char* bad : {"many", "-1", "1e99"}) out.push_back(words(command, with(given, {name, bad})));
  }
}

}  // namespace

std::string right_specification() {
  return "version: 1\nname: right\ndataset: fashion-mnist\nmodel: {backbone: vit, dim: 64, heads: 4}\n"
         "train: {epochs: 2, lr: 3.0e-3}\nmatrix: {prior: [none, learned-absolute]}\nreplicates: {seed: [0, 1]}\n"
         "baseline: {prior: none}\n";
}

std::vector<Mistake> wrong_keys() {
  std::vector<Mistake> out;
  for (const SpecificationKey& key : specification_keys()) {
    for (const std::string& value : wrong_values(key.type)) {
      const bool right = key.path == std::string("overrides[].set") && value == "{train.lr: 1.0}";
      if (!right) out.push_back(change_key(key.path, value));
    }
  }
  return out;
}

std::vector<Mistake> wrong_options(const Json& catalog) {
  std::vector<Mistake> out;
  for (const Json& item : catalog["items"]) {
    for (const Json& option : item.value("options", Json::array())) {
      for (const std::string& value : wrong_option_values(option)) {
        std::string path;
        const std::string text = written(item, option["name"], value, path);
        Mistake mistake = change(path, text);
        if (path == "prior") fix_prior(mistake);
        out.push_back(std::move(mistake));
      }
    }
    std::string path;
    const std::string text = written(item, "no_such_option", "1", path);
    Mistake unknown = change(path, text);
    if (path == "prior") fix_prior(unknown);
    if (item["id"] != "train") out.push_back(std::move(unknown));
  }
  return out;
}

std::vector<Mistake> wrong_meanings() {
  std::vector<Mistake> out;
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"version", "2"},
      {"version", "\"1\""},
      {"version", "null"},
      {"name", "null"},
      {"name", "\"\""},
      {"name", "\"../../etc/passwd\""},
      {"name", "\"a/b\""},
      {"name", "\"<b>bold</b>\""},
      {"name", "\"a\\u0001\\u001b[2Jb\""},
      {"name", "\"line\\nbreak\""},
      {"name", "Upper"},
      {"name", "-dash"},
      {"name", "dash-"},
      {"name", "1st"},
      {"name", "caf\xc3\xa9"},
      {"name", std::string(64, 'a')},
      {"name", std::string(10'000, 'a')},
      {"priority", "1001"},
      {"priority", "-1001"},
      {"dataset", "fashion-mnits"},
      {"dataset", "null"},
      {"task", "clasification"},
      {"model.backbone", "vti"},
      {"model.backbone", "7"},
      {"train.recipe", "supervise"},
      {"model.heads", "5"},
      {"train.warmup_epochs", "3"},
      {"train.epohcs", "3"},
      {"trian.lr", "1.0"},
      {"matrx.prior", "[none]"},
      {"matrix.prior", "[none, violn]"},
      {"matrix.prior", "[none, none]"},
      {"matrix.prior", "[none, [learned-absolute, learned-absolute]]"},
      {"matrix.prior", "[none, [window-a, window-b]]"},
      {"matrix.prior", "[none, sequence-only]"},
      {"matrix.prior", "[none, []]"},
      {"matrix.prior", "[none, {violin: {curves: [hilbret]}}]"},
      {"matrix.prior", "[none, {value: violin, label: 7}]"},
      {"matrix.train.lr", "[1.0e-3, .nan]"},
      {"matrix.train.lr", "[]"},
      {"matrix.train", "[1]"},
      {"matrix.lr", "[1]"},
      {"matrix.modle.dim", "[64]"},
      {"matrix.model.dim", "[63]"},
      {"replicates.sede", "[0]"},
      {"replicates.seed", "[9223372036854775808]"},
      {"baseline.prior", "violin"},
      {"baseline.train.lr", "1.0"},
      {"exclude", "[{prior: none}, {prior: learned-absolute}]"},
      {"exclude", "[{prior: violin}]"},
      {"zip", "[{prior: [none, violin]}]"},
      {"zip", "[{train.lr: [1.0, 2.0], train.epochs: [1, 2, 3]}]"},
      {"overrides", "[{where: {prior: none}, set: {prior: violin}}]"},
      {"overrides", "[{where: {prior: violin}, set: {train.lr: 1.0}}]"},
      {"overrides", "[{where: {prior: none}, set: {train.lr: -1}}]"},
      {"stages", "[{evaluate: {resolution: [28, 28]}}]"},
      {"stages", "[{evaluate: {resolution: [30]}}]"},
      {"stages", "[{evalute: {}}]"},
      {"metric.name", "top2"},
      {"metric.selects_on", "test"},
      {"metric.selects_on", "nowhere"},
      {"metric.reports", "nowhere"},
      {"metric.direction", "min"},
      {"metric.direction", "up"},
      {"metric.reduce", "median"},
      {"metric.nmae", "top1"},
      {"matrix.seed", "[0, 1]"},
      {"matrix.backbone", "[vit]"},
      {"matrix.sigma", "[0.1]"},
      {"matrix.resolution", "[28]"},
      {"lr", "1.0e-3"},
      {"seeds", "[0]"},
      {"train", "{lr: 0,001}"},
      {"train.lr", "0,001"},
      {"model.patch", "16"},
      {"matrix.model.patch", "[7, 5]"},
  };
  for (const auto& [path, value] : changes) out.push_back(change(path, value));
  out.push_back({{"plan", "-", "--set", "matrix.train.epochs=[1,2]", "--set", "matched=prior", "--set",
                  "exclude=[{prior: none, train.epochs: 1}]"},
                 right_specification()});
  std::string seeds = "[0";
  for (int i = 1; i < 60'000; ++i) seeds += "," + std::to_string(i);
  out.push_back({{"plan", "-"},
                 "version: 1\nname: big\ndataset: fashion-mnist\nmatrix: {prior: [none, violin]}\n"
                 "replicates: {seed: " +
                     seeds + "]}\n"});
  for (const char* bad : {"name", "=3", "a..b=1", "a.=1", "[0]=1", "stages[9].evaluate=1", "name.x=1", "train.lr=[1",
                          "train={a: 1, a: 2}"}) {
    out.push_back({{"plan", "-", "--set", bad}, right_specification()});
  }
  return out;
}

std::vector<Mistake> wrong_usage(const Json& manual) {
  std::vector<Mistake> out = {
      {{}, ""}, {{"no-such-command"}, ""}, {{"leaderbord", "x"}, ""}, {{"--no-such-option"}, ""}};
  for (const Json& command : manual["commands"]) {
    const Words given = filled(command);
    out.push_back(words(command, with(given, {"--no-such-option"})));
    if (!given.empty()) out.push_back(words(command, {}));
    const auto& arguments = command["arguments"];
    if (arguments.empty() || !arguments.back()["repeatable"].get<bool>()) {
      Words all = given;
      while (all.size() < arguments.size()) all.push_back("x");
      out.push_back(words(command, with(all, {"one-too-many"})));
    }
    for (const Json& argument : arguments) {
      if (argument.contains("choices")) out.push_back(words(command, {"no-such-choice"}));
    }
    for (const Json& option : command["options"]) wrong_option_usage(command, option, out);
  }
  out.push_back({{"drain", "x", "--stop", "--undo"}, ""});
  out.push_back({{"artifacts", "x", "--pin", "--unpin"}, ""});
  out.push_back({{"search", "x", "--follow"}, ""});
  out.push_back({{"compare", "only-one"}, ""});
  out.push_back({{"show", "\xff\xfe"}, ""});
  out.push_back({{"worker", "--slots", "100000"}, ""});
  out.push_back({{"worker", "--checkpoint-seconds", "0"}, ""});
  return out;
}

std::vector<Mistake> wrong_names(const Json& manual) {
  std::vector<Mistake> out;
  for (const Json& command : manual["commands"]) {
    if (command["arguments"].empty()) continue;
    const std::string what = command["arguments"][0]["name"], name = command["name"];
    Words more;
    if (name == "delete") more = {"--yes"};
    if (name == "drain") more = {"--reason", "test"};
    if (what == "experiment" || what == "name" || what == "worker" || what == "trial") {
      // An empty word is no name for a command that can do without.
      for (const std::string& bad : kHostileNames) {
        if (!bad.empty() || command["arguments"][0]["required"].get<bool>())
          out.push_back(words(command, with({bad}, more)));
      }
    }
    if (what == "trial" || what == "name") {
      for (const std::string& bad : kHostileTrials) out.push_back(words(command, with({bad}, more)));
    }
  }
  for (const Words& items : std::vector<Words>{{"present/0", "nothing/0"},
                                               {"present/0", "present/99"},
                                               {"present/cells/0", "present/cells/99"},
                                               {"present", "present/1"},
                                               {"present/cells/x", "present/1"}}) {
    out.push_back({with({"compare"}, items), ""});
  }
  for (const Words& more : std::vector<Words>{{"--metric", "top9"},
                                              {"--split", "nowhere"},
                                              {"--labels", "{}x"},
                                              {"--metric", "<b>"},
                                              {"--labels", "[1]"}}) {
    out.push_back({with({"leaderboard", "present"}, more), ""});
  }
  for (const Words& more : std::vector<Words>{{}, {"--log"}, {"--stop", "0"}, {"--stop", "x", "--reason", "why"}})
    out.push_back({with({"search", "present"}, more), ""});
  for (const char* kind : {"priors", "no-such-kind", "violin"}) out.push_back({{"catalog", kind}, ""});
  for (const char* id : {"violn", "no-such-prior", "../x"}) out.push_back({{"catalog", "prior", id}, ""});
  const std::string digest(64, '0');
  out.push_back({{"artifacts", digest}, ""});
  out.push_back({{"artifacts", digest, "--pin"}, ""});
  out.push_back({{"artifacts", "present", "--pin"}, ""});
  out.push_back({{"delete", "present"}, ""});           // nobody to ask
  out.push_back({{"delete", "present", "--yes"}, ""});  // its stages wait
  return out;
}

std::vector<Mistake> wrong_files(const std::string& folder) {
  const auto file = [&folder](const std::string& name, const std::string& text) {
    std::ofstream(folder + "/" + name, std::ios::binary) << text;
    return Words{"plan", folder + "/" + name};
  };
  std::string bomb = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i < 9; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) bomb += (k > 0 ? ", *a" : "*a") + std::to_string(i - 1);
    bomb += "]\n";
  }
  std::vector<Mistake> out;
  for (const Words& one : {file("empty.yaml", ""),
                           file("comment.yaml", "# nothing\n"),
                           file("list.yaml", "- 1\n"),
                           file("text.yaml", "just text\n"),
                           file("open.yaml", "a: [\n"),
                           file("twice.yaml", "name: a\nname: b\n"),
                           file("documents.yaml", "name: a\n---\nname: b\n"),
                           file("tag.yaml", "a: !!python/object x\n"),
                           file("binary.yaml", std::string("\0\1\2\xff\xfe", 5)),
                           file("bomb.yaml", bomb),
                           file("deep.yaml", std::string(500, '[')),
                           file("large.yaml", "name: " + std::string(2 << 20, 'x')),
                           file("self.yaml", "a: &x [*x]\n"),
                           file("latin-1.yaml", "version: 1\nname: bad\ndescription: caf\xe9\n"),
                           file("utf-16.yaml", std::string("\xff\xfen\0", 4)),
                           file("zero.yaml", std::string("name: a\0b\n", 10)),
                           file("tab.yaml", "train:\n\tlr: 1\n"),
                           file("merge.yaml", "a: &x {b: 1}\nc: {<<: *x}\n"),
                           Words{"plan", folder + "/not-there.yaml"},
                           Words{"plan", folder},
                           Words{"submit", folder + "/not-there.yaml"}}) {
    out.push_back({one, ""});
  }
  out.push_back({{"plan", "-"}, ""});
  out.push_back({{"submit", "-"}, "name: caf\xe9\n"});
  return out;
}

}  // namespace locus
