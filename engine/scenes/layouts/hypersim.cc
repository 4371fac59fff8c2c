// Hypersim's layout: ai_<volume>_<scene>/images/scene_cam_00_{final_preview,geometry_hdf5,final_hdf5}/frame.<k>.*, the tables of frames
// and cameras. Twenty frames are a scene with one camera, whose focal length is the height; every second camera's picture is
// shifted. A plain backdrop is no geometry: no distance (NaN) and the entity -1, as where Hypersim has windows.
#include <cmath>
#include <limits>

#include "engine/data/stored/hypersim.h"
#include "engine/hdf5/hdf5.h"
#include "engine/images/encode.h"
#include "engine/scenes/class_files.h"

namespace locus::engine::scenes::layouts {
namespace {

constexpr int kFramesOfScene = 20;
const std::filesystem::path kHypersimFolder = "hypersim";

struct HypersimPart {
  const char* name;
  int count;
  bool training;  // of the garments
};

std::array<HypersimPart, 3> parts_of(const ScenesSettings& settings) {
  return {{{"train", settings.dense_train, true},
           {"val", settings.dense_validation, true},
           {"test", settings.dense_validation, false}}};
}

ImageSize frame_size(const ScenesSettings& settings) {
  return {settings.shorter_least, static_cast<int>(settings.shorter_least * 1.3334)};
}

HypersimCamera camera_of(int scene, const ImageSize& size) {
  const double focal = std::min(size.height, size.width);
  const double across = size.width / 2.0 / focal, down = size.height / 2.0 / focal;
  const double shift = scene % 2 == 0 ? 0 : 0.08;
  return {{across, 0, shift, 0, down, -shift / 2, 0, 0, -1}, 1 / across, 1 / down};
}

std::string camera_row(const std::string& name, const HypersimCamera& camera, const ImageSize& size) {
  std::string out = name + "," + std::to_string(size.width) + "," + std::to_string(size.height);
  for (const double value : camera.ray_of_uv) out += "," + Json(value).dump();
  const std::array<double, 16> project = {
      camera.project_x, 0, 0, 0, 0, camera.project_y, 0, 0, 0, 0, -1, -1, 0, 0, -1, 0};
  for (const double value : project) out += "," + Json(value).dump();
  return out + "\n";
}

std::string camera_header() {
  std::string out = "scene_name,settings_output_img_width,settings_output_img_height";
  for (int i = 0; i < 9; ++i) out += ",M_cam_from_uv_" + std::to_string(i / 3) + std::to_string(i % 3);
  for (int i = 0; i < 16; ++i) out += ",M_proj_" + std::to_string(i / 4) + std::to_string(i % 4);
  return out + "\n";
}

// Writes the files of a frame under `camera`/../frame.
void write_frame(ScenesWork& work, const Scene& scene, const Rendered& rendered, const HypersimCamera& camera,
                 const std::filesystem::path& images, const std::string& frame) {
  const ImageSize size{scene.height, scene.width};
  const std::vector<std::int64_t> shape = {size.height, size.width};
  Hdf5Floats distance{shape, rendered.depth}, color{{size.height, size.width, 3}, {}};
  Hdf5Integers entity{shape, {}};
  const bool open = scene.background.kind == Backdrop::kPlain;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const auto at = static_cast<std::size_t>(y) * static_cast<std::size_t>(size.width) + static_cast<std::size_t>(x);
      const bool nothing = open && rendered.object[at] == 0;
      entity.numbers.push_back(nothing ? -1 : rendered.object[at] + 1);
      float& value = distance.numbers[at];
      value = nothing ? std::numeric_limits<float>::quiet_NaN()
                      : static_cast<float>(value / planar_share(camera, HypersimDepth::kPlanar, size, y, x));
    }
  }
  for (const std::uint8_t pixel : rendered.image.pixels)
    color.numbers.push_back(static_cast<float>(std::pow(pixel / 255.0, 2.2)));
  const std::filesystem::path geometry = images / "scene_cam_00_geometry_hdf5";
  work.write(images / "scene_cam_00_final_preview" / (frame + "tonemap.jpg"), encode_jpeg(rendered.image, 90));
  work.write(images / "scene_cam_00_final_hdf5" / (frame + "color.hdf5"), write_hdf5_halves("dataset", color));
  work.write(geometry / (frame + "depth_meters.hdf5"), write_hdf5_halves("dataset", distance));
  work.write(geometry / (frame + "render_entity_id.hdf5"), write_hdf5_integers("dataset", entity));
}

void make_hypersim(ScenesWork& work) {
  std::string frames =
      "scene_name,camera_name,frame_id,included_in_public_release,exclude_reason,split_partition_name\n";
  std::string cameras = camera_header();
  const ImageSize size = frame_size(work.settings());
  int scene_number = 0;
  for (const HypersimPart& part : parts_of(work.settings())) {
    for (int number = 0; number < part.count; ++number) {
      if (number % kFramesOfScene == 0) ++scene_number;
      const std::string scene_name = "ai_001_" + padded(scene_number, 3);
      const HypersimCamera camera = camera_of(scene_number, size);
      const int frame = number % kFramesOfScene;
      if (frame == 0) {
        cameras += camera_row(scene_name, camera, size);
        frames += scene_name + ",cam_00,99,False,no frame of this number," + part.name + "\n";
      }
      SceneWish wish;
      wish.set = std::string("hypersim.") + part.name;
      wish.number = number;
      wish.shorter_least = wish.shorter_most = size.height;
      wish.aspect_least = wish.aspect_most = 1.3334;
      wish.wide = true;
      wish.main_least = 0.35;
      wish.main_most = 0.8;
      wish.objects_most = 6;
      const Scene scene = work.scene(wish, part.training);
      write_frame(work, scene, work.rendered(scene, part.training), camera, kHypersimFolder / scene_name / "images",
                  "frame." + padded(frame, 4) + ".");
      frames += scene_name + ",cam_00," + std::to_string(frame) + ",True,," + part.name + "\n";
    }
  }
  work.write(kHypersimFolder / "metadata_images_split_scene_v1.csv", frames);
  work.write(kHypersimFolder / "metadata_camera_parameters.csv", cameras);
}

std::int64_t count_hypersim_files(const ScenesSettings& settings) {
  std::int64_t frames = 0;
  for (const HypersimPart& part : parts_of(settings)) frames += part.count;
  return 4 * frames + 2;
}

}  // namespace

ScenesLayout hypersim() {
  return {"hypersim", "Hypersim's frames: images, distances in HDF5, cameras; a plain backdrop has no distance",
          count_hypersim_files, make_hypersim};
}

}  // namespace locus::engine::scenes::layouts
