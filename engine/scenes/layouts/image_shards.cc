// Tar shards of WebDataset's layout, with the files of the ImageNet folders: <8 digits>.jpg and .cls, train-<k>.tar and
// val-0.tar, and timm's _info.json. Training samples lie in an order of their own, not by class.
#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "engine/base/draws.h"
#include "engine/scenes/class_files.h"

namespace locus::engine::scenes::layouts {
namespace {

constexpr const char* kShardsFolder = "image-shards";

// A plain tar file (ustar), its members without owner or time.
class TarFile {
 public:
  explicit TarFile(std::filesystem::path path)
      : path_(std::move(path)), archive_(::archive_write_new(), ::archive_write_free) {
    if (!archive_) throw std::bad_alloc();
    check(::archive_write_set_format_ustar(archive_.get()));
    check(::archive_write_open_filename(archive_.get(), path_.c_str()));
  }

  void add(const std::string& name, std::span<const std::byte> bytes) {
    const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(::archive_entry_new(), ::archive_entry_free);
    if (!entry) throw std::bad_alloc();
    ::archive_entry_set_pathname(entry.get(), name.c_str());
    ::archive_entry_set_filetype(entry.get(), AE_IFREG);
    ::archive_entry_set_perm(entry.get(), 0644);
    ::archive_entry_set_mtime(entry.get(), 0, 0);
    ::archive_entry_set_size(entry.get(), static_cast<la_int64_t>(bytes.size()));
    check(::archive_write_header(archive_.get(), entry.get()));
    if (::archive_write_data(archive_.get(), bytes.data(), bytes.size()) != static_cast<la_ssize_t>(bytes.size()))
      check(ARCHIVE_FATAL);
  }
  void add(const std::string& name, std::string_view text) { add(name, std::as_bytes(std::span(text))); }
  void close() { check(::archive_write_close(archive_.get())); }

 private:
  void check(int result) const {
    if (result == ARCHIVE_OK) return;
    const char* why = ::archive_error_string(archive_.get());
    throw std::runtime_error(path_.string() +
                             " cannot be written: " + (why == nullptr ? "libarchive does not say why" : why));
  }

  std::filesystem::path path_;
  std::unique_ptr<archive, int (*)(archive*)> archive_;
};

// The files of a part, those of training by a draw of each.
std::vector<ClassFile> ordered(const ScenesSettings& settings, bool training) {
  const RandomStreams random(settings.seed);
  std::vector<std::pair<double, ClassFile>> drawn;
  for (const ClassFile& file : class_files(settings)) {
    if (file.training != training) continue;
    const auto place = static_cast<std::uint64_t>(file.number * kKinds + file.kind);
    drawn.emplace_back(training ? draw_unit(random, "scenes", "image-shards.order", {0, place, 0}) : 0, file);
  }
  std::stable_sort(drawn.begin(), drawn.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<ClassFile> out;
  for (const auto& [draw, file] : drawn) out.push_back(file);
  return out;
}

// Writes one part in `shards` files of nearly equal length; its entry of _info.json.
Json make_part(ScenesWork& work, const std::string& part, int shards) {
  const std::vector<ClassFile> files = ordered(work.settings(), part == "train");
  Json names = Json::array(), lengths = Json::array();
  for (int shard = 0; shard < shards; ++shard) {
    const std::string name = part + "-" + std::to_string(shard) + ".tar";
    const std::size_t count = files.size(),
                      first = count * static_cast<std::size_t>(shard) / static_cast<std::size_t>(shards);
    const std::size_t end = count * static_cast<std::size_t>(shard + 1) / static_cast<std::size_t>(shards);
    TarFile tar(work.place(std::filesystem::path(kShardsFolder) / name));
    for (std::size_t i = first; i < end; ++i) {
      const std::string key = padded(static_cast<std::int64_t>(i), 8);
      tar.add(key + ".jpg", work.read("imagenet-1k" / imagenet_name(files[i])));
      tar.add(key + ".cls", std::to_string(files[i].kind));
    }
    tar.close();
    work.count_file();
    names.push_back(name);
    lengths.push_back(end - first);
  }
  return {{"name", part}, {"filenames", names}, {"shard_lengths", lengths}, {"num_samples", files.size()}};
}

void make_shards(ScenesWork& work) {
  const Json info = {
      {"splits", {{"train", make_part(work, "train", work.settings().shards)}, {"val", make_part(work, "val", 1)}}}};
  work.write(std::filesystem::path(kShardsFolder) / "_info.json", info.dump(2) + "\n");
}

std::int64_t count_shards_files(const ScenesSettings& settings) { return settings.shards + 2; }

}  // namespace

ScenesLayout image_shards() {
  return {kShardsFolder, "tar shards of WebDataset's layout with the files of imagenet-1k", count_shards_files,
          make_shards};
}

}  // namespace locus::engine::scenes::layouts
