// Where the trainers of one attempt find one another: frames `store` and `stored` of docs/formats/trainer.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.h"

namespace locus {

// The types of the frames.
inline constexpr char kFrameStore[] = "store", kFrameStored[] = "stored";

// Bytes as lower-case hex digits, and back; std::invalid_argument for what is none.
std::string to_hex(std::string_view bytes);
std::string from_hex(std::string_view digits);

// What trainers of an attempt leave with their daemon for one another, by key, in memory and for as long as the attempt lives.
// Nobody but they can put a question to it, and each of them only with the number of this attempt. Thread-compatible.
class RendezvousBoard {
 public:
  static constexpr std::size_t kMostBytes = 64 << 10;  // of keys and values together

  explicit RendezvousBoard(std::string attempt) : attempt_(std::move(attempt)) {}

  struct Answer {
    int rank = 0;
    Json frame;
  };
  // The answers that are due now: to this question, unless it waits, and to those that waited for what it brought. A question
  // of another attempt is refused. Throws std::exception for a frame that breaks the format.
  std::vector<Answer> take(int rank, const Json& question);

 private:
  struct Waiting {
    int rank = 0;
    Json ask;
    std::vector<std::string> keys;
  };
  Json answer(const Json& question);
  Json put(const std::string& key, std::string bytes);
  bool has(const std::vector<std::string>& keys) const;
  Json values(const std::vector<std::string>& keys) const;

  const std::string attempt_;
  std::map<std::string, std::string> entries_;
  std::size_t bytes_ = 0;
  std::vector<Waiting> waiting_;
};

}  // namespace locus
