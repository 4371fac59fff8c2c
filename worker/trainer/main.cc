// locus-trainer: the process that hosts the engine. Child of the worker daemon, or run by hand.
#include <link.h>

#include <filesystem>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "engine/base/device.h"
#include "engine/base/memory.h"
#include "engine/catalog/catalog.h"
#include "engine/distributed/gang.h"
#include "engine/kernels/device_graph.h"
#include "engine/kernels/plugin.h"
#include "engine/plugin/load.h"
#include "worker/trainer/data.h"
#include "worker/trainer/end_signal.h"
#include "worker/trainer/measure.h"
#include "worker/trainer/once.h"
#include "worker/trainer/picture.h"
#include "worker/trainer/probe.h"
#include "worker/trainer/session.h"
#include "worker/trainer/weights.h"

namespace {

constexpr const char* kUsage =
    "usage: locus-trainer [--plugin FILE]... catalog   prints what this build, and plugins, can do\n"
    "       locus-trainer devices [--load]  prints the devices it can use; --load: what a GPU training loads is\n"
    "                                    loaded, on a machine without a GPU, too, and 1 says that it was not\n"
    "       locus-trainer run --fd N     serves the worker daemon on descriptor N\n"
    "       ";

int usage() {
  std::cerr << kUsage << locus::kOnceUsage << "       " << locus::kProbeUsage << "       " << locus::kPictureUsage
            << "       " << locus::kMeasureUsage << "       " << locus::kDataUsage << "       " << locus::kWeightsUsage;
  return 2;
}

// The folders of the libraries that this process has loaded: what isolates a trainer must let it read them. A plugin's own
// folder is somebody's; whoever names the plugin lets it be read.
locus::Json library_folders() {
  std::set<std::string> folders;
  const auto note = [](dl_phdr_info* info, std::size_t, void* to) {
    if (info->dlpi_name[0] == '/') {
      const auto file = std::filesystem::weakly_canonical(info->dlpi_name);
      for (const auto& plugin : locus::engine::loaded_plugins()) {
        if (std::filesystem::weakly_canonical(plugin.file) == file) return 0;
      }
      static_cast<std::set<std::string>*>(to)->insert(file.parent_path().string());
    }
    return 0;
  };
  ::dl_iterate_phdr(note, &folders);
  return folders;
}

locus::Json devices() {
  locus::Json out = {{"cpu", true}, {"cuda", locus::Json::array()}};
  try {
    locus::engine::load_cuda();
    for (const auto& device : locus::engine::cuda_devices())
      out["cuda"].push_back({{"index", device.index}, {"name", device.name}, {"memory_bytes", device.memory_bytes}});
  } catch (const std::exception& error) {
    out["cuda_unusable"] = error.what();
  }
  for (const char* device : {"cpu", "cuda"}) {
    const std::string missing = locus::engine::no_gang_on(device);
    if (missing.empty()) {
      out["together"].push_back(device);
    } else {
      out["apart"][device] = missing;
    }
  }
  out["libraries"] = library_folders();
  return out;
}

int print_devices() {
  std::cout << devices().dump() << "\n";
  return 0;
}

// Tells set-up apart from hardware: what a training on a GPU loads is loaded whether or not there is one.
int load_and_print_devices() {
  locus::Json out = devices();
  std::string failure;
  try {
    locus::engine::load_cuda_library();
    out["torch"] = locus::engine::cuda_library().string();
    if (const auto* kernels = locus::engine::cuda_kernels()) out["kernels"] = kernels->path;
    std::string missing = locus::engine::cuda_kernels_missing(), why;
    out["graphs"] = static_cast<bool>(locus::engine::cuda_graphs(why));
    if (missing.empty()) missing = why;
    if (!missing.empty())
      failure =
          "our CUDA kernels cannot be loaded: " + missing + "; `make gpu` fetches a CUDA compiler and builds them";
  } catch (const std::exception& error) {
    failure = error.what();
  }
  std::cout << out.dump() << "\n";
  if (!failure.empty()) std::cerr << "locus-trainer: " << failure << "\n";
  return failure.empty() ? 0 : 1;
}

}  // namespace

int main(int count, char** values) {
  locus::engine::keep_tensor_memory();
  std::vector<std::string> arguments(values + 1, values + count);
  try {
    while (arguments.size() > 1 && arguments[0] == "--plugin") {
      locus::engine::load_plugin(arguments[1]);
      arguments.erase(arguments.begin(), arguments.begin() + 2);
    }
    if (arguments.empty()) return usage();
    if (arguments[0] == "catalog" && arguments.size() == 1) {
      std::cout << locus::engine::catalog_json().dump(2) << "\n";
      return 0;
    }
    if (arguments[0] == "devices" && arguments.size() == 1) return print_devices();
    if (arguments == std::vector<std::string>{"devices", "--load"}) return load_and_print_devices();
    if (arguments[0] == "run" && arguments.size() == 3 && arguments[1] == "--fd") {
      locus::leave_end_to_daemon();
      return locus::serve_session(std::stoi(arguments[2]));
    }
    if (arguments[0] == "once") return locus::run_once(std::span(arguments).subspan(1));
    if (arguments[0] == "probe") return locus::run_probe(std::span(arguments).subspan(1));
    if (arguments[0] == "picture") return locus::run_picture(std::span(arguments).subspan(1));
    if (arguments[0] == "data") return locus::run_data(std::span(arguments).subspan(1));
    if (arguments[0] == "measure") return locus::run_measure(std::span(arguments).subspan(1));
    if (arguments[0] == "weights") return locus::run_weights(std::span(arguments).subspan(1));
  } catch (const std::exception& error) {
    std::cerr << "locus-trainer: " << error.what() << "\n";
    return 1;
  }
  return usage();
}
