// How many images a second the loader prepares from files: decoding, random resized crop, flip, batches of normalized
// floats. One pass over the files, timed from the first batch asked for to the last one given; bench/loader.py sets it
// beside PyTorch's DataLoader.
//
//   loader_bench FOLDER [--images=1000] [--size=224] [--batch=64] [--interpolation=bicubic] [--threads=2] [--megabytes=256]
//
// FOLDER holds JPEG and PNG files at any depth; a smaller set than --images is shown again. Prints a line of JSON.
#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "engine/augmentation/augmentation.h"
#include "engine/base/failure.h"
#include "engine/data/batch_stream.h"
#include "engine/data/pixels.h"
#include "engine/images/decode.h"

namespace locus {
using namespace engine;
namespace {

namespace fs = std::filesystem;

struct Arguments {
  fs::path folder;
  std::string interpolation = "bicubic";
  std::int64_t images = 1000, size = 224, batch = 64, threads = 2, megabytes = 256;
};

std::vector<std::byte> bytes_of_file(const fs::path& path) {
  std::vector<std::byte> out(fs::file_size(path));
  std::ifstream in(path, std::ios::binary);
  if (!in.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size())))
    throw DataError(path.string() + " cannot be read");
  return out;
}

// A file that was read, decoded as the source of a dataset's files decodes it.
class File final : public UndecodedSample {
 public:
  explicit File(fs::path path) : path_(std::move(path)), bytes_(bytes_of_file(path_)), header_(read_header(bytes_)) {}

  ImageSize size() const override { return {header_.height, header_.width}; }
  Image part(const Box& box) const override {
    try {
      return decode_part(bytes_, box);
    } catch (const ImageError& error) {
      throw DataError(path_.string() + " " + error.what());
    }
  }
  Sample rest() const override { return {}; }
  Sample decoded() const override { return {{kImage, tensor_of(whole())}}; }

 private:
  fs::path path_;
  std::vector<std::byte> bytes_;
  ImageHeader header_;
};

// The image files of a folder, read and decoded when asked for.
class Files : public Source {
 public:
  explicit Files(const fs::path& folder) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      std::string kind = entry.path().extension().string();
      std::transform(kind.begin(), kind.end(), kind.begin(), [](unsigned char c) { return std::tolower(c); });
      if (entry.is_regular_file() && (kind == ".jpeg" || kind == ".jpg" || kind == ".png")) add(entry.path());
    }
    if (files_.empty()) throw std::invalid_argument(folder.string() + " holds no .jpeg, .jpg or .png files");
    std::sort(files_.begin(), files_.end(), [](const Named& a, const Named& b) { return a.path < b.path; });
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(files_.size()); }
  Sample read(std::int64_t index) const override { return open(index)->decoded(); }
  std::unique_ptr<UndecodedSample> open(std::int64_t index) const override {
    return std::make_unique<File>(files_[static_cast<std::size_t>(index)].path);
  }
  std::int64_t bytes(std::int64_t index) const override { return 2 * files_[static_cast<std::size_t>(index)].bytes; }

 private:
  struct Named {
    fs::path path;
    std::int64_t bytes;  // decoded
  };

  void add(const fs::path& path) {
    try {
      const ImageSize size = File(path).size();
      files_.push_back({path, std::int64_t{3} * size.height * size.width});
    } catch (const ImageError& error) {
      throw DataError(path.string() + " " + error.what());
    }
  }

  std::vector<Named> files_;
};

Arguments parse(int count, char** values) {
  Arguments a;
  const std::map<std::string, std::int64_t*> numbers = {{"--images", &a.images},
                                                        {"--size", &a.size},
                                                        {"--batch", &a.batch},
                                                        {"--threads", &a.threads},
                                                        {"--megabytes", &a.megabytes}};
  for (int i = 1; i < count; ++i) {
    const std::string word = values[i];
    const auto equals = word.find('=');
    if (const auto number = numbers.find(word.substr(0, equals));
        number != numbers.end() && equals != std::string::npos) {
      *number->second = std::stoll(word.substr(equals + 1));
      if (*number->second < 1) throw std::invalid_argument("'" + word + "': 1 at least");
    } else if (word.starts_with("--interpolation=")) {
      a.interpolation = word.substr(equals + 1);
    } else if (a.folder.empty() && !word.starts_with("--")) {
      a.folder = word;
    } else {
      throw std::invalid_argument("unknown argument '" + word + "'");
    }
  }
  if (a.folder.empty()) throw std::invalid_argument("name a folder of images");
  return a;
}

int main_of(const Arguments& a) {
  at::set_num_threads(1);  // of this thread, which normalizes
  const auto files = std::make_shared<const Files>(a.folder);
  const Normalization normalization{{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};
  const AugmentationContext context{
      .extent = {a.size, a.size}, .normalization = normalization, .interpolation = a.interpolation};
  const auto augmentation =
      make_augmentation({{"augmentation", {{"id", "crop-flip"}, {"options", Json::object()}}}}, context);
  const RandomStreams random(0);
  std::int64_t planned = 0, given = 0;
  const auto plan = [&]() -> std::optional<PlannedBatch> {
    if (planned + a.batch > a.images) return std::nullopt;
    PlannedBatch batch{planned / files->size(), {}};
    for (std::int64_t i = 0; i < a.batch; ++i) batch.rows.push_back(planned++ % files->size());
    return batch;
  };
  const auto start = std::chrono::steady_clock::now();
  BatchStream stream(files, augmentation->transforms, {}, random, plan,
                     {.threads = static_cast<int>(a.threads), .bytes = a.megabytes << 20});
  while (const std::optional<Batch> batch = stream.next()) {
    const Tensor images =
        augmentation->normalizes ? batch->at(kImage) : normalized(batch->at(kImage), normalization, at::kCPU);
    given += images.size(0);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (given == 0) throw std::invalid_argument("--images is less than one batch");
  std::cout << Json{{"images", given},
                    {"seconds", took.count()},
                    {"images_per_second", static_cast<double>(given) / took.count()},
                    {"files", files->size()},
                    {"threads", a.threads}}
                   .dump()
            << "\n";
  return 0;
}

}  // namespace
}  // namespace locus

int main(int count, char** values) {
  try {
    return locus::main_of(locus::parse(count, values));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "loader_bench: %s\n", error.what());
    return 2;
  }
}
