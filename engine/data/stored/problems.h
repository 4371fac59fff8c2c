// What is wrong with the files of a dataset: counted, the first of them kept by name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace locus::engine {

// Thread-compatible.
class Problems {
 public:
  static constexpr std::size_t kKept = 10;

  void add(std::string sentence) {  // that names the file
    if (first_.size() < kKept) first_.push_back(std::move(sentence));
    ++count_;
  }
  std::int64_t count() const { return count_; }
  const std::vector<std::string>& first() const { return first_; }
  // "a; b", with "; and 5 more" where more were found than are kept.
  std::string text() const {
    std::string out;
    for (const std::string& sentence : first_) out += (out.empty() ? "" : "; ") + sentence;
    const std::int64_t more = count_ - static_cast<std::int64_t>(first_.size());
    return more > 0 ? out + "; and " + std::to_string(more) + " more" : out;
  }

 private:
  std::vector<std::string> first_;
  std::int64_t count_ = 0;
};

}  // namespace locus::engine
