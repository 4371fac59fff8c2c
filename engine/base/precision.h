// In which precision passes compute.
#pragma once

#include "engine/base/torch.h"

namespace locus::engine {

// Of products and what follows them; weights, their gradients and the optimizer stay float32.
enum class Precision { kFloat32, kBfloat16, kFloat16 };

// By its name, "float32", "bfloat16" or "float16". Throws std::invalid_argument on another.
Precision precision_of(std::string_view name);
std::string_view name_of(Precision precision);

// While it lives, what this thread computes on `device` follows the rules of PyTorch's automatic mixed precision
// (torch.autocast): matrix products, convolutions and attention kernels in the precision asked for, sums and losses in
// float32, everything else in the type of its inputs. float32 switches the rules off, within another one too. Weights
// are cast once while the outermost one lives, so it must not outlive a change of them. Nothing waits for the device.
class Autocast {
 public:
  Autocast(Precision precision, at::Device device);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  at::DeviceType device_;
  bool before_;
  at::ScalarType type_before_;
};

}  // namespace locus::engine
