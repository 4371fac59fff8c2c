// Labels of workers, and what an experiment asks of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/base/json.h"

namespace locus {

using Labels = std::map<std::string, std::string>;

// Keys that begin so are what a worker says of its machine; all others are given by an administrator, with the invitation
// that its certificate comes from, and no worker can claim them.
inline constexpr std::string_view kNodeLabel = "node/";
inline constexpr std::size_t kLabelsMost = 64, kLabelBytes = 128;
inline constexpr int kMemoryGibMost = 65'536;

// "pool", "node/gpu-name": [a-z][a-z0-9.-]{0,62}, maybe after "node/".
bool valid_label_key(std::string_view key);
// Whether the text is what the pattern says: '*' stands for any characters, none among them. Linear in their product.
bool matches(std::string_view pattern, std::string_view text);

// Where the stages of an experiment may run: key -> pattern.
struct PlacementRules {
  Labels require = {};    // every one is met
  Labels prefer = {};     // of workers that ask at once, the one that meets most
  int devices = 1;        // that a training takes together, of one worker; other stages take one
  double memory_gib = 0;  // that a training is taken to need of each device, instead of the estimate; 0: the estimate
  // Keys of which all its workers have the same value: that of the worker that is given its first stage. "" until then.
  Labels alike = {};
  auto operator<=>(const PlacementRules&) const = default;
};
// Shared, since all stages of an experiment ask the same; null: nothing is asked. Immutable.
using PlacementPtr = std::shared_ptr<const PlacementRules>;

// Everything that a worker's labels must meet, key -> pattern: what is required, and what is to be alike.
Labels clauses_of(const PlacementRules& rules);
// The key of the first of these that the labels do not meet; empty: they meet all.
std::string first_unmet(const PlacementRules& rules, const Labels& labels);
int count_preferred(const PlacementRules& rules, const Labels& labels);

// Bytes that a training of these rules is taken to need; 0: what is estimated.
std::int64_t memory_given(const PlacementRules& rules);

// As a specification writes it: {"alike": ["node/gpu-name"], "devices": 4, "memory_gib": 12, "prefer": {...}, "require": {...}};
// "" for none. What is stored says besides which values are settled, in "settled"; it reads back by stored_placement(). Anything else is refused with the field.
std::string placement_text(const PlacementRules& rules);
absl::StatusOr<PlacementRules> read_placement(const Json& json);
PlacementPtr stored_placement(const std::string& text);  // null where it cannot be read, too

// Rules that replace others: what was settled stays so where it is still to be alike, and allowed.
std::string with_settled(const std::string& rules, const std::string& former);

// What a worker may be matched by: what was granted to it, and what it says of its machine. The rest of what it says is
// kept for people.
struct WorkerLabels {
  Labels granted, announced;
  Labels effective() const;
};
std::string labels_text(const WorkerLabels& labels);  // JSON: {"announced": {...}, "granted": {...}}; "" for none
WorkerLabels stored_labels(const std::string& text);

}  // namespace locus
