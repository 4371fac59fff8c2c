// Opens, reads, decodes.
#include "engine/data/stored/stored_source.h"

#include "engine/base/failure.h"
#include "engine/data/pixels.h"
#include "engine/data/stored/file_reader.h"

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
  StoredSample(const StoredFormat& format, StoredFiles files, const ImageSize& size)
      : format_(format), files_(std::move(files)), size_(size) {
    const ImageHeader header = format_.header(files_);
    if (ImageSize{header.height, header.width} != size_) changed(files_.image.path);
  }

  ImageSize size() const override { return size_; }
  Image part(const Box& box) const override { return format_.part(files_, box); }
  Sample rest() const override { return format_.targets(files_, size_); }
  Sample decoded() const override {
    Sample out = rest();
    out.emplace(kImage, tensor_of(format_.image(files_)));
    return out;
  }
  Image pixels() const { return format_.image(files_); }
  StoredFiles take_files() { return std::move(files_); }

 private:
  const StoredFormat& format_;
  StoredFiles files_;
  const ImageSize size_;
};

// An image that was decoded before.
class KeptSample final : public UndecodedSample {
 public:
  // Of `files` the image may be missing.
  KeptSample(const DecodedImages& decoded, std::int64_t row, const StoredFormat& format, StoredFiles files,
             const ImageSize& size)
      : decoded_(decoded), row_(row), format_(format), files_(std::move(files)), size_(size) {}

  ImageSize size() const override { return size_; }
  Image part(const Box& box) const override { return decoded_.part(row_, box); }
  Sample rest() const override { return format_.targets(files_, size_); }
  Sample decoded() const override {
    Sample out = rest();
    out.emplace(kImage, tensor_of(whole()));
    return out;
  }

 private:
  const DecodedImages& decoded_;
  const std::int64_t row_;
  const StoredFormat& format_;
  const StoredFiles files_;
  const ImageSize size_;
};

class StoredSource : public Source {
 public:
  StoredSource(std::filesystem::path root, std::shared_ptr<const ImageManifest> manifest,
               std::shared_ptr<const StoredFormat> format, const std::string& part, std::vector<std::int64_t> rows,
               std::shared_ptr<DecodedImages> decoded)
      : root_(std::move(root)),
        manifest_(std::move(manifest)),
        format_(std::move(format)),
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
    const ImageSize size{image.height, image.width};
    StoredFiles files{image.name, image.label, {root_ / image.name}, beside_of(image)};
    if (decoded_ && decoded_->has(row))
      return std::make_unique<KeptSample>(*decoded_, row, *format_, std::move(files), size);
    files.image.bytes = bytes_of_image(image);
    auto file = std::make_unique<StoredSample>(*format_, std::move(files), size);
    if (!decoded_) return file;
    decoded_->fill(row, [&] { return file->pixels(); });
    if (!decoded_->has(row)) return file;  // somebody else is at it
    return std::make_unique<KeptSample>(*decoded_, row, *format_, file->take_files(), size);
  }

  // The files, the image's pixels as they are decoded and as a tensor, and what the format makes of the others.
  std::int64_t bytes(std::int64_t index) const override {
    const ManifestImage& image = at(index);
    std::int64_t out = image.bytes + 2 * kChannels * image.height * image.width;
    for (const BesideFile& file : image.beside) out += file.bytes;
    return out + format_->bytes({image.height, image.width});
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

  std::vector<FileBytes> beside_of(const ManifestImage& image) const {
    std::vector<FileBytes> out;
    for (const BesideFile& one : image.beside) {
      const ReadFile file(root_ / one.name);
      if (file.size() != one.bytes) changed(root_ / one.name);
      out.push_back({root_ / one.name, file.read(0, one.bytes)});
    }
    return out;
  }

  const std::filesystem::path root_;
  const std::shared_ptr<const ImageManifest> manifest_;
  const std::shared_ptr<const StoredFormat> format_;
  const std::vector<ManifestImage>& images_;
  const std::vector<std::int64_t> rows_;
  const std::shared_ptr<DecodedImages> decoded_;  // null: images are decoded each time
  std::vector<std::unique_ptr<ReadFile>> shards_;
};

}  // namespace

std::shared_ptr<const Source> stored_source(const std::filesystem::path& root,
                                            std::shared_ptr<const ImageManifest> manifest,
                                            std::shared_ptr<const StoredFormat> format, const std::string& part,
                                            std::vector<std::int64_t> rows, std::shared_ptr<DecodedImages> decoded) {
  return std::make_shared<StoredSource>(root, std::move(manifest), std::move(format), part, std::move(rows),
                                        std::move(decoded));
}

}  // namespace locus::engine
