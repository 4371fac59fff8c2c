// Looks at dataset files.
#include "worker/app/datasets.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include "core/base/data_copies.h"
#include "core/base/sha256.h"

namespace locus {
namespace fs = std::filesystem;
namespace {

// Nothing: it cannot be read to its end.
std::optional<std::string> hash_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  Sha256 hash;
  std::vector<char> buffer(1 << 20);
  while (in) {
    in.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    hash.update(std::string_view(buffer.data(), static_cast<std::size_t>(in.gcount())));
  }
  if (in.bad()) return std::nullopt;
  return hash.hex_digest();
}

}  // namespace

Datasets::Datasets(const Catalog& catalog, fs::path root, fs::path cache)
    : root_(std::move(root)), cache_(std::move(cache)) {
  for (const CatalogItem& item : catalog.items()) {
    if (item.kind != "dataset") continue;
    Known known{item.id, {}, item.id, {}, ""};
    if (const Json archive = item.facts.value("archive", Json()); archive.is_object()) {
      known.source = " (get " + archive.value("name", "") + " from " + archive.value("url", "") +
                     " and unpack it into " + (root_ / item.id).string() + ")";
    }
    if (const Json stored = item.facts.value("stored", Json()); stored.is_object()) {
      known.folder = stored.value("folder", item.id);
      known.places = stored.value("places", std::vector<std::string>());
      known.source = "; " + stored.value("get", "");
    }
    const Json manifest = item.facts.value("manifest", Json::object());
    for (const auto& [name, file] : manifest.items())
      known.files.push_back({name, file.value("sha256", ""), file.value("bytes", std::int64_t{0})});
    datasets_.push_back(std::move(known));
  }
}

std::string Datasets::problem(const Known& dataset, const File& file) const {
  const fs::path path = root_ / dataset.id / file.name;
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return path.string() + " is missing" + dataset.source;
  if (info.st_size != file.bytes) {
    return path.string() + " has " + std::to_string(info.st_size) + " bytes, not " + std::to_string(file.bytes);
  }
  if (::access(path.c_str(), R_OK) != 0) return path.string() + " may not be read: look at its permissions";
  return "";
}

std::string Datasets::lacking(const Known& dataset) const {
  for (const std::string& place : dataset.places) {
    const fs::path path = root_ / dataset.folder / place;
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return path.string() + " is missing" + dataset.source;
    if (::access(path.c_str(), R_OK) != 0) return path.string() + " may not be read: look at its permissions";
  }
  return "";
}

std::vector<std::string> Datasets::copies() const {
  const std::string below = (fs::absolute(root_).lexically_normal() / "").string();
  std::vector<std::string> out;
  for (const DataCopy& copy : known_copies(cache_)) {
    const bool ours =
        std::any_of(datasets_.begin(), datasets_.end(), [&](const Known& d) { return d.id == copy.dataset; });
    if (ours && copy.folder.string().starts_with(below) && unchanged(copy))
      out.push_back(copy.dataset + "@" + copy.digest);
  }
  return out;
}

std::string Datasets::stamp(const Known& dataset, const File& file) const {
  struct stat info {};
  if (::stat((root_ / dataset.id / file.name).c_str(), &info) != 0) return "";
  return std::to_string(info.st_ino) + " " + std::to_string(info.st_size) + " " + std::to_string(info.st_mtim.tv_sec) +
         "." + std::to_string(info.st_mtim.tv_nsec);
}

v1::HeldData Datasets::look() {
  const std::lock_guard lock(mutex_);
  v1::HeldData out;
  for (const Known& dataset : datasets_) {
    std::string why = lacking(dataset);
    for (const File& file : dataset.files) {
      if (!why.empty()) break;
      why = problem(dataset, file);
      const auto wrong = wrong_.find(root_ / dataset.id / file.name);
      if (why.empty() && wrong != wrong_.end() && wrong->second.first == stamp(dataset, file))
        why = wrong->second.second;
    }
    if (why.empty()) {
      out.add_datasets(dataset.id);
    } else {
      (*out.mutable_missing())[dataset.id] = why;
    }
  }
  for (const std::string& copy : copies()) out.add_datasets(copy);
  return out;
}

void Datasets::check(const std::string& id) {
  const auto dataset = std::find_if(datasets_.begin(), datasets_.end(), [&](const Known& d) { return d.id == id; });
  if (dataset == datasets_.end()) return;
  for (const File& file : dataset->files) {
    const fs::path path = root_ / id / file.name;
    const std::string seen = stamp(*dataset, file);
    const auto found = hash_of(path);  // without the lock: it may take minutes
    const std::lock_guard lock(mutex_);
    wrong_.erase(path);
    if (found && (file.sha256.empty() || *found == file.sha256)) continue;
    wrong_[path] = {
        seen, path.string() + (found ? " hashes to " + *found + ", not " + file.sha256 : " cannot be read to its end")};
  }
}

}  // namespace locus
