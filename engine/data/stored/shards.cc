// Indexes archives once; pixels are read by position.
#include "engine/data/stored/shards.h"

#include <algorithm>
#include <charconv>

#include "core/base/json.h"
#include "engine/base/failure.h"
#include "engine/data/stored/tar_index.h"

namespace locus::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kInfoMost = 64 << 20, kFieldMost = 16 << 20;  // bytes
constexpr std::string_view kImages[] = {"jpg", "jpeg", "png", "webp"};

struct Shard {
  std::string name;
  std::int64_t samples = -1;  // as _info.json says; -1: nobody did
};
using Parts = std::map<std::string, std::vector<Shard>>;

// From "train-{000000..000003}.tar" or a plain name: timm writes lists, so this is not read.
Parts parts_of_info(const fs::path& file) {
  const Json info = Json::parse(read_text_file(file, kInfoMost), nullptr, /*allow_exceptions=*/false);
  Parts out;
  try {
    for (const auto& [part, split] : info.at("splits").items()) {
      const auto names = split.at("filenames").get<std::vector<std::string>>();
      const auto lengths = split.at("shard_lengths").get<std::vector<std::int64_t>>();
      if (names.size() != lengths.size())
        throw DataError(file.string() + ": split " + part + " has " + std::to_string(names.size()) + " filenames and " +
                        std::to_string(lengths.size()) + " shard_lengths");
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (fs::path(names[i]).is_absolute() || names[i].find("..") != std::string::npos)
          throw DataError(file.string() + ": the file name " + names[i] + " leads out of the folder");
        out[part].push_back({names[i], lengths[i]});
      }
    }
  } catch (const Json::exception& error) {
    throw DataError(file.string() + " is no index of shards (splits, filenames, shard_lengths): " + error.what());
  }
  return out;
}

Parts parts_by_name(const fs::path& folder) {
  Parts out;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.ends_with(".tar")) continue;
    const std::size_t dash = name.rfind('-');
    if (dash == std::string::npos || dash == 0)
      throw DataError((folder / name).string() + " is of no part: name archives PART-NUMBER.tar, or write _info.json");
    out[name.substr(0, dash)].push_back({name, -1});
  }
  if (error) throw DataError("the folder " + folder.string() + " cannot be read: " + error.message());
  for (auto& [part, shards] : out) {
    std::sort(shards.begin(), shards.end(), [](const Shard& a, const Shard& b) { return a.name < b.name; });
  }
  return out;
}

class ShardReader {
 public:
  ShardReader(const fs::path& folder, std::string name, std::int32_t index, const std::string& label_key)
      : path_(folder / name), name_(std::move(name)), index_(index), label_key_(label_key), file_(path_) {}

  // Appends its samples. Returns how many there are, those left out included.
  std::int64_t list(std::vector<ListedImage>& to) {
    std::int64_t count = 0;
    std::string key;
    std::map<std::string, TarMember> fields;
    const auto end_sample = [&] {
      if (fields.empty()) return;
      ++count;
      add(key, fields, to);
      fields.clear();
    };
    for (TarMember& member : index_tar(file_, path_)) {
      const fs::path base = fs::path(member.name).filename();
      const std::string leaf = base.string();
      if (member.name.starts_with("__") && member.name.ends_with("__")) continue;
      const std::size_t dot = leaf.find('.');
      if (dot == std::string::npos || dot == 0) continue;  // nobody's field
      const std::string mine = member.name.substr(0, member.name.size() - leaf.size() + dot);
      std::string field = leaf.substr(dot + 1);
      if (mine != key) end_sample();
      key = mine;
      if (fields.contains(field)) refuse(member.name, "the sample has the field ." + field + " twice");
      fields.emplace(std::move(field), std::move(member));
    }
    end_sample();
    return count;
  }

 private:
  [[noreturn]] void refuse(const std::string& member, const std::string& why) const {
    throw DataError("the archive " + path_.string() + ", member " + member + ": " + why);
  }

  std::string content(const TarMember& member) const {
    if (member.bytes > kFieldMost) refuse(member.name, "a field of " + std::to_string(member.bytes) + " bytes");
    const std::vector<std::byte> bytes = file_.read(member.offset, member.bytes);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  void add(const std::string& key, const std::map<std::string, TarMember>& fields, std::vector<ListedImage>& to) const {
    const std::int64_t label = label_of(key, fields);
    const TarMember* image = nullptr;
    for (const std::string_view kind : kImages) {
      if (const auto found = fields.find(std::string(kind)); found != fields.end() && image == nullptr)
        image = &found->second;
    }
    if (image == nullptr) refuse(key, "the sample has no image: a field jpg, jpeg or png");
    if (label < 0) return;  // marked so by its author
    to.push_back({name_ + "/" + image->name, label, index_, image->offset, image->bytes});
  }

  // Below 0: to be left out.
  std::int64_t label_of(const std::string& key, const std::map<std::string, TarMember>& fields) const {
    const std::string wanted = label_key_.empty() ? "cls" : "json";
    const auto found = fields.find(wanted);
    if (found == fields.end()) refuse(key, "the sample has no label: no field " + wanted);
    const std::string text = content(found->second);
    if (!label_key_.empty()) {
      const Json read = Json::parse(text, nullptr, /*allow_exceptions=*/false);
      if (!read.is_object() || !read.contains(label_key_) || !read[label_key_].is_number_integer())
        refuse(found->second.name, "there is no integer '" + label_key_ + "'");
      return read[label_key_].get<std::int64_t>();
    }
    std::int64_t label = 0;
    const std::size_t last = text.find_last_not_of(" \r\n");
    const char* stop = text.data() + (last == std::string::npos ? 0 : last + 1);
    const auto [end, error] = std::from_chars(text.data(), stop, label);
    if (error != std::errc() || end != stop || label < 0)
      refuse(found->second.name, "'" + text.substr(0, 40) + "' is no label: decimal digits are wanted");
    return label;
  }

  const fs::path path_;
  const std::string name_;
  const std::int32_t index_;
  const std::string& label_key_;
  const ReadFile file_;
};

}  // namespace

Listing list_shards(const fs::path& folder, const std::string& label_key) {
  const fs::path info = folder / "_info.json";
  const Parts parts = fs::exists(info) ? parts_of_info(info) : parts_by_name(folder);
  if (parts.empty()) throw DataError("there is no archive PART-NUMBER.tar and no _info.json in " + folder.string());
  Listing out;
  for (const auto& [part, shards] : parts) {
    std::vector<ListedImage>& images = out.parts[part];
    for (const Shard& shard : shards) {
      const auto index = static_cast<std::int32_t>(out.shards.size());
      out.shards.push_back(shard.name);
      const std::int64_t found = ShardReader(folder, shard.name, index, label_key).list(images);
      if (shard.samples >= 0 && found != shard.samples) {
        throw DataError("the archive " + (folder / shard.name).string() + " has " + std::to_string(found) +
                        " samples where _info.json says " + std::to_string(shard.samples) +
                        ": it is truncated or of another version");
      }
    }
  }
  return out;
}

}  // namespace locus::engine
