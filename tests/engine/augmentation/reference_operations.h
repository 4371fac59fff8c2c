// The operations a second time, pixel by pixel from their formulas, without a line of engine/images.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "engine/augmentation/operations.h"

namespace locus::engine::test {

using ReferenceOperation = std::function<Image(const Image& image, double argument, const Canvas& canvas)>;

// By the names of pillow_operations() and torchvision_operations().
const std::map<std::string, ReferenceOperation, std::less<>>& reference_pillow();
const std::map<std::string, ReferenceOperation, std::less<>>& reference_torchvision();

// Value of channel c at (y, x); indices outside are moved to the border.
int value_at(const Image& image, int y, int x, int c);
// An image of the same extent whose value at (y, x, c) is what `value` gives.
Image made(const Image& like, const std::function<int(int y, int x, int c)>& value);

}  // namespace locus::engine::test
