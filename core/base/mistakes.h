// Several mistakes in one status: what the check of a whole document answers with.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace locus {

struct Violations {
  std::vector<absl::Status> list;  // each with its ErrorDetail, none with violations of its own
  std::int64_t more = 0;           // found beyond those listed
};

// Metadata of a status that has crossed the wire: how many of its mistakes were left out there.
inline constexpr char kMoreMistakes[] = "more_mistakes";

// What a status lists; itself alone where it lists nothing, and nothing of OK.
Violations violations_of(const absl::Status& status);

// One status that lists them: code, reason, field and metadata are the first's, its sentence says how many
// more there are. A list of one is that one; an empty one is OK.
absl::Status join(const Violations& violations);

// The same list with each of its statuses replaced.
absl::Status each_of(const absl::Status& status, const std::function<absl::Status(const absl::Status&)>& change);

// Collects the mistakes of one document. Thread-compatible.
class Mistakes {
 public:
  // Notes what a status lists, but of one field only the first: the rest would follow from it. True if it is
  // OK.
  bool note(const absl::Status& status);
  // The value, or nothing and a note of why.
  template <typename T>
  std::optional<T> value(absl::StatusOr<T> found) {
    if (!note(found.status())) return std::nullopt;
    return *std::move(found);
  }
  bool none() const { return found_.list.empty(); }
  absl::Status status() const { return join(found_); }

 private:
  Violations found_;
  std::set<std::string> seen_;
};

}  // namespace locus
