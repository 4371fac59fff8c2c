// Pictures of what a task of maps says: input, prediction, target and error side by side.
#pragma once

#include <filesystem>

#include "engine/data/sample.h"
#include "engine/data/transform.h"
#include "engine/images/image.h"

namespace locus::engine {

// Immutable; thread-safe.
class MapPictures {
 public:
  // `facts`: of the dataset; "palette" gives the classes their colors ("#800000"), "class_names" their names, where it has them:
  // else colors are those of engine/data/palette.h and names numbers. `normalization`: of the images that are drawn. Throws
  // std::invalid_argument on another palette.
  MapPictures(const Json& facts, Normalization normalization);

  // A PNG for each image of a batch that has masks or depths, `said` [B, H, W] being what the task answered. Of masks, right
  // pixels are gray in the error, wrong ones red and unlabeled ones black. Of depths, the prediction is fitted to the target by
  // scale and shift, both share their colors, and below the error, whose colors are those of |p - t|, stands a bar with the
  // numbers of both ends of each scale in meters. Throws std::invalid_argument where the batch has neither.
  std::vector<std::string> draw(const Batch& batch, const Tensor& said) const;

  // The classes in their order, [{"name", "color"}]; empty where there are none.
  Json legend() const;

 private:
  Image of_classes(const Tensor& map) const;  // uint8 [H, W]
  Image of_input(const Tensor& image, std::int64_t height, std::int64_t width) const;
  Image segmentation(const Image& input, const Tensor& said, const Tensor& mask) const;
  static Image depths(const Image& input, const Tensor& said, const Tensor& depth);

  std::vector<std::array<std::uint8_t, 3>> palette_;
  std::vector<std::string> names_;  // as many
  Normalization normalization_;
};

// Writes a file. Throws std::runtime_error naming it.
void write_picture(const std::filesystem::path& path, const std::string& bytes);

}  // namespace locus::engine
