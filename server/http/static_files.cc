// The dashboard's files.
#include "server/http/static_files.h"

#include <fstream>
#include <iterator>

#include "core/base/error.h"

namespace locus::server {
namespace {

constexpr Microseconds kScanEvery = 1'000'000;  // a build may replace the files while the server runs
constexpr std::size_t kFilesMost = 10'000;

const std::string& content_type_of(const std::string& extension) {
  static const std::map<std::string, std::string> kTypes = {
      {".html", "text/html; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".svg", "image/svg+xml"},
      {".png", "image/png"},
      {".jpg", "image/jpeg"},
      {".ico", "image/x-icon"},
      {".json", "application/json"},
      {".map", "application/json"},
      {".woff2", "font/woff2"},
      {".txt", "text/plain; charset=utf-8"},
      {".webmanifest", "application/manifest+json"},
  };
  static const std::string kBytes = "application/octet-stream";
  const auto found = kTypes.find(extension);
  return found == kTypes.end() ? kBytes : found->second;
}

HttpResponse not_found(const std::string& path) {
  return error_response(make_error(absl::StatusCode::kNotFound, ErrorReason::kRouteNotFound,
                                   "there is nothing at \"" + path.substr(0, 200) + "\"; the dashboard is at /", "",
                                   {{"path", path.substr(0, 200)}}));
}

}  // namespace

StaticFiles::StaticFiles(std::filesystem::path root, Clock& clock) : root_(std::move(root)), clock_(clock) {
  absl::MutexLock lock(&mutex_);
  scan();
}

void StaticFiles::scan() {
  scanned_ = clock_.steady();
  files_.clear();
  if (root_.empty()) return;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator entry(root_, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_symlink() || !entry->is_regular_file()) continue;
    const std::string name = "/" + entry->path().lexically_relative(root_).generic_string();
    const bool hashed = name.compare(0, 8, "/assets/") == 0;  // the build puts a digest into these names
    files_[name] = {entry->path(), content_type_of(entry->path().extension().string()), hashed};
    if (files_.size() >= kFilesMost) return;
  }
}

bool StaticFiles::find(const std::string& path, File* out) {
  absl::MutexLock lock(&mutex_);
  auto found = files_.find(path);
  if (found == files_.end() && clock_.steady() - scanned_ > kScanEvery) {
    scan();
    found = files_.find(path);
  }
  if (found == files_.end()) return false;
  *out = found->second;
  return true;
}

HttpResponse StaticFiles::get(const std::string& path) {
  File file;
  for (const std::filesystem::path& part : std::filesystem::path(path)) {
    if (part == "..") return not_found(path);  // nothing is above the root; a page would hide the question
  }
  const bool is_page = std::filesystem::path(path).extension().empty();
  if (!find(path, &file) && !(is_page && find("/index.html", &file))) {
    if (!is_page) return not_found(path);
    HttpResponse out;
    out.status = 404;
    out.content_type = "text/plain; charset=utf-8";
    out.body =
        "The dashboard is not built. Run `make build`, or point `locus serve --web` at a folder with its "
        "index.html.\n";
    return out;
  }
  std::ifstream in(file.path, std::ios::binary);
  HttpResponse out;
  out.body.assign(std::istreambuf_iterator<char>(in), {});
  if (!in.good() && !in.eof()) return not_found(path);
  out.content_type = file.content_type;
  out.cache_control = file.immutable ? "public, max-age=31536000, immutable" : "no-cache";
  return out;
}

}  // namespace locus::server
