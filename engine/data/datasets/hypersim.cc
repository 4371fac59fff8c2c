// Hypersim (Roberts et al. 2021) as its scripts unpack it: ai_VVV_NNN/images/scene_cam_XX_{final_preview,geometry_hdf5,final_hdf5}, with
// the tables of its repository beside: metadata_images_split_scene_v1.csv (which frames are public, of which part) and
// metadata_camera_parameters.csv. Stored is the distance to the optical center; samples have planar depth.
#include "engine/data/stored/hypersim.h"
#include "core/base/sha256.h"
#include "engine/data/stored/file_reader.h"
#include "engine/data/stored/item.h"
#include "engine/data/stored/table.h"

namespace locus::engine::datasets {
namespace {

constexpr const char *kFrames = "metadata_images_split_scene_v1.csv", *kCameras = "metadata_camera_parameters.csv";
constexpr const char* kDepthChoices[] = {"planar", "planar_focal", "distance"};  // in the order of HypersimDepth
constexpr std::int64_t kCamerasMost = 64 << 20;                                  // bytes

// "7" -> "frame.0007."
std::string frame_of(const std::string& id) {
  return "frame." + std::string(id.size() < 4 ? 4 - id.size() : 0, '0') + id + ".";
}

Listing list_hypersim(const std::filesystem::path& folder, bool color) {
  const TextTable table(folder / kFrames, ',');
  const std::vector<std::string> scenes = table.column("scene_name"), cameras = table.column("camera_name"),
                                 frames = table.column("frame_id"), parts = table.column("split_partition_name"),
                                 published = table.column("included_in_public_release");
  Listing out;
  for (const char* part : {"train", "val", "test"}) out.parts[part];
  out.notes.push_back("cameras " + sha256_hex(read_text_file(folder / kCameras, kCamerasMost)));
  for (std::size_t i = 0; i < table.rows(); ++i) {
    if (published[i] != "True") continue;
    const auto part = out.parts.find(parts[i]);
    if (part == out.parts.end()) {
      out.misfits.add((folder / kFrames).string() + " has the part '" + parts[i] + "': train, val and test are known");
      continue;
    }
    const std::string camera = scenes[i] + "/images/scene_" + cameras[i], frame = frame_of(frames[i]);
    ListedImage image;
    image.name = camera + (color ? "_final_hdf5/" + frame + "color.hdf5" : "_final_preview/" + frame + "tonemap.jpg");
    image.beside = {camera + "_geometry_hdf5/" + frame + "depth_meters.hdf5"};
    if (color) image.beside.push_back(camera + "_geometry_hdf5/" + frame + "render_entity_id.hdf5");
    part->second.push_back(std::move(image));
  }
  return out;
}

HypersimDepth depth_named(const std::string& name) {
  for (std::size_t i = 0; i < std::size(kDepthChoices); ++i) {
    if (name == kDepthChoices[i]) return static_cast<HypersimDepth>(i);
  }
  throw std::invalid_argument("no depth '" + name + "' of hypersim");
}

void complete_hypersim(StoredLayout& here, const Options& options) {
  const HypersimRules rules{depth_named(options.text("depth")), options.text("image") == "color"};
  here.list = [color = rules.color](const std::filesystem::path& folder) { return list_hypersim(folder, color); };
  here.format = [rules](const std::filesystem::path& folder) {
    return hypersim_format(read_hypersim_cameras(folder / kCameras), rules);
  };
}

}  // namespace

DatasetItem hypersim() {
  StoredLayout layout;
  layout.dataset = layout.folder = "hypersim";
  layout.places = {kFrames, kCameras};
  layout.validation = "val";
  layout.test = "test";
  layout.labeled = false;
  layout.get =
      "get the frames with the scripts of github.com/apple/ml-hypersim, and from its folder of metadata "
      "metadata_images_split_scene_v1.csv and metadata_camera_parameters.csv";
  Item item("dataset", "hypersim", 1,
            "59,543 training, 7,386 validation and 7,690 test frames of rendered rooms with depth in meters");
  item.set("paper", "Hypersim: A Photorealistic Synthetic Dataset for Holistic Indoor Scene Understanding");
  item.option(
      Option::text("depth", "planar",
                   "of a pixel: along the optical axis by the rays of its scene's camera; by one focal length and "
                   "a center in the middle; or the distance to the optical center, as it is stored")
          .choices({kDepthChoices[0], kDepthChoices[1], kDepthChoices[2]})
          .neutral("planar"));
  item.option(
      Option::text("image", "tonemap",
                   "the published preview (tonemap.jpg), or the same tone map of the rendered colors, without the "
                   "loss of JPEG")
          .choices({"tonemap", "color"})
          .neutral("tonemap"));
  constexpr PublishedSizes kPublished{.train = 59543, .test = 7690, .validation = 7386};
  return stored_item(
      std::move(item), layout, kPublished, {.holdout = false, .classes = false},
      {{"targets", Json::array({kDepth})},
       {"depth", {{"unit", "m"}, {"unknown", 0}}},
       {"defaults", {{"input", "dense"}, {"input.size", 224}, {"input.side", "height"}, {"input.margin", 1.07}}}},
      complete_hypersim);
}

}  // namespace locus::engine::datasets
