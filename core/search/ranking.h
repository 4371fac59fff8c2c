// Scores in order, kept as they come and go: places and counts without sorting anew.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace locus {

// A score of a unit, not NaN.
struct RankedScore {
  double score = 0;
  std::int64_t unit = 0;
};

// From the best on, larger being better; equal scores by unit, so that the order of arrival decides nothing. Every
// question and change takes time that grows as the logarithm of its size, and some steps of a list a thousandth as long.
// Copies share what neither has changed. Thread-compatible, as copies are among one another.
class Ranking {
 public:
  void insert(const RankedScore& one);
  void erase(const RankedScore& one);  // that is there
  std::size_t size() const;
  bool empty() const { return size() == 0; }
  // How many stand before it, whether or not it is there itself.
  std::size_t before(const RankedScore& one) const;
  std::size_t at_least(double score) const;                                 // how many are as good or better
  const RankedScore& at(std::size_t place) const;                           // below size()
  std::vector<std::int64_t> units(std::size_t from, std::size_t to) const;  // of these places, in order

 private:
  using Run = std::vector<RankedScore>;
  struct Runs {
    std::vector<std::shared_ptr<Run>> runs;  // none is empty
    std::size_t size = 0;
  };
  std::size_t run_of(const RankedScore& one) const;  // where it is or belongs
  std::shared_ptr<Runs> all_;                        // null: empty
};

}  // namespace locus
