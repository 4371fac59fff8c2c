// Devices at run time: the trainer links the CPU part of torch only; the CUDA part is loaded when asked for.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <string>
#include <vector>

namespace locus::engine {

struct CudaDevice {
  int index = 0;
  std::string name;
  std::int64_t memory_bytes = 0;  // 0: the driver does not say
};

// What the driver offers, whether or not torch can use it; empty without a driver. Loads no torch library.
std::vector<CudaDevice> cuda_devices();

// The library of CUDA torch, beside that of CPU torch, whether or not it is there.
std::filesystem::path cuda_library();

// Loads it into this process, GPU or none. Throws std::runtime_error that says what is missing and what brings it.
void load_cuda_library();

// Why `library` cannot be loaded, from what the dynamic linker said: what was asked for, what was found, what to do.
std::string explain_load_failure(const std::filesystem::path& library, const std::string& linker);

// Loads CUDA torch for use on a GPU, once. Throws std::runtime_error with the reason when it cannot be had.
// torch looks for it once, so this must come before the first backward pass of the process.
void load_cuda();

// The device of that kind ("cpu", "cuda"), ready for use; loads CUDA torch when needed. Throws
// std::invalid_argument on another kind and std::runtime_error when there is no such device.
at::Device open_device(const std::string& kind, int index);

std::string device_name(at::Device device);  // "Intel(R) Xeon(R) ...", "NVIDIA H200"
std::string build_description();  // what bit-identity depends on beside the device: versions, vector instructions

}  // namespace locus::engine
