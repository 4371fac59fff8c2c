// What datasets give and models are fed: named tensors.
#pragma once

#include <span>

#include "engine/base/torch.h"

namespace locus::engine {

// Names with one meaning everywhere. "image.NAME" names one more image of a sample: a crop, a view.
inline constexpr const char* kImage = "image";    // [C, H, W]: uint8 as it was decoded, float32 in batches
inline constexpr const char* kLabel = "label";    // int64 []
inline constexpr const char* kTarget = "target";  // float [C], batches alone: what is learned in place of the label
// float32 [C or 1, 256], batches alone: what each byte of "image" stands for where that is left as bytes.
inline constexpr const char* kByteValues = "values";
inline constexpr const char* kMask = "mask";    // uint8 [H, W]: the class of each pixel, kIgnored where none counts
inline constexpr const char* kDepth = "depth";  // float32 [H, W]: meters along the optical axis, 0 where unknown
inline constexpr std::uint8_t kIgnored = 255;
// Objects of an image, one a row of each: corners x1, y1, x2, y2 in pixels, the pixel's area being 1 (float64 [n, 4]); their
// classes (int64 [n]); and which pixels are theirs (uint8 [n, H, W], 0 or 1).
inline constexpr const char* kBoxes = "boxes";
inline constexpr const char* kBoxClasses = "boxes.class";
inline constexpr const char* kInstances = "instances";
bool is_image(std::string_view name);

// One item of a dataset: CPU tensors of any shape. They may share memory with other samples, so whoever changes one
// makes a new tensor.
using Sample = std::map<std::string, Tensor>;
// Several samples together: the same names, the first dimension counts samples unless a name's owner says otherwise.
using Batch = std::map<std::string, Tensor>;

// Of the elements of all tensors.
std::int64_t bytes_of(const std::map<std::string, Tensor>& tensors);

// Makes a batch of at least one sample, in their order. Images are as the last transform left them: bytes as decoded where
// training has none, float32 and normalized where a split is scored. Called in the threads that decode, for several batches at once.
using Collate = std::function<Batch(std::span<const Sample> samples)>;

// Stacks each name's tensors: [...] to [B, ...]. Throws std::invalid_argument naming the tensor when a sample lacks it
// or its shape or type differs from the first sample's.
Batch stack_samples(std::span<const Sample> samples);

// Stacks as above, but for `names`, whose first extent may differ from sample to sample: those are joined along it, and
// "NAME.count" int64 [B] says how many rows each sample has ("boxes" [sum n, 4] and "boxes.count" [B]).
Collate joining(std::vector<std::string> names);

}  // namespace locus::engine
