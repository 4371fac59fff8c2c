// What a prior costs: the time of a training step (forward, backward, optimizer) of a small ViT with each
// prior, on each of its execution paths, as a ratio to the same model without one, on the CPU. Every round
// measures every case once, in turn, so that a machine that slows down slows all of them; before its turn a case
// makes a step that is not counted, whatever ran before it; a ratio is taken within its round, and the median of the
// rounds is the result.
//
//   priors_bench [--tokens=49,196,1024] [--rounds=9] [--steps=1] [--batch=4] [--dim=192] [--depth=2]
//   [--heads=3] [--threads=1] [--paths=all|auto] [--measure=time|memory]
//                [--priors=violin,pape] [--cases=FILE] [--json=FILE]
//
// --measure=memory: instead of the time, the most bytes that tensors had in use at one time during a step, as the engine
// runs it, each case alone in the process. It does not depend on what else the machine does.
//
// --cases names combinations: [{"label": "both", "priors": [{"id": "irpe", "options": {}}, {"id": "violin",
// "options": {}}]}, ...].
#include <ATen/Parallel.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/linear.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

#include "engine/attention/path.h"
#include "engine/backbones/backbone.h"
#include "engine/base/memory.h"
#include "engine/train/optimizer.h"

namespace locus {
using namespace engine;
namespace {

constexpr std::int64_t kPatch = 2, kClasses = 10;
constexpr const char* kReference = "none";

struct Arguments {
  std::vector<std::int64_t> tokens = {49, 196, 1024};
  std::int64_t rounds = 9, steps = 1, batch = 4, dim = 256, depth = 2, heads = 4, threads = 1;
  bool all_paths = true, memory = false;
  std::vector<std::string> priors;  // empty: every one
  std::string cases, json;
};

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

// A model and what trains it.
class Case {
 public:
  Case(std::string label, Json priors, std::string path, const Arguments& a, std::int64_t side)
      : label_(std::move(label)), path_(std::move(path)), random_(0) {
    const Json configuration = {
        {"model",
         {{"id", "vit"},
          {"options", {{"dim", a.dim}, {"depth", a.depth}, {"heads", a.heads}, {"patch", kPatch}, {"pool", "mean"}}}}},
        {"priors", std::move(priors)}};
    const std::int64_t pixels = kPatch * side;
    model_ = make_backbone(configuration, {1, {pixels, pixels}}, random_, path_);
    images_ = random_.normal("bench", "images", 0, {a.batch, 1, pixels, pixels});
    labels_ = random_.uniform("bench", "labels", 0, {a.batch}, 0, kClasses).to(at::kLong);
    head_ = random_.normal("bench", "head", 0, {kClasses, model_->width()}, 0, 0.02).requires_grad_();
    ParameterGroup decayed{{{"head", head_}}, 0.05}, exempt;
    for (const auto& entry : model_->named_parameters())
      (entry.value().dim() > 1 ? decayed : exempt).parameters.push_back({entry.key(), entry.value()});
    optimizer_ = std::make_unique<AdamW>(std::vector{std::move(decayed), std::move(exempt)}, AdamW::Settings{});
  }

  // Seconds a step.
  double run(std::int64_t steps) {
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < steps; ++i) step();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    return took.count() / static_cast<double>(steps);
  }
  // The most bytes of tensors in use at one time during a step: weights, moments and gradients included.
  std::int64_t peak_of_a_step() {
    release_tensor_memory();  // forgets the most of whatever ran before
    step();
    return tensor_memory().most_bytes;
  }
  // Whether attention went the way that was asked for.
  bool as_asked() const { return path_ == "auto" || model_->path() == path_; }
  std::string taken() const { return model_->path(); }
  const std::string& label() const { return label_; }
  bool automatic() const { return path_ == "auto"; }

  std::vector<double> seconds, ratios;  // a round each

 private:
  void step() {
    const ForwardContext context{.step = step_++, .steps = 1000, .training = true, .random = random_};
    const Features features = model_->forward(images_, context);
    Tensor loss = at::cross_entropy_loss(at::linear(model_->pooled(features), head_), labels_);
    for (const AuxLoss& aux : model_->auxiliary_losses(features, context)) loss = loss + aux.value;
    loss.backward();
    optimizer_->step(1e-3);
  }

  std::string label_, path_;
  RandomStreams random_;
  std::shared_ptr<Backbone> model_;
  Tensor images_, labels_, head_;
  std::unique_ptr<AdamW> optimizer_;
  std::int64_t step_ = 0;
};

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const double part = at - static_cast<double>(low);
  return low + 1 < values.size() ? values[low] * (1 - part) + values[low + 1] * part : values[low];
}

Json summary(const std::vector<double>& values) {
  return {{"median", quantile(values, 0.5)}, {"low", quantile(values, 0.25)}, {"high", quantile(values, 0.75)}};
}

// What is measured: label and priors. The reference comes first.
std::vector<std::pair<std::string, Json>> subjects(const Arguments& a) {
  std::vector<std::pair<std::string, Json>> out = {{kReference, Json::array()}};
  if (!a.cases.empty()) {
    std::ifstream in(a.cases);
    for (const Json& each : Json::parse(in)) {
      if (each.at("label") != kReference) out.emplace_back(each.at("label"), each.at("priors"));
    }
    return out;
  }
  for (const PriorItem& item : prior_items()) {
    const bool wanted = a.priors.empty() || std::find(a.priors.begin(), a.priors.end(), item.id()) != a.priors.end();
    if (wanted && item.id() != kReference)
      out.emplace_back(item.id(), Json::array({{{"id", item.id()}, {"options", Json::object()}}}));
  }
  return out;
}

// Every subject as the engine would run it, then on each path it can take; each warmed up by a step.
std::vector<std::unique_ptr<Case>> cases_of(const Arguments& a, std::int64_t side) {
  std::vector<std::unique_ptr<Case>> out;
  for (const auto& [label, priors] : subjects(a)) {
    std::vector<std::string> paths = {"auto"};
    if (a.all_paths) {
      for (const ExecutionPath& path : execution_paths()) paths.emplace_back(path.name);
    }
    for (const std::string& path : paths) {
      auto made = std::make_unique<Case>(label, priors, path, a, side);
      made->run(1);
      if (made->as_asked()) out.push_back(std::move(made));
    }
  }
  return out;
}

std::int64_t side_of(std::int64_t tokens) {
  const auto side = static_cast<std::int64_t>(std::llround(std::sqrt(static_cast<double>(tokens))));
  if (side * side != tokens) throw std::invalid_argument("--tokens takes squares");
  return side;
}

// A row for each subject: the peak of a step behind one that warms up, with nothing else alive.
Json measure_memory(const Arguments& a, std::int64_t tokens) {
  std::printf("\n%ld tokens, most bytes of a step, ratio to `none`, MiB\n", static_cast<long>(tokens));
  Json rows = Json::array();
  double reference = 0;
  for (const auto& [label, priors] : subjects(a)) {
    Case one(label, priors, "auto", a, side_of(tokens));
    one.run(1);
    const auto bytes = one.peak_of_a_step();
    if (reference == 0) reference = static_cast<double>(bytes);
    const double ratio = static_cast<double>(bytes) / reference;
    std::printf("  %-44s %-13s %6.2f %10.1f\n", label.c_str(), one.taken().c_str(), ratio,
                static_cast<double>(bytes) / (1 << 20));
    rows.push_back({{"label", label}, {"tokens", tokens}, {"path", one.taken()}, {"bytes", bytes}, {"ratio", ratio}});
  }
  return rows;
}

// A row for each case; prints the table as it goes.
Json measure(const Arguments& a, std::int64_t tokens) {
  const auto cases = cases_of(a, side_of(tokens));
  for (std::int64_t round = 0; round < a.rounds; ++round) {
    double reference = 0;
    for (const auto& each : cases) {
      each->run(1);
      const double seconds = each->run(a.steps);
      if (each == cases.front()) reference = seconds;
      each->seconds.push_back(seconds);
      each->ratios.push_back(seconds / reference);
    }
  }
  std::printf("\n%ld tokens, ratio to `none` (median of %ld rounds, quartiles), ms a step\n", static_cast<long>(tokens),
              static_cast<long>(a.rounds));
  Json rows = Json::array();
  for (const auto& each : cases) {
    const Json ratio = summary(each->ratios);
    std::printf("  %-44s %-13s %6.2f  [%5.2f, %5.2f] %10.2f\n", each->label().c_str(),
                ((each->automatic() ? "auto: " : "") + each->taken()).c_str(), ratio["median"].get<double>(),
                ratio["low"].get<double>(), ratio["high"].get<double>(), 1e3 * quantile(each->seconds, 0.5));
    rows.push_back({{"label", each->label()},
                    {"tokens", tokens},
                    {"auto", each->automatic()},
                    {"path", each->taken()},
                    {"ratio", ratio},
                    {"seconds", summary(each->seconds)}});
  }
  return rows;
}

std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

Arguments parse(int count, char** values) {
  Arguments a;
  const std::map<std::string, std::int64_t*> numbers = {
      {"--rounds", &a.rounds}, {"--steps", &a.steps}, {"--batch", &a.batch},    {"--dim", &a.dim},
      {"--depth", &a.depth},   {"--heads", &a.heads}, {"--threads", &a.threads}};
  for (int i = 1; i < count; ++i) {
    const std::string word = values[i];
    const auto equals = std::min(word.find('='), word.size());
    const std::string key = word.substr(0, equals), value = equals < word.size() ? word.substr(equals + 1) : "";
    if (value.empty()) throw std::invalid_argument("'" + word + "': expected --key=value");
    if (const auto number = numbers.find(key); number != numbers.end()) {
      *number->second = std::stoll(value);
      if (*number->second < 1) throw std::invalid_argument("'" + word + "': 1 at least");
    } else if (key == "--tokens") {
      a.tokens.clear();
      for (const std::string& each : split(value, ',')) a.tokens.push_back(std::stoll(each));
    } else if (key == "--paths" && (value == "all" || value == "auto")) {
      a.all_paths = value == "all";
    } else if (key == "--measure" && (value == "time" || value == "memory")) {
      a.memory = value == "memory";
    } else if (key == "--priors") {
      a.priors = split(value, ',');
      for (const std::string& id : a.priors) prior_item(id);
    } else if (key == "--cases") {
      a.cases = value;
    } else if (key == "--json") {
      a.json = value;
    } else {
      throw std::invalid_argument("unknown argument '" + word + "'");
    }
  }
  return a;
}

int main_of(const Arguments& a) {
  at::set_num_threads(static_cast<int>(a.threads));
  std::printf("CPU: %s, %ld threads; dim %ld, depth %ld, heads %ld, batch %ld\n", cpu_model().c_str(),
              static_cast<long>(a.threads), static_cast<long>(a.dim), static_cast<long>(a.depth),
              static_cast<long>(a.heads), static_cast<long>(a.batch));
  Json rows = Json::array();
  for (const std::int64_t tokens : a.tokens) {
    for (Json& row : a.memory ? measure_memory(a, tokens) : measure(a, tokens)) rows.push_back(std::move(row));
  }
  if (a.json.empty()) return 0;
  std::ofstream out(a.json);
  out << Json{{"version", 1},
              {"cpu", cpu_model()},
              {"settings",
               {{"threads", a.threads},
                {"rounds", a.rounds},
                {"steps", a.steps},
                {"batch", a.batch},
                {"dim", a.dim},
                {"depth", a.depth},
                {"heads", a.heads}}},
              {"measure", a.memory ? "memory" : "time"},
              {"rows", rows}}
             .dump(1)
      << "\n";
  if (out.flush().good()) return 0;
  std::fprintf(stderr, "priors_bench: cannot write %s\n", a.json.c_str());
  return 1;
}

}  // namespace
}  // namespace locus

int main(int count, char** values) {
  locus::engine::keep_tensor_memory();  // as trainers do
  try {
    return locus::main_of(locus::parse(count, values));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "priors_bench: %s\n", error.what());
    return 2;
  }
}
