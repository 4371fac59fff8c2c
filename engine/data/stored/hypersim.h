// Hypersim's frames: images, and distances as depth along the optical axis.
#pragma once

#include <array>
#include <map>
#include <memory>

#include "engine/data/stored/format.h"

namespace locus::engine {

// Of a scene.
struct HypersimCamera {
  std::array<double, 9>
      ray_of_uv{};  // M_cam_from_uv, rows: the ray of (u, v, 1), u, v in -1..1 to the right and upwards
  double project_x = 0, project_y = 0;  // M_proj_00, M_proj_11: focal length over half the width, over half the height
};

enum class HypersimDepth {
  kPlanar,       // by the rays of the scene's camera
  kPlanarFocal,  // by one focal length and a center in the middle, as the preprocessing of CUT3R does
  kDistance      // as it is stored: to the optical center
};

struct HypersimRules {
  HypersimDepth depth = HypersimDepth::kPlanar;
  bool color = false;  // images are color.hdf5 with render_entity_id.hdf5 as the second file beside; else JPEG
};

// By scene. Throws DataError where the table (metadata_camera_parameters.csv) is damaged or lacks a column.
std::map<std::string, HypersimCamera> read_hypersim_cameras(const std::filesystem::path& table);

// What the distance to the optical center is multiplied by to be the depth of pixel (row, column) of an image of that size. Throws
// std::invalid_argument where the camera has no such depth (a ray across or against the axis).
double planar_share(const HypersimCamera& camera, HypersimDepth depth, const ImageSize& size, int row, int column);

// Hypersim's own tone map, 8-bit RGB: the pixels with an entity (not -1) have their 90th percentile of luma at 0.8 after the
// exponent 1 / 2.2; values cut to whole numbers. `color` [H, W, 3], `entity` [H, W].
Image hypersim_tone_map(const std::vector<float>& color, const std::vector<std::int32_t>& entity,
                        const ImageSize& size);

// Samples are "image" and "depth" float32 [H, W], from the first file beside (depth_meters.hdf5); 0 where it is no number, infinite or
// not above 0.
std::shared_ptr<const StoredFormat> hypersim_format(std::map<std::string, HypersimCamera> cameras,
                                                    const HypersimRules& rules);

}  // namespace locus::engine
