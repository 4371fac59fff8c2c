// Roberts and others, Hypersim (ICCV 2021): geometry and tone map as its repository documents them.
#include "engine/data/stored/hypersim.h"

#include <algorithm>
#include <cmath>

#include "engine/data/stored/table.h"
#include "engine/hdf5/hdf5.h"

namespace locus::engine {
namespace {

constexpr const char* kArray = "dataset";
constexpr std::int64_t kNumbersMost = 3 * 178'956'970ll;  // of an array: as many pixels as an image may have

// "ai_001_001/images/..." -> "ai_001_001"
std::string scene_of(const std::string& name) { return name.substr(0, name.find('/')); }

void check_size(const FileBytes& file, const std::vector<std::int64_t>& shape, const ImageSize& size) {
  if (shape[0] == size.height && shape[1] == size.width) return;
  throw DataError(file.path.string() + " has " + std::to_string(shape[0]) + " x " + std::to_string(shape[1]) +
                  " numbers and its image " + std::to_string(size.height) + " x " + std::to_string(size.width) +
                  " pixels");
}

class HypersimFormat final : public StoredFormat {
 public:
  HypersimFormat(std::map<std::string, HypersimCamera> cameras, const HypersimRules& rules)
      : cameras_(std::move(cameras)), rules_(rules) {}

  std::string id() const override {
    return "hypersim " + std::to_string(static_cast<int>(rules_.depth)) + (rules_.color ? " color" : "");
  }

  ImageHeader header(const StoredFiles& files) const override {
    if (!rules_.color) return StoredFormat::header(files);
    const std::vector<std::int64_t> shape = naming_file<Hdf5Error>(
        files.image.path, [&] { return read_hdf5_shape(files.image.bytes, kArray, 3, kNumbersMost); });
    return {.height = static_cast<int>(shape[0]), .width = static_cast<int>(shape[1]), .channels = 3, .bits = 16};
  }

  Image image(const StoredFiles& files) const override {
    if (!rules_.color) return StoredFormat::image(files);
    const Hdf5Floats color = naming_file<Hdf5Error>(
        files.image.path, [&] { return read_hdf5_floats(files.image.bytes, kArray, 3, kNumbersMost); });
    if (color.shape[2] != 3)
      throw DataError(files.image.path.string() + " has " + std::to_string(color.shape[2]) + " channels, not 3");
    const ImageSize size{static_cast<int>(color.shape[0]), static_cast<int>(color.shape[1])};
    const FileBytes& file = files.beside.at(1);
    const Hdf5Integers entity =
        naming_file<Hdf5Error>(file.path, [&] { return read_hdf5_integers(file.bytes, kArray, 2, kNumbersMost); });
    check_size(file, entity.shape, size);
    return hypersim_tone_map(color.numbers, entity.numbers, size);
  }

  Image part(const StoredFiles& files, const Box& box) const override {
    return rules_.color ? crop(image(files), box) : StoredFormat::part(files, box);
  }

  Sample targets(const StoredFiles& files, const ImageSize& size) const override {
    const FileBytes& file = files.beside.at(0);
    const Hdf5Floats stored =
        naming_file<Hdf5Error>(file.path, [&] { return read_hdf5_floats(file.bytes, kArray, 2, kNumbersMost); });
    check_size(file, stored.shape, size);
    const auto camera = cameras_.find(scene_of(files.name));
    if (camera == cameras_.end() && rules_.depth != HypersimDepth::kDistance)
      throw DataError(file.path.string() + " is of the scene " + scene_of(files.name) +
                      ", which metadata_camera_parameters.csv lacks");
    Tensor out = at::empty({size.height, size.width}, at::kFloat);
    auto* to = out.mutable_data_ptr<float>();
    const float* distance = stored.numbers.data();
    for (int row = 0; row < size.height; ++row) {
      for (int column = 0; column < size.width; ++column, ++distance) {
        const bool known = std::isfinite(*distance) && *distance > 0;
        *to++ = known ? static_cast<float>(*distance * share(camera, size, row, column, file)) : 0.0f;
      }
    }
    return {{kDepth, out}};
  }

  // Distances as they are read, and depth as a tensor.
  std::int64_t bytes(const ImageSize& size) const override {
    constexpr std::int64_t kPixelBytes = 2 * sizeof(float);
    return kPixelBytes * size.height * size.width;
  }

 private:
  using Found = std::map<std::string, HypersimCamera>::const_iterator;

  double share(const Found& camera, const ImageSize& size, int row, int column, const FileBytes& file) const {
    if (rules_.depth == HypersimDepth::kDistance) return 1;
    try {
      return planar_share(camera->second, rules_.depth, size, row, column);
    } catch (const std::invalid_argument& error) {
      throw DataError(file.path.string() + ": " + error.what());
    }
  }

  std::map<std::string, HypersimCamera> cameras_;
  HypersimRules rules_;
};

}  // namespace

std::map<std::string, HypersimCamera> read_hypersim_cameras(const std::filesystem::path& table) {
  const TextTable cameras(table, ',');
  const std::vector<std::string> scenes = cameras.column("scene_name");
  std::map<std::string, HypersimCamera> out;
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) {
      const std::vector<double> numbers =
          cameras.numbers("M_cam_from_uv_" + std::to_string(row) + std::to_string(column));
      for (std::size_t i = 0; i < scenes.size(); ++i)
        out[scenes[i]].ray_of_uv[static_cast<std::size_t>(3 * row + column)] = numbers[i];
    }
  }
  const std::vector<double> across = cameras.numbers("M_proj_00"), down = cameras.numbers("M_proj_11");
  for (std::size_t i = 0; i < scenes.size(); ++i) {
    out[scenes[i]].project_x = across[i];
    out[scenes[i]].project_y = down[i];
  }
  return out;
}

double planar_share(const HypersimCamera& camera, HypersimDepth depth, const ImageSize& size, int row, int column) {
  if (depth == HypersimDepth::kDistance) return 1;
  double share = 0;
  if (depth == HypersimDepth::kPlanarFocal) {
    const double focal = (camera.project_x * size.width / 2 + camera.project_y * size.height / 2) / 2;
    const double x = column + 0.5 - size.width / 2.0, y = row + 0.5 - size.height / 2.0;
    share = focal / std::sqrt(x * x + y * y + focal * focal);
  } else {
    const double u = 2 * (column + 0.5) / size.width - 1, v = 1 - 2 * (row + 0.5) / size.height;
    const auto& m = camera.ray_of_uv;
    const double x = m[0] * u + m[1] * v + m[2], y = m[3] * u + m[4] * v + m[5], z = m[6] * u + m[7] * v + m[8];
    share = -z / std::sqrt(x * x + y * y + z * z);
  }
  if (share > 0) return share;
  throw std::invalid_argument("its camera in metadata_camera_parameters.csv has a ray of row " + std::to_string(row) +
                              ", column " + std::to_string(column) + " that does not point forward");
}

Image hypersim_tone_map(const std::vector<float>& color, const std::vector<std::int32_t>& entity,
                        const ImageSize& size) {
  constexpr double kGamma = 2.2, kBright = 0.8, kPercentile = 0.9, kDark = 1e-4;
  std::vector<double> luma;
  const auto value = [&](std::size_t i) { return std::isfinite(color[i]) ? static_cast<double>(color[i]) : 0.0; };
  for (std::size_t i = 0; i < entity.size(); ++i) {
    if (entity[i] != -1) luma.push_back(0.3 * value(3 * i) + 0.59 * value(3 * i + 1) + 0.11 * value(3 * i + 2));
  }
  double scale = 1;
  if (!luma.empty()) {
    std::sort(luma.begin(), luma.end());
    const double place = kPercentile * static_cast<double>(luma.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, luma.size() - 1);
    const double percentile = luma[below] + (place - static_cast<double>(below)) * (luma[above] - luma[below]);
    scale = percentile < kDark ? 0 : std::pow(kBright, kGamma) / percentile;
  }
  Image out = Image::blank(size.height, size.width, 3);
  for (std::size_t i = 0; i < out.pixels.size(); ++i) {
    const double mapped = std::pow(std::max(scale * value(i), 0.0), 1 / kGamma);
    out.pixels[i] = static_cast<std::uint8_t>(255 * std::clamp(mapped, 0.0, 1.0));
  }
  return out;
}

std::shared_ptr<const StoredFormat> hypersim_format(std::map<std::string, HypersimCamera> cameras,
                                                    const HypersimRules& rules) {
  return std::make_shared<HypersimFormat>(std::move(cameras), rules);
}

}  // namespace locus::engine
