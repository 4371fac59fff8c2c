// Where things lie when nobody says.
#include "server/app/paths.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/log/log.h"

#ifndef LOCUS_SOURCE_ROOT
#define LOCUS_SOURCE_ROOT ""
#endif

namespace locus::server {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kPictureBytes = 1 << 20;

fs::path executable_folder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : self.parent_path();
}

fs::path from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? fs::path() : fs::path(value);
}

// Where a catalog may lie, the first one found is taken.
std::vector<fs::path> catalog_places(const fs::path& given) {
  if (!given.empty()) return {given};
  if (const fs::path named = from_environment("LOCUS_CATALOG"); !named.empty()) return {named};
  return {executable_folder() / ".." / "share" / "locus" / "catalog.json",
          fs::path(LOCUS_SOURCE_ROOT) / "engine" / "catalog.json"};
}

// What is wrong with a picture; empty: nothing, and `text` is its document.
std::string read_picture(const fs::path& path, const std::string& prior, const Catalog& catalog, std::string* text) {
  std::error_code error;
  if (fs::file_size(path, error) > kPictureBytes || error) return "is larger than 1 MiB, or cannot be read";
  std::ifstream in(path, std::ios::binary);
  text->assign(std::istreambuf_iterator<char>(in), {});
  const Json document = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object() || !document.value("views", Json()).is_array()) return "is no picture";
  const CatalogItem* item = catalog.find("prior", prior);
  if (item == nullptr || item->id != prior) return "is of no prior of the catalog";
  if (document.value("prior", Json()) != prior) return "is of another prior than its name says";
  if (document.value("revision", Json()) != item->revision) return "is of another revision than the catalog's";
  return "";
}

}  // namespace

absl::StatusOr<fs::path> default_data_folder() {
  if (const fs::path data = from_environment("XDG_DATA_HOME"); data.is_absolute()) return data / "locus";
  if (const fs::path home = from_environment("HOME"); home.is_absolute()) return home / ".local" / "share" / "locus";
  return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kDataFolderUnusable,
                    "neither XDG_DATA_HOME nor HOME is set, so there is no default data folder; give one with --data");
}

absl::StatusOr<Catalog> load_catalog(const fs::path& given) {
  std::string looked_at;
  for (const fs::path& place : catalog_places(given)) {
    std::ifstream in(place, std::ios::binary);
    if (in.is_open()) {
      const std::string text(std::istreambuf_iterator<char>(in), {});
      const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
      if (document.is_discarded()) {
        return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                          "the catalog " + place.string() + " is not JSON; write it again with `locus-trainer catalog`",
                          "", {{"path", place.string()}});
      }
      return Catalog::parse(document);
    }
    looked_at += (looked_at.empty() ? "" : ", ") + place.lexically_normal().string();
  }
  return make_error(absl::StatusCode::kNotFound, ErrorReason::kInvalidArgument,
                    "no catalog at " + looked_at + "; give one with --catalog (`locus-trainer catalog` prints it)", "",
                    {{"looked_at", looked_at}});
}

Pictures load_pictures(const fs::path& given, const Catalog& catalog) {
  fs::path folder;
  for (const fs::path& place : catalog_places(given)) {
    if (!std::ifstream(place).is_open()) continue;
    folder = place.parent_path() / "pictures";
    break;
  }
  Pictures out;
  std::error_code error;
  if (folder.empty() || !fs::is_directory(folder, error)) return out;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".json") continue;
    const std::string prior = entry.path().stem().string();
    std::string text;
    const std::string fault = read_picture(entry.path(), prior, catalog, &text);
    if (!fault.empty()) {
      log_warning("the picture {} {}; it is not shown (`make docs` regenerates them)", entry.path().string(), fault);
    } else {
      out.emplace(prior, std::move(text));
    }
  }
  return out;
}

absl::StatusOr<std::vector<PaperClaims>> load_claims() {
  std::vector<fs::path> places = {executable_folder() / ".." / "share" / "locus" / "claims.json",
                                  fs::path(LOCUS_SOURCE_ROOT) / "claims" / "claims.json"};
  if (const fs::path named = from_environment("LOCUS_CLAIMS"); !named.empty()) places = {named};
  for (const fs::path& place : places) {
    std::ifstream in(place, std::ios::binary);
    if (!in.is_open()) continue;
    const Json document =
        Json::parse(std::string(std::istreambuf_iterator<char>(in), {}), nullptr, /*allow_exceptions=*/false);
    auto claims = parse_claims(document);
    if (claims.ok()) return claims;
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                      "the claims " + place.string() + " cannot be read: " + std::string(claims.status().message()) +
                          "; regenerate them with `make docs`",
                      "", {{"path", place.string()}});
  }
  return std::vector<PaperClaims>();
}

fs::path find_dashboard(const fs::path& given) {
  if (!given.empty()) return given;
  const fs::path beside = executable_folder() / "..";
  for (const fs::path& place :
       {beside / "web", beside / "share" / "locus" / "web", fs::path(LOCUS_SOURCE_ROOT) / "web" / "dist"}) {
    std::error_code error;
    if (fs::is_regular_file(place / "index.html", error)) return place.lexically_normal();
  }
  return {};
}

}  // namespace locus::server
