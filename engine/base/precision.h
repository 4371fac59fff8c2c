// In which precision passes compute.
#pragma once

#include "engine/base/torch.h"

namespace locus::engine {

// Of products and what follows them; weights, their gradients and the optimizer stay float32. tf32 is float32 but for
// products on GPUs, whose factors are rounded to 10 bits; on a CPU there is no difference.
enum class Precision { kFloat32, kTf32, kBfloat16, kFloat16 };

// By its name, "float32", "tf32", "bfloat16" or "float16". Throws std::invalid_argument on another.
Precision precision_of(std::string_view name);
std::string_view name_of(Precision precision);

// While it lives, products of float32 on GPUs are rounded as tf32, or are not, of matrices and of convolutions, by
// libraries and by our kernels, in the whole process: backward passes run on threads of their own. Where none lives, they
// are not, from the first one on. Threads that ask for the same at once are safe; of those that ask for different ones, the
// last decides for all.
class RoundsProducts {
 public:
  explicit RoundsProducts(bool rounds);
  ~RoundsProducts();
  RoundsProducts(const RoundsProducts&) = delete;
  RoundsProducts& operator=(const RoundsProducts&) = delete;

 private:
  bool before_;
};

// While it lives, what this thread computes on `device` follows the rules of PyTorch's automatic mixed precision
// (torch.autocast): matrix products, convolutions and attention kernels in the precision asked for, sums and losses in
// float32, everything else in the type of its inputs. float32 switches the rules off, within another one too, and the
// rounding of RoundsProducts; tf32 switches that on. Weights
// are cast once while the outermost one lives, so it must not outlive a change of them. Nothing waits for the device.
class Autocast {
 public:
  Autocast(Precision precision, at::Device device);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  RoundsProducts rounds_;
  at::DeviceType device_;
  bool before_;
  at::ScalarType type_before_;
};

}  // namespace locus::engine
