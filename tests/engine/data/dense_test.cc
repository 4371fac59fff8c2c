// Readers of images with masks and with depth, on files that the tests write in the published layouts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "engine/data/palette.h"
#include "engine/data/stored/hypersim.h"
#include "engine/data/stored/stored_dataset.h"
#include "engine/hdf5/hdf5.h"
#include "tests/engine/data/stored_fixture.h"

namespace locus::engine {
namespace {

using ::testing::HasSubstr;

std::string gray_png(const std::vector<int>& values, int height, int width) {
  Image out = Image::blank(height, width, 1);
  for (std::size_t i = 0; i < out.pixels.size(); ++i)
    out.pixels[i] = static_cast<std::uint8_t>(values[i % values.size()]);
  return text_of(encode_png(out));
}

std::vector<int> values_of(const Tensor& mask) {
  const Tensor flat = mask.contiguous();
  return {flat.const_data_ptr<std::uint8_t>(), flat.const_data_ptr<std::uint8_t>() + flat.numel()};
}

const Json kAdeOptions = {{"classes", 3}, {"train", 3}, {"validation", 1}, {"test", 1}};

// Three classes, four training images and one that is reported.
void write_ade(const StoredData& data) {
  data.write("ade20k/objectInfo150.txt",
             "Idx\tRatio\tTrain\tVal\tName\n1\t0.5\t2\t1\twall\n2\t0.3\t1\t1\tbuilding, edifice\n3\t0.2\t1\t1\tsky\n");
  for (int i = 1; i <= 4; ++i) {
    const std::string name = "training/ADE_train_0000000" + std::to_string(i);
    data.write("ade20k/images/" + name + ".jpg", jpeg(40 * i, 4, 6));
    data.write("ade20k/annotations/" + name + ".png", gray_png({0, 1, 2, 3, 255, i % 3 + 1}, 4, 6));
  }
  data.write("ade20k/images/validation/ADE_val_00000001.jpg", jpeg(200, 5, 3));
  data.write("ade20k/annotations/validation/ADE_val_00000001.png", gray_png({3}, 5, 3));
}

TEST(Ade20k, CountsClassesFromZeroAndIgnoresWhatIsUnlabeled) {
  const StoredData data;
  write_ade(data);
  const auto dataset = data.open("ade20k", kAdeOptions);
  const Sample sample = dataset->split("test")->read(0);
  EXPECT_EQ(sample.at(kImage).sizes(), (at::IntArrayRef{3, 5, 3}));
  EXPECT_TRUE(at::equal(sample.at(kMask), at::full({5, 3}, 2, at::kByte)));
  EXPECT_FALSE(sample.contains(kLabel));
  const std::vector<int> first = values_of(dataset->split("train")->read(0).at(kMask));
  EXPECT_EQ((std::vector<int>{first.begin(), first.begin() + 5}), (std::vector<int>{255, 0, 1, 2, 255}));
  EXPECT_EQ(dataset->class_names(), (std::vector<std::string>{"wall", "building", "sky"}));
}

TEST(Ade20k, HoldsTheFirstOfAFixedPermutationOutOfItsTrainingImages) {
  const CarvedRows carved = carve("ade20k", 100, 20, Holdout::kFirst);
  const CarvedRows last = carve("ade20k", 100, 80, Holdout::kPermutation);
  EXPECT_EQ(carved.validation.size(), 20u);
  EXPECT_EQ(carved.validation, last.train) << "the same permutation from its other end";
  const StoredData data;
  write_ade(data);
  const auto dataset = data.open("ade20k", kAdeOptions);
  EXPECT_EQ(dataset->split("train")->size(), 3);
  EXPECT_EQ(dataset->split("validation")->size(), 1);
}

TEST(Ade20k, PromisesTheBytesThatItsSamplesTake) {
  const StoredData data;
  write_ade(data);
  const auto source = data.open("ade20k", kAdeOptions)->split("train");
  for (std::int64_t row = 0; row < source->size(); ++row) EXPECT_LE(bytes_of(source->read(row)), source->bytes(row));
}

TEST(Ade20k, TheManifestKnowsTheMasks) {
  const StoredData data, other;
  write_ade(data);
  write_ade(other);
  EXPECT_EQ(data.digest("ade20k", kAdeOptions), other.digest("ade20k", kAdeOptions));
  other.write("ade20k/annotations/training/ADE_train_00000002.png", gray_png({1}, 4, 6));
  EXPECT_NE(data.digest("ade20k", kAdeOptions), other.digest("ade20k", kAdeOptions));
}

TEST(Ade20k, AnImageWithoutALabeledPixelIsSound) {
  const StoredData data;
  write_ade(data);
  data.write("ade20k/annotations/validation/ADE_val_00000001.png", gray_png({0}, 5, 3));
  EXPECT_TRUE(at::equal(data.open("ade20k", kAdeOptions)->split("test")->read(0).at(kMask),
                        at::full({5, 3}, kIgnored, at::kByte)));
}

TEST(Ade20k, AnImageOfOnePixelAndAGrayOneAreSound) {
  const StoredData data;
  write_ade(data);
  data.write("ade20k/images/validation/ADE_val_00000001.jpg", text_of(encode_jpeg(Image::blank(1, 1, 1))));
  data.write("ade20k/annotations/validation/ADE_val_00000001.png", gray_png({2}, 1, 1));
  const Sample sample = data.open("ade20k", kAdeOptions)->split("test")->read(0);
  EXPECT_EQ(sample.at(kImage).sizes(), (at::IntArrayRef{3, 1, 1}));
  EXPECT_EQ(sample.at(kMask).item<int>(), 1);
}

TEST(Ade20k, BadFilesAreNamed) {
  const std::string mask = "ade20k/annotations/training/ADE_train_00000002.png";
  const auto refused = [&](const std::string& name, const std::string& bytes) {
    const StoredData data;
    write_ade(data);
    data.write(name, bytes);
    return data.refused("ade20k", kAdeOptions);
  };
  const std::string size = refused(mask, gray_png({1}, 4, 7));
  EXPECT_THAT(size, HasSubstr("ADE_train_00000002.png has 4 x 7 pixels and its image"));
  EXPECT_THAT(size, HasSubstr("ADE_train_00000002.jpg 4 x 6"));
  const std::string beyond = refused(mask, gray_png({1, 4}, 4, 6));
  EXPECT_THAT(beyond, HasSubstr("ADE_train_00000002.png has a pixel of the value 4"));
  EXPECT_THAT(beyond, HasSubstr("values 1 to 3"));
  EXPECT_THAT(refused(mask, png(3)), HasSubstr("several channels"));
  EXPECT_THAT(refused(mask, "no picture"), HasSubstr("ADE_train_00000002.png"));
  EXPECT_THAT(refused("ade20k/images/training/extra.jpg", jpeg(1)), HasSubstr("extra.jpg has no mask"));
  EXPECT_THAT(refused("ade20k/objectInfo150.txt", "Idx\tClass\n1\ta\n"), HasSubstr("no column 'Name'"));
  EXPECT_THAT(refused("ade20k/objectInfo150.txt", "Idx\tName\n2\ta\n"), HasSubstr("another number"));
}

TEST(Ade20k, FilesThatAreNotSoundMayBeLeftOut) {
  const StoredData data;
  write_ade(data);
  data.write("ade20k/annotations/training/ADE_train_00000002.png", gray_png({1}, 4, 7));
  Json options = kAdeOptions;
  options["train"] = 2;
  options["corrupt"] = "skip";
  EXPECT_EQ(data.open("ade20k", options)->split("train")->size(), 2);
}

TEST(Ade20k, AMaskThatChangesAfterwardsIsNoticed) {
  const StoredData data;
  write_ade(data);
  const auto source = data.open("ade20k", kAdeOptions)->split("test");
  data.write("ade20k/annotations/validation/ADE_val_00000001.png", gray_png({1, 2, 3}, 50, 30));
  EXPECT_THROW(source->read(0), DataError);
}

TEST(Ade20k, HasNamesAndColorsOfAllClasses) {
  const Json facts = dataset_item("ade20k").item.json().at("facts");
  EXPECT_EQ(facts.at("class_names").size(), 150u);
  EXPECT_EQ(facts.at("class_names").at(0), "wall");
  EXPECT_EQ(facts.at("class_names").at(149), "flag");
  std::set<std::string> colors;
  for (const Json& color : facts.at("palette")) colors.insert(color.get<std::string>());
  EXPECT_EQ(colors.size(), 150u);
  EXPECT_EQ(palette_of(2), (Json{"#800000", "#008000"}));
}

TEST(MaskFolder, TakesItsClassesFromAFileAndItsValuesFromTheFirst) {
  const StoredData data;
  data.write("mask-folder/classes.txt", "road\nsky\n");
  data.write("mask-folder/images/train/a/1.png", png(9));
  data.write("mask-folder/masks/train/a/1.png", gray_png({0, 1, 255}, 4, 6));
  data.write("mask-folder/images/val/2.jpg", jpeg(9));
  data.write("mask-folder/masks/val/2.png", gray_png({1}, 4, 6));
  Json options = {{"classes", 2}, {"train", 1}, {"test", 1}, {"manifest", ""}};
  const auto masks = [&] { return values_of(data.open("mask-folder", options)->split("train")->read(0).at(kMask)); };
  EXPECT_EQ(masks()[1], 1);
  options["first"] = 1;
  EXPECT_EQ(masks()[0], 255);
  EXPECT_EQ(masks()[1], 0);
  options["classes"] = 3;
  EXPECT_THAT(data.refused("mask-folder", options), HasSubstr("2 classes"));
}

constexpr double kPi = 3.14159265358979323846;

// The standard camera: a horizontal field of view of pi / 3.
HypersimCamera standard_camera(const ImageSize& size) {
  const double across = std::tan(kPi / 6), down = across * size.height / size.width;
  return {{across, 0, 0, 0, down, 0, 0, 0, -1}, 1 / across, 1 / down};
}

TEST(HypersimDepth, OfTheCornerIsNineteenPercentLessThanTheDistance) {
  const ImageSize size{768, 1024};
  const HypersimCamera camera = standard_camera(size);
  for (const HypersimDepth depth : {HypersimDepth::kPlanar, HypersimDepth::kPlanarFocal})
    EXPECT_NEAR(planar_share(camera, depth, size, 0, 0), 0.811189, 1e-6);
  EXPECT_EQ(planar_share(camera, HypersimDepth::kDistance, size, 0, 0), 1);
}

TEST(HypersimDepth, OfAShiftedCameraGoesByItsRays) {
  const ImageSize size{48, 64};
  HypersimCamera camera = standard_camera(size);
  camera.ray_of_uv[2] = 0.3;
  const double x = camera.ray_of_uv[0] * (2 * 10.5 / 64 - 1) + 0.3, y = camera.ray_of_uv[4] * (1 - 2 * 5.5 / 48);
  EXPECT_NEAR(planar_share(camera, HypersimDepth::kPlanar, size, 5, 10), 1 / std::sqrt(x * x + y * y + 1), 1e-12);
  camera.ray_of_uv[8] = 1;
  EXPECT_THROW(planar_share(camera, HypersimDepth::kPlanar, size, 5, 10), std::invalid_argument);
}

TEST(HypersimToneMap, PutsTheNinetiethPercentileAtFourFifths) {
  std::vector<float> color;
  std::vector<std::int32_t> entity;
  for (int i = 0; i <= 10; ++i) {
    for (int c = 0; c < 3; ++c) color.push_back(static_cast<float>(i));
    entity.push_back(1);
  }
  const Image out = hypersim_tone_map(color, entity, {1, 11});
  EXPECT_NEAR(out.pixels[3 * 9], 204, 1) << "0.8 of 255, which may be cut just below";
  EXPECT_EQ(out.pixels[0], 0);
  EXPECT_EQ(out.pixels[3 * 5], static_cast<int>(255 * 0.8 * std::pow(5.0 / 9, 1 / 2.2)));
  for (std::int32_t& one : entity) one = -1;
  EXPECT_EQ(hypersim_tone_map(color, entity, {1, 11}).pixels[3], 255) << "nothing counts: a scale of 1, cut at 1";
}

const Json kHypersimOptions = {{"train", 1}, {"validation", 1}, {"test", 1}};
const std::string kGeometry = "hypersim/ai_001_001/images/scene_cam_00_geometry_hdf5/frame.";

void write_hypersim(const StoredData& data, const std::vector<float>& distance) {
  std::string frames =
      "scene_name,camera_name,frame_id,included_in_public_release,exclude_reason,split_partition_name\n"
      "ai_001_001,cam_00,9,False,bad,train\n";
  const char* parts[] = {"train", "val", "test"};
  for (int i = 0; i < 3; ++i) {
    frames += "ai_001_001,cam_00," + std::to_string(i) + ",True,," + parts[i] + "\n";
    const std::string frame = "000" + std::to_string(i);
    const std::string images = "hypersim/ai_001_001/images/scene_cam_00_";
    data.write(images + "final_preview/frame." + frame + ".tonemap.jpg", jpeg(80, 2, 3));
    data.write(images + "final_hdf5/frame." + frame + ".color.hdf5",
               text_of(write_hdf5_halves("dataset", {{2, 3, 3}, std::vector<float>(18, 0.5f)})));
    data.write(kGeometry + frame + ".depth_meters.hdf5", text_of(write_hdf5_halves("dataset", {{2, 3}, distance})));
    data.write(kGeometry + frame + ".render_entity_id.hdf5",
               text_of(write_hdf5_integers("dataset", {{2, 3}, {1, 1, 1, 1, 1, -1}})));
  }
  data.write("hypersim/metadata_images_split_scene_v1.csv", frames);
  std::string names = "scene_name", numbers = "ai_001_001";
  const std::vector<double> rays = {1, 0, 0, 0, 0.5, 0, 0, 0, -1};
  for (std::size_t i = 0; i < 9; ++i) {
    names += ",M_cam_from_uv_" + std::to_string(i / 3) + std::to_string(i % 3);
    numbers += "," + std::to_string(rays[i]);
  }
  data.write("hypersim/metadata_camera_parameters.csv", names + ",M_proj_00,M_proj_11\n" + numbers + ",1,2\n");
}

TEST(Hypersim, GivesPlanarDepthAndHolesWhereNothingIsKnown) {
  const StoredData data;
  write_hypersim(data, {4, std::nanf(""), std::numeric_limits<float>::infinity(), -2, 0, 8});
  const Sample sample = data.open("hypersim", kHypersimOptions)->split("validation")->read(0);
  const Tensor depth = sample.at(kDepth);
  ASSERT_EQ(depth.sizes(), (at::IntArrayRef{2, 3}));
  const double share = 1 / std::sqrt(4.0 / 9 + 1.0 / 16 + 1);
  EXPECT_NEAR(depth[0][0].item<double>(), 4 * share, 1e-6);
  EXPECT_NEAR(depth[1][2].item<double>(), 8 * share, 1e-6);
  for (const auto& [row, column] : {std::pair{0, 1}, {0, 2}, {1, 0}, {1, 1}})
    EXPECT_EQ(depth[row][column].item<float>(), 0);
  EXPECT_EQ(sample.at(kImage).sizes(), (at::IntArrayRef{3, 2, 3}));
}

TEST(Hypersim, GivesDistancesAndToneMappedColorsWhereAsked) {
  const StoredData data;
  write_hypersim(data, std::vector<float>(6, 3.0f));
  Json options = kHypersimOptions;
  options["depth"] = "distance";
  options["image"] = "color";
  const Sample sample = data.open("hypersim", options)->split("train")->read(0);
  EXPECT_TRUE(at::equal(sample.at(kDepth), at::full({2, 3}, 3.0f)));
  EXPECT_LE((sample.at(kImage).to(at::kInt) - 204).abs().max().item<int>(), 1) << "one color is its own percentile";
}

TEST(Hypersim, BadFilesAreNamed) {
  const std::vector<float> fine(6, 3.0f);
  const std::string depth = kGeometry + "0000.depth_meters.hdf5";
  const auto refused = [&](const std::string& name, const std::string& bytes) {
    const StoredData data;
    write_hypersim(data, fine);
    data.write(name, bytes);
    return data.refused("hypersim", kHypersimOptions);
  };
  const std::string lacks = refused(depth, text_of(write_hdf5_halves("depth", {{2, 3}, fine})));
  EXPECT_THAT(lacks, HasSubstr("frame.0000.depth_meters.hdf5 has no array 'dataset'"));
  EXPECT_THAT(refused(depth, "no file"), HasSubstr("frame.0000.depth_meters.hdf5 is no HDF5 file"));
  EXPECT_THAT(refused(depth, text_of(write_hdf5_halves("dataset", {{3, 2}, fine}))), HasSubstr("3 x 2 numbers"));
  EXPECT_THAT(refused("hypersim/metadata_camera_parameters.csv", "scene_name\n"), HasSubstr("M_cam_from_uv_00"));
  const StoredData missing;
  write_hypersim(missing, fine);
  std::filesystem::remove(missing.root() / depth);
  EXPECT_THAT(missing.refused("hypersim", kHypersimOptions), HasSubstr("frame.0000.depth_meters.hdf5"));
}

TEST(Hypersim, TheManifestKnowsTheCameras) {
  const std::vector<float> fine(6, 3.0f);
  const StoredData data, other;
  write_hypersim(data, fine);
  write_hypersim(other, fine);
  EXPECT_EQ(data.digest("hypersim", kHypersimOptions), other.digest("hypersim", kHypersimOptions));
  const std::string cameras = "hypersim/metadata_camera_parameters.csv";
  other.write(cameras, read_bytes(other.root() / cameras) + "ai_002_001,1,0,0,0,1,0,0,0,-1,1,1\n");
  EXPECT_NE(data.digest("hypersim", kHypersimOptions), other.digest("hypersim", kHypersimOptions));
}

}  // namespace
}  // namespace locus::engine
