// Opens, reads, decodes.
#include "engine/data/stored/stored_source.h"

#include "engine/base/failure.h"
#include "engine/data/pixels.h"
#include "engine/data/stored/file_reader.h"
#include "engine/images/decode.h"

namespace locus::engine {
namespace {

constexpr std::int64_t kChannels = 3;

[[noreturn]] void changed(const std::filesystem::path& file) {
  throw DataError(file.string() +
                  " was changed since the dataset was read through; put the copy in order and verify it again "
                  "(locus data verify)");
}

// The bytes of an image's file.
class StoredSample final : public UndecodedSample {
 public:
  StoredSample(std::filesystem::path file, const ManifestImage& image, std::vector<std::byte> bytes)
      : file_(std::move(file)), size_{image.height, image.width}, label_(image.label), bytes_(std::move(bytes)) {
    const ImageHeader header = naming_file([&] { return read_header(bytes_); });
    if (ImageSize{header.height, header.width} != size_) changed(file_);
  }

  ImageSize size() const override { return size_; }
  Image part(const Box& box) const override {
    return naming_file([&] { return decode_part(bytes_, box); });
  }
  Sample rest() const override { return {{kLabel, at::scalar_tensor(label_, at::kLong)}}; }
  Sample decoded() const override {
    Sample out = rest();
    out.emplace(kImage, tensor_of(naming_file([&] { return decode(bytes_); })));
    return out;
  }

 private:
  template <typename Step>
  std::invoke_result_t<Step> naming_file(const Step& step) const {
    try {
      return step();
    } catch (const ImageError& error) {
      throw DataError(file_.string() + " " + error.what());
    }
  }

  const std::filesystem::path file_;
  const ImageSize size_;
  const std::int64_t label_;
  const std::vector<std::byte> bytes_;
};

// An image that was decoded before.
class KeptSample final : public UndecodedSample {
 public:
  KeptSample(const DecodedImages& decoded, std::int64_t row, const ManifestImage& image)
      : decoded_(decoded), row_(row), size_{image.height, image.width}, label_(image.label) {}

  ImageSize size() const override { return size_; }
  Image part(const Box& box) const override { return decoded_.part(row_, box); }
  Sample rest() const override { return {{kLabel, at::scalar_tensor(label_, at::kLong)}}; }
  Sample decoded() const override {
    Sample out = rest();
    out.emplace(kImage, tensor_of(whole()));
    return out;
  }

 private:
  const DecodedImages& decoded_;
  const std::int64_t row_;
  const ImageSize size_;
  const std::int64_t label_;
};

class StoredSource : public Source {
 public:
  StoredSource(std::filesystem::path root, std::shared_ptr<const ImageManifest> manifest, const std::string& part,
               std::vector<std::int64_t> rows, std::shared_ptr<DecodedImages> decoded)
      : root_(std::move(root)),
        manifest_(std::move(manifest)),
        images_(manifest_->parts.at(part)),
        rows_(std::move(rows)),
        decoded_(std::move(decoded)) {
    for (const std::string& name : manifest_->shards) shards_.push_back(std::make_unique<ReadFile>(root_ / name));
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(rows_.size()); }

  Sample read(std::int64_t index) const override { return open(index)->decoded(); }

  std::unique_ptr<UndecodedSample> open(std::int64_t index) const override {
    const ManifestImage& image = at(index);
    const std::int64_t row = rows_[static_cast<std::size_t>(index)];
    if (decoded_ && decoded_->has(row)) return std::make_unique<KeptSample>(*decoded_, row, image);
    auto file = std::make_unique<StoredSample>(root_ / image.name, image, bytes_of_image(image));
    if (!decoded_) return file;
    decoded_->fill(row, [&] { return file->whole(); });
    if (!decoded_->has(row)) return file;  // somebody else is at it
    return std::make_unique<KeptSample>(*decoded_, row, image);
  }

  // The file, its pixels as they are decoded and as a tensor.
  std::int64_t bytes(std::int64_t index) const override {
    const ManifestImage& image = at(index);
    return image.bytes + 2 * kChannels * image.height * image.width + static_cast<std::int64_t>(sizeof(std::int64_t));
  }

 private:
  const ManifestImage& at(std::int64_t index) const {
    return images_.at(static_cast<std::size_t>(rows_.at(static_cast<std::size_t>(index))));
  }

  std::vector<std::byte> bytes_of_image(const ManifestImage& image) const {
    if (image.shard >= 0) return shards_.at(static_cast<std::size_t>(image.shard))->read(image.offset, image.bytes);
    const ReadFile file(root_ / image.name);
    if (file.size() != image.bytes) changed(root_ / image.name);
    return file.read(0, image.bytes);
  }

  const std::filesystem::path root_;
  const std::shared_ptr<const ImageManifest> manifest_;
  const std::vector<ManifestImage>& images_;
  const std::vector<std::int64_t> rows_;
  const std::shared_ptr<DecodedImages> decoded_;  // null: images are decoded each time
  std::vector<std::unique_ptr<ReadFile>> shards_;
};

}  // namespace

std::shared_ptr<const Source> stored_source(const std::filesystem::path& root,
                                            std::shared_ptr<const ImageManifest> manifest, const std::string& part,
                                            std::vector<std::int64_t> rows, std::shared_ptr<DecodedImages> decoded) {
  return std::make_shared<StoredSource>(root, std::move(manifest), part, std::move(rows), std::move(decoded));
}

}  // namespace locus::engine
