// Numbers made of single draws.
#pragma once

#include <algorithm>
#include <string>

#include "engine/data/transform.h"

namespace locus::engine {

// Of `unit` in [0, 1): a whole number of low..high, each as likely.
inline std::int64_t integer_of(double unit, std::int64_t low, std::int64_t high) {
  return low + std::min(static_cast<std::int64_t>(unit * static_cast<double>(high - low + 1)), high - low);
}
inline double uniform_of(double unit, double low, double high) { return low + unit * (high - low); }

// The draws of another name: "PREFIXcrop.area" for "crop.area", so that several views of an image draw apart. `draws` must
// outlive it. Thread-safe.
class PrefixedDraws final : public SampleDraws {
 public:
  PrefixedDraws(std::string prefix, const SampleDraws& draws) : prefix_(std::move(prefix)), draws_(draws) {}
  double unit(std::string_view name, std::uint32_t attempt) const override {
    return draws_.unit(prefixed(name), attempt);
  }
  std::vector<double> units(std::string_view name, std::size_t count) const override {
    return draws_.units(prefixed(name), count);
  }
  double normal(std::string_view name, std::uint32_t attempt) const override {
    return draws_.normal(prefixed(name), attempt);
  }
  Tensor normals(std::string_view name, at::IntArrayRef shape, std::int64_t first) const override {
    return draws_.normals(prefixed(name), shape, first);
  }

 private:
  std::string prefixed(std::string_view name) const { return prefix_ + std::string(name); }
  std::string prefix_;
  const SampleDraws& draws_;
};

}  // namespace locus::engine
