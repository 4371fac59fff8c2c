// The names of other programs as keys of series.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "core/experiment/model.h"

namespace locus {

// "train/loss" is loss of the split train, "validation/top1/resolution=42" has a label, as exports write them; "val" and
// "valid" are the split validation. Any other name is a metric without a split: "loss", "charts/return". INVALID_ARGUMENT
// for an empty name, one of more than 128 bytes, or one that is no UTF-8. Pure.
absl::StatusOr<SeriesKey> series_key_of(const std::string& name);

}  // namespace locus
