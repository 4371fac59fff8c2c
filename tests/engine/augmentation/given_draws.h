// Draws that a test writes down.
#pragma once

#include <map>
#include <stdexcept>

#include "engine/data/transform.h"

namespace locus::engine::test {

// Of each name the numbers of its attempts, or its normals from the first on. A name that is not given is an error, so a
// test knows what is drawn.
class WrittenDraws final : public SampleDraws {
 public:
  explicit WrittenDraws(std::map<std::string, std::vector<double>, std::less<>> numbers)
      : numbers_(std::move(numbers)) {}

  double unit(std::string_view name, std::uint32_t attempt) const override { return numbers(name).at(attempt); }
  double normal(std::string_view name, std::uint32_t attempt) const override { return numbers(name).at(attempt); }
  std::vector<double> units(std::string_view name, std::size_t count) const override {
    std::vector<double> out = numbers(name);
    out.resize(count);
    return out;
  }
  Tensor normals(std::string_view name, at::IntArrayRef shape, std::int64_t first) const override {
    const Tensor all = at::tensor(numbers(name), at::kDouble).to(at::kFloat);
    return all.slice(0, first, first + c10::multiply_integers(shape)).view(shape).clone();
  }

 private:
  const std::vector<double>& numbers(std::string_view name) const {
    const auto found = numbers_.find(name);
    if (found == numbers_.end()) throw std::logic_error("drew '" + std::string(name) + "'");
    return found->second;
  }
  std::map<std::string, std::vector<double>, std::less<>> numbers_;
};

}  // namespace locus::engine::test
