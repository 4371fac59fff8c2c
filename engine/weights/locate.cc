// A folder is searched anew each time; digests are remembered.
#include "engine/weights/locate.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "engine/base/failure.h"
#include "engine/files/tensor_file.h"

namespace locus::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShown = 5;

// Of a list of shards the digest says nothing of its own bytes; those are hashed every time.
std::string digest_of(const fs::path& file) {
  static std::map<std::tuple<fs::path, std::uintmax_t, fs::file_time_type>, std::string> known;
  if (file.extension() == ".json") return tensor_file_sha256(file);
  std::string& digest = known[{file, fs::file_size(file), fs::last_write_time(file)}];
  if (digest.empty()) digest = tensor_file_sha256(file);
  return digest;
}

std::vector<fs::path> candidates(const fs::path& folder, const std::string& sha256) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error), end;
       !error && at != end; at.increment(error)) {
    if (at->is_regular_file(error) && names_tensor_file(at->path())) out.push_back(at->path());
  }
  const std::string start = sha256.substr(0, 8);
  const auto unlikely = [&](const fs::path& file) { return file.filename().string().find(start) == std::string::npos; };
  std::sort(out.begin(), out.end(), [&](const fs::path& a, const fs::path& b) {
    return std::pair(unlikely(a), a) < std::pair(unlikely(b), b);
  });
  return out;
}

void require_digest(const std::string& sha256) {
  if (sha256.size() == 64 && sha256.find_first_not_of("0123456789abcdef") == std::string::npos) return;
  throw std::invalid_argument("init.sha256 is '" + sha256 +
                              "', which is no SHA-256 of 64 lower-case hexadecimal digits; `locus weights inspect "
                              "FILE` prints a file's");
}

}  // namespace

fs::path find_weights(const fs::path& folder, const std::string& sha256) {
  require_digest(sha256);
  std::string seen;
  std::size_t count = 0;
  for (const fs::path& file : candidates(folder, sha256)) {
    std::string digest;
    try {
      digest = digest_of(file);
    } catch (const DataError&) {
      continue;  // a file that cannot be read is not the one
    }
    if (digest == sha256) return file;
    if (++count <= kShown)
      seen += (seen.empty() ? "" : ", ") + file.filename().string() + " (" + digest.substr(0, 8) + "...)";
  }
  if (count > kShown) seen += " and " + std::to_string(count - kShown) + " more";
  throw DataError("no file in " + folder.string() + " has the SHA-256 " + sha256 + ", which init asks for; found " +
                  (seen.empty() ? "none" : seen) + ": put the weights there");
}

void check_weights_digest(const fs::path& file, const std::string& sha256) {
  require_digest(sha256);
  const std::string found = tensor_file_sha256(file);
  if (found != sha256) throw DataError(file.string() + " has the SHA-256 " + found + " where init asks for " + sha256);
}

}  // namespace locus::engine
