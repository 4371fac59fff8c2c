// NVIDIA's management library, if the machine has it: loaded at run time, never linked.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace locus {

struct GpuUse {
  double percent = 0;             // of time in which a kernel ran, as nvidia-smi shows it
  std::int64_t memory_bytes = 0;  // in use, by everybody
};

// Not thread-safe. Without the library, or a driver, there are simply no GPUs.
class Nvml {
 public:
  // `library`: what dlopen is given.
  explicit Nvml(const std::string& library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // `index` counts as nvidia-smi does. Nothing when it cannot be told.
  std::optional<GpuUse> use(int index) const;

 private:
  struct Calls;
  void* library_ = nullptr;
  std::unique_ptr<Calls> calls_;  // null: not there
};

}  // namespace locus
