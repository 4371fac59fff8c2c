// Hashes dataset files and remembers which were found right.
#include "engine/data/manifest.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <span>
#include <system_error>
#include <vector>

#include "core/base/sha256.h"
#include "engine/base/failure.h"

namespace locus::engine {
namespace {

namespace fs = std::filesystem;

std::string hash_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw DataError(path.string() + " cannot be read: check its permissions");
  Sha256 hash;
  std::vector<char> buffer(1 << 20);
  while (in) {
    in.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    hash.update(std::string_view(buffer.data(), static_cast<std::size_t>(in.gcount())));
  }
  if (in.bad()) throw DataError(path.string() + " cannot be read to its end: the disk reports an error");
  return hash.hex_digest();
}

// Everything that must be unchanged for an old proof to hold, as one line.
std::string proof(const fs::path& path, const struct stat& info, const ManifestFile& expected) {
  return path.string() + " " + std::to_string(info.st_size) + " " + std::to_string(info.st_mtim.tv_sec) + "." +
         std::to_string(info.st_mtim.tv_nsec) + " " + std::to_string(info.st_ino) + " " + expected.sha256;
}

bool remembered(const fs::path& record, const std::string& line) {
  std::ifstream in(record);
  std::string found;
  return std::getline(in, found) && found == line;
}

// Best effort: without the record the file is hashed again next time.
void remember(const fs::path& record, const std::string& line) {
  std::error_code ignored;
  fs::create_directories(record.parent_path(), ignored);
  const fs::path temporary = record.string() + "." + std::to_string(::getpid());
  {
    std::ofstream out(temporary);
    out << line << "\n";
    if (!out.flush()) return;
  }
  fs::rename(temporary, record, ignored);
}

}  // namespace

Json Archive::json() const { return {{"name", name}, {"url", url}, {"md5", md5}}; }

Json Manifest::json() const {
  Json out = Json::object();
  for (const auto& [name, file] : files) {
    out[name] = {{"bytes", file.bytes}};
    if (!file.sha256.empty()) out[name]["sha256"] = file.sha256;
  }
  return out;
}

std::string Manifest::remedy(const fs::path& folder, bool again) const {
  const std::string elsewhere = " or point --data-root at a folder that holds " + dataset + "/";
  if (!package.empty()) {
    return std::string("; ") +
           (again ? "reinstall it with 'apt install --reinstall " : "install it with 'apt install ") + package + "'" +
           elsewhere;
  }
  return "; download " + archive.name + (again ? " again" : "") + " (md5 " + archive.md5 + ") from " + archive.url +
         " and unpack it with 'tar -xzf " + archive.name + " -C " + folder.string() + "'" + elsewhere;
}

std::string Manifest::digest() const { return sha256_hex(canonical_json(json())); }

void verify_file(const Manifest& manifest, const std::string& name, const fs::path& folder, const fs::path& cache) {
  const ManifestFile& expected = manifest.files.at(name);
  const fs::path path = folder / name;
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) {
    throw DataError("dataset " + manifest.dataset + ": " + path.string() + " is missing" +
                    manifest.remedy(folder, /*again=*/false));
  }
  if (info.st_size != expected.bytes) {
    throw DataError("dataset " + manifest.dataset + ": " + path.string() + " has " + std::to_string(info.st_size) +
                    " bytes where " + std::to_string(expected.bytes) + " are expected: it is " +
                    (info.st_size < expected.bytes ? "truncated or another version" : "another version") +
                    manifest.remedy(folder, /*again=*/true));
  }
  if (expected.sha256.empty()) return;
  const std::string line = proof(fs::absolute(path), info, expected);
  const fs::path record = cache / "verified" / (sha256_hex(fs::absolute(path).string()) + ".txt");
  if (!cache.empty() && remembered(record, line)) return;
  const std::string found = hash_file(path);
  if (found != expected.sha256) {
    throw DataError("dataset " + manifest.dataset + ": " + path.string() + " hashes to sha256 " + found + " where " +
                    expected.sha256 + " is expected: it is corrupt or another version" +
                    manifest.remedy(folder, /*again=*/true));
  }
  if (!cache.empty()) remember(record, line);
}

}  // namespace locus::engine
