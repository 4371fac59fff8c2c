// A dataset of labeled images in memory, whose validation split is the last part of its training part.
#pragma once

#include "engine/data/dataset.h"

namespace locus::engine {

struct CarvedSizes {
  std::int64_t train = 0, validation = 0, test = 0;  // validation: the last rows of the training part
};

// Reads each part once, when first asked for. Thread-compatible.
class CarvedDataset : public Dataset {
 public:
  CarvedDataset(const CarvedSizes& sizes, Normalization normalization)
      : sizes_(sizes), normalization_(std::move(normalization)) {}

  std::shared_ptr<const Source> split(std::string_view name) override;
  const Normalization& normalization() const override { return normalization_; }

 protected:
  const CarvedSizes& sizes() const { return sizes_; }

 private:
  // All of a part: "image" uint8 [N, C, H, W] and "label" int64 [N]. Throws DataError.
  virtual Batch read_training() const = 0;  // train + validation rows
  virtual Batch read_test() const = 0;

  CarvedSizes sizes_;
  Normalization normalization_;
  std::shared_ptr<const Source> train_, validation_, test_;
};

}  // namespace locus::engine
