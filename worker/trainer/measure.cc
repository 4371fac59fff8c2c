// Arguments, the table and the document of the measuring tool.
#include "worker/trainer/measure.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "engine/base/device.h"
#include "engine/measure/flops.h"
#include "engine/measure/hardware.h"
#include "engine/measure/measurement.h"
#include "engine/measure/peak_memory.h"
#include "worker/trainer/arguments.h"

namespace locus {
using namespace engine;
namespace {

struct Request {
  std::vector<std::string> labels;
  std::vector<MeasuredModel> models;
  std::size_t against = 0;
  std::vector<std::int64_t> batches, resolutions;
  MeasureSettings settings;
  Execution execution;
};

std::vector<std::int64_t> numbers(const NamedArguments& arguments, const std::string& name,
                                  std::vector<std::int64_t> fallback) {
  if (!arguments.has(name)) return fallback;
  std::vector<std::int64_t> out;
  std::string rest = arguments.text(name, "") + ",";
  for (std::size_t at; (at = rest.find(',')) != std::string::npos; rest.erase(0, at + 1)) {
    const auto [number, end] = parse_pair(rest.substr(0, at) + ",0", ',', name);
    if (number < 1) throw std::invalid_argument(name + " must be positive whole numbers, not " + rest.substr(0, at));
    out.push_back(number);
  }
  return out;
}

std::int64_t number(const NamedArguments& arguments, const char* name, std::int64_t fallback, std::int64_t least) {
  const std::int64_t value = arguments.integer(name, fallback);
  if (value < least) throw std::invalid_argument(std::string(name) + " must be at least " + std::to_string(least));
  return value;
}

Request measure_request_of(const NamedArguments& arguments) {
  Request out;
  for (const Json& model : read_json_file(arguments.required("--models"))) {
    out.labels.push_back(model.at("label").get<std::string>());
    out.models.push_back(measured_model(model.at("configuration")));
  }
  if (out.models.empty()) throw std::invalid_argument("--models lists no model");
  const auto base = std::find(out.labels.begin(), out.labels.end(), arguments.text("--against", out.labels.front()));
  if (base == out.labels.end()) {
    std::string known;
    for (const std::string& label : out.labels) known += (known.empty() ? "" : ", ") + label;
    throw std::invalid_argument("--against " + arguments.text("--against", "") +
                                " is not measured; choose one of: " + known);
  }
  out.against = static_cast<std::size_t>(base - out.labels.begin());
  out.batches = numbers(arguments, "--batch", {1, 32});
  out.resolutions = numbers(arguments, "--resolution", {0});
  out.settings.rounds = number(arguments, "--rounds", out.settings.rounds, 1);
  out.settings.warmup = number(arguments, "--warmup", out.settings.warmup, 0);
  out.settings.round_ms = static_cast<double>(number(arguments, "--round-ms", std::llround(out.settings.round_ms), 0));
  out.settings.training = !arguments.has("--no-training");
  out.execution.device = arguments.text("--device", "cpu");
  out.execution.index = static_cast<int>(number(arguments, "--index", 0, 0));
  out.execution.threads = static_cast<int>(number(arguments, "--threads", 1, 1));
  return out;
}

// Value and, for every model but the one compared with, its ratio: "3.41 (1.08x)".
std::string with_ratio(double value, double base, bool is_base, const char* format, double unit = 1) {
  char text[64], ratio[32] = "";
  std::snprintf(text, sizeof(text), format, value / unit);
  if (!is_base && base > 0) std::snprintf(ratio, sizeof(ratio), " (%.3fx)", value / base);
  return std::string(text) + ratio;
}

std::string percent(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %%", value);
  return text;
}

using Row = std::vector<std::string>;

Row row_of(const std::string& label, const Measured& one, const Measured& base) {
  const bool same = &one == &base;
  Row row = {
      label,
      with_ratio(static_cast<double>(one.parameters), static_cast<double>(base.parameters), same, "%.3f M", 1e6),
      std::to_string(one.parameters_added),
      with_ratio(static_cast<double>(one.flops_counted), static_cast<double>(base.flops_counted), same, "%.4f G", 1e9),
      with_ratio(one.forward.p50_ms, base.forward.p50_ms, same, "%.3f ms"),
      percent(one.forward.spread),
      with_ratio(1000 * static_cast<double>(one.point.batch) / one.forward.p50_ms,
                 1000 * static_cast<double>(base.point.batch) / base.forward.p50_ms, same, "%.0f /s"),
      with_ratio(static_cast<double>(one.peak_bytes), static_cast<double>(base.peak_bytes), same, "%.1f MiB", 1 << 20)};
  if (one.train) {
    row.push_back(with_ratio(one.train->p50_ms, base.train->p50_ms, same, "%.3f ms"));
    row.push_back(percent(one.train->spread));
  }
  return row;
}

void print_table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string pad(widths[i] - row[i].size(), ' ');
      line += (i == 0 ? row[i] + pad : "  " + pad + row[i]);
    }
    std::cout << line.substr(0, line.find_last_not_of(' ') + 1) << "\n";
  }
}

void print_point(const Request& request, const std::vector<Measured>& found) {
  const Measured& base = found[request.against];
  std::cout << "\nresolution " << base.point.resolution << ", batch " << base.point.batch << "\n";
  std::vector<Row> rows = {{"", "parameters", "added", "FLOPs", "forward p50", "spread", "images", "peak memory"}};
  if (base.train) rows[0].insert(rows[0].end(), {"train p50", "spread"});
  for (std::size_t i = 0; i < found.size(); ++i) rows.push_back(row_of(request.labels[i], found[i], base));
  print_table(rows);
}

Json json_of(const std::string& label, const Measured& one, const Measured& base) {
  const auto values = [](const Measured& measured) {
    Json out = Json::object();
    for (const StageResult& result : measured_results(measured)) out[result.key.metric] = result.value;
    return out;
  };
  const Json mine = values(one), others = values(base);
  Json ratios = Json::object();
  for (const auto& [metric, value] : mine.items()) {
    const double divisor = others.at(metric).get<double>();
    if (divisor > 0 && metric != "parameters_added" && !metric.ends_with("_percent"))
      ratios[metric] = value.get<double>() / divisor;
  }
  return {{"label", label},   {"batch", one.point.batch}, {"resolution", one.point.resolution},
          {"path", one.path}, {"values", mine},           {"ratios", ratios}};
}

Json measure(const Request& request, bool json) {
  const at::Device device = open_device(request.execution.device, request.execution.index);
  at::set_num_threads(request.execution.threads);
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/device.is_cuda());
  at::globalContext().setDeterministicFillUninitializedMemory(false);
  Json out = {{"against", request.labels[request.against]},
              {"environment",
               {{"device", request.execution.device},
                {"device_name", device_name(device)},
                {"threads", request.execution.threads},
                {"build", build_description()},
                {"hardware", describe_hardware(device)},
                {"protocol",
                 {{"rounds", request.settings.rounds},
                  {"warmup", request.settings.warmup},
                  {"round_ms", request.settings.round_ms},
                  {"memory", MemoryWatch::source(device)},
                  {"counted_operators", counted_operators()}}}}},
              {"rows", Json::array()}};
  if (!json) {
    const Json& hardware = out["environment"]["hardware"];
    std::cout << device_name(device) << ", " << request.execution.threads << " thread(s), load "
              << hardware.value("load", 0.0) << ", " << request.settings.rounds << " rounds in turn; ratios to "
              << request.labels[request.against] << "\n";
  }
  for (const std::int64_t resolution : request.resolutions) {
    for (const std::int64_t batch : request.batches) {
      const auto found = measure_models(request.models, {batch, resolution}, request.settings, request.execution,
                                        device, [](auto, auto) { return true; });
      if (!json) print_point(request, *found);
      for (std::size_t i = 0; i < found->size(); ++i)
        out["rows"].push_back(json_of(request.labels[i], (*found)[i], (*found)[request.against]));
    }
  }
  return out;
}

}  // namespace

int run_measure(std::span<const std::string> arguments) {
  try {
    const NamedArguments named(arguments,
                               {"--models", "--against", "--batch", "--resolution", "--rounds", "--warmup",
                                "--round-ms", "--device", "--index", "--threads", "--out"},
                               {"--no-training", "--json"});
    const Request request = measure_request_of(named);
    std::ofstream file;
    if (named.has("--out")) {  // before the work: a folder that is not there is known at once
      file.open(named.text("--out", ""));
      if (!file) throw std::invalid_argument("cannot write " + named.text("--out", ""));
    }
    const Json out = measure(request, named.has("--json"));
    if (named.has("--json")) std::cout << out.dump(2) << "\n";
    if (file.is_open()) file << out.dump(2) << "\n";
    return 0;
  } catch (const c10::Error& error) {
    std::cerr << "locus-trainer measure: " << error.what_without_backtrace() << "\n";
    return 1;
  } catch (const std::invalid_argument& error) {
    return refuse_arguments("measure", error.what(), "");
  } catch (const std::exception& error) {
    std::cerr << "locus-trainer measure: " << error.what() << "\n";
    return 1;
  }
}

}  // namespace locus
