// The sampler's thread.
#include "worker/app/sampler.h"

#include <algorithm>
#include <utility>

#include "core/base/clock.h"

namespace locus {
namespace {

void add(v1::SystemSample& sample, const char* metric, double value, const std::string& labels = "") {
  auto* out = sample.add_values();
  out->set_metric(metric);
  out->set_labels(labels);
  out->set_value(value);
}

void add(v1::SystemSample& sample, const GpuUse& use, const std::string& labels = "") {
  add(sample, "system/gpu_percent", use.percent, labels);
  add(sample, "system/gpu_memory_bytes", static_cast<double>(use.memory_bytes), labels);
}

}  // namespace

Sampler::Sampler(Running running, std::vector<int> gpus, std::chrono::milliseconds interval)
    : running_(std::move(running)), gpus_(std::move(gpus)), interval_(interval) {}

void Sampler::start() {
  if (interval_.count() > 0) thread_ = std::thread([this] { run(); });
}

void Sampler::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

SystemSamples Sampler::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(fresh_, {});
}

void Sampler::run() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    lock.unlock();
    sample();
    lock.lock();
    changed_.wait_for(lock, interval_, [this] { return stopped_; });
  }
}

void Sampler::sample() {
  SystemSamples out;
  if (const auto machine = proc_.machine()) {
    v1::SystemSample& sample = out.machine.emplace();
    add(sample, "system/cpu_percent", machine->cpu_percent);
    add(sample, "system/memory_bytes", static_cast<double>(machine->memory_bytes));
    for (const int gpu : gpus_) {
      if (const auto use = nvml_.use(gpu)) add(sample, *use, "{\"gpu\":" + std::to_string(gpu) + "}");
    }
  }
  const std::vector<SampledAttempt> running = running_();
  std::vector<pid_t> roots;
  for (const SampledAttempt& one : running) roots.push_back(one.trainer);
  const double now = static_cast<double>(system_clock().steady()) / 1e6;
  const auto trees = proc_.trees(roots, now);
  for (const SampledAttempt& one : running) {
    const auto use = trees.find(one.trainer);
    if (use == trees.end()) continue;
    v1::SystemSample& sample = out.attempts[one.key];
    add(sample, "system/cpu_percent", use->second.cpu_percent);
    add(sample, "system/memory_bytes", static_cast<double>(use->second.memory_bytes));
    if (const auto gpu = nvml_.use(one.gpu)) add(sample, *gpu);
  }
  const std::lock_guard lock(mutex_);
  fresh_ = std::move(out);
}

}  // namespace locus
