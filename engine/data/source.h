// Where samples come from: memory or files.
#pragma once

#include "engine/data/undecoded.h"

namespace locus::engine {

// The samples of one split, by index. Immutable; thread-safe.
class Source {
 public:
  virtual ~Source() = default;
  virtual std::int64_t size() const = 0;
  // Reads and decodes sample `index` of 0..size()-1. Throws DataError naming the file and what is wrong with it. Some
  // threads call it at once, for any indexes.
  virtual Sample read(std::int64_t index) const = 0;
  // Sample `index` with its image not decoded yet, for a step that needs a part of it; null where read() is all there is. What
  // comes of it takes no more than bytes() says. Throws and may be called as read().
  virtual std::unique_ptr<UndecodedSample> open(std::int64_t) const { return nullptr; }
  // Bytes that reading the sample takes at most, its own included. Must be cheap: it reads no file.
  virtual std::int64_t bytes(std::int64_t index) const = 0;
  // All samples stacked, [N, ...] by name, where they lie in memory; null where they are read when asked for. Lives as
  // long as the source.
  virtual const Batch* resident() const { return nullptr; }
};

// Samples in memory: row i of every tensor is of sample i. Shares the tensors. Throws std::invalid_argument when there
// is none or their first extents differ.
std::shared_ptr<const Source> resident_source(Batch samples);

// Samples `rows` (int64 [n], indexes of `source`) in that order. What is in memory is gathered, and in memory.
std::shared_ptr<const Source> part_of(std::shared_ptr<const Source> source, const Tensor& rows);

}  // namespace locus::engine
