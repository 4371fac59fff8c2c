// One small JSON file a copy.
#include "core/base/data_copies.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <tuple>

#include "core/base/json.h"
#include "core/base/sha256.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

fs::path file_of(const fs::path& cache, const std::string& dataset, const fs::path& folder) {
  return cache / "copies" / (sha256_hex(dataset + "\n" + fs::absolute(folder).lexically_normal().string()) + ".json");
}

}  // namespace

fs::path data_cache_folder() {
  if (const std::string named = environment("LOCUS_DATA_CACHE"); !named.empty()) return named;
  if (const std::string caches = environment("XDG_CACHE_HOME"); !caches.empty()) return fs::path(caches) / "locus";
  if (const std::string home = environment("HOME"); !home.empty()) return fs::path(home) / ".cache" / "locus";
  return {};
}

std::int64_t decoded_cache_bytes() {
  const std::string text = environment("LOCUS_DECODED_BYTES");
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && out > 0 ? out : 0;
}

std::string stamp_of(const fs::path& folder, const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) {
    struct stat info {};
    if (::stat((folder / name).c_str(), &info) != 0) return "";
    out += name + " " + std::to_string(info.st_dev) + "." + std::to_string(info.st_ino) + " " +
           std::to_string(info.st_mtim.tv_sec) + "." + std::to_string(info.st_mtim.tv_nsec) + ";";
  }
  return out;
}

bool unchanged(const DataCopy& copy) { return !copy.stamp.empty() && copy.stamp == stamp_of(copy.folder, copy.places); }

std::vector<DataCopy> known_copies(const fs::path& cache) {
  std::vector<DataCopy> out;
  std::error_code error;
  if (cache.empty()) return out;
  for (fs::directory_iterator entry(cache / "copies", error), end; !error && entry != end; entry.increment(error)) {
    std::ifstream in(entry->path());
    const Json read = Json::parse(in, nullptr, /*allow_exceptions=*/false);
    if (!read.is_object()) continue;
    try {
      out.push_back({read.at("dataset").get<std::string>(), read.at("folder").get<std::string>(),
                     read.at("digest").get<std::string>(), read.at("places").get<std::vector<std::string>>(),
                     read.at("stamp").get<std::string>(), read.at("classes").get<std::int64_t>(),
                     read.at("images").get<std::map<std::string, std::int64_t>>()});
    } catch (const Json::exception&) {
      continue;
    }
  }
  std::sort(out.begin(), out.end(), [](const DataCopy& a, const DataCopy& b) {
    return std::tie(a.dataset, a.folder) < std::tie(b.dataset, b.folder);
  });
  return out;
}

void remember_copy(const fs::path& cache, const DataCopy& copy) {
  if (cache.empty()) return;
  const Json record = {
      {"dataset", copy.dataset}, {"folder", copy.folder.string()}, {"digest", copy.digest}, {"places", copy.places},
      {"stamp", copy.stamp},     {"classes", copy.classes},        {"images", copy.images}};
  put_in_cache(file_of(cache, copy.dataset, copy.folder),
               record.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

bool put_in_cache(const fs::path& file, const std::string& text) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  const fs::path temporary = file.string() + "." + std::to_string(::getpid());
  {
    std::ofstream out(temporary, std::ios::binary);
    out << text;
    if (!out.flush()) {
      fs::remove(temporary, error);
      return false;
    }
  }
  fs::rename(temporary, file, error);
  return !error;
}

}  // namespace locus
