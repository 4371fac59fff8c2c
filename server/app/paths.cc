// Where things lie when nobody says.
#include "server/app/paths.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/log/log.h"

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

// What belongs to the program: an installation and a build folder are laid out alike (cmake/Install.cmake).
fs::path share_folder() { return executable_folder() / ".." / "share" / "locus"; }

// Where the catalog lies.
fs::path catalog_place(const fs::path& given) {
  if (!given.empty()) return given;
  const fs::path named = from_environment("LOCUS_CATALOG");
  return named.empty() ? share_folder() / "catalog.json" : named;
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
  const fs::path place = catalog_place(given);
  std::ifstream in(place, std::ios::binary);
  if (!in.is_open()) {
    const std::string looked_at = place.lexically_normal().string();
    return make_error(absl::StatusCode::kNotFound, ErrorReason::kInvalidArgument,
                      "no catalog at " + looked_at + "; give one with --catalog (`locus-trainer catalog` prints it)",
                      "", {{"looked_at", looked_at}});
  }
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) {
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                      "the catalog " + place.string() + " is not JSON; write it again with `locus-trainer catalog`", "",
                      {{"path", place.string()}});
  }
  return Catalog::parse(document);
}

Pictures load_pictures(const fs::path& given, const Catalog& catalog) {
  const fs::path folder = catalog_place(given).parent_path() / "pictures";
  Pictures out;
  std::error_code error;
  if (!fs::is_directory(folder, error)) return out;
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
  const fs::path named = from_environment("LOCUS_CLAIMS");
  const fs::path place = named.empty() ? share_folder() / "claims.json" : named;
  std::ifstream in(place, std::ios::binary);
  if (!in.is_open()) return std::vector<PaperClaims>();
  const Json document =
      Json::parse(std::string(std::istreambuf_iterator<char>(in), {}), nullptr, /*allow_exceptions=*/false);
  auto claims = parse_claims(document);
  if (claims.ok()) return claims;
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                    "the claims " + place.string() + " cannot be read: " + std::string(claims.status().message()) +
                        "; regenerate them with `make docs`",
                    "", {{"path", place.string()}});
}

fs::path find_dashboard(const fs::path& given) {
  if (!given.empty()) return given;
  const fs::path place = share_folder() / "web";
  std::error_code error;
  return fs::is_regular_file(place / "index.html", error) ? place.lexically_normal() : fs::path();
}

}  // namespace locus::server
