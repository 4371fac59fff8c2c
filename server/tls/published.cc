// Publishing checked certificates.
#include "server/tls/published.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>

#include "core/base/error.h"
#include "core/base/file.h"

namespace locus::server {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMostCertificateBytes = 1 << 20;

absl::Status put_published(const fs::path& path, const std::string& text) {
  struct stat before {};
  const bool there = ::stat(path.c_str(), &before) == 0;
  const fs::path fresh = path.string() + ".next";
  LOCUS_RETURN_IF_ERROR(replace_file(fresh, text, 0600));
  const std::time_t after = there ? before.st_mtim.tv_sec + 1 : 0;
  const timespec changed{std::max(std::time(nullptr), after), 0};
  const timespec times[2] = {changed, changed};
  if (::utimensat(AT_FDCWD, fresh.c_str(), times, 0) != 0) return file_error("cannot date", fresh);
  if (::rename(fresh.c_str(), path.c_str()) != 0) return file_error("cannot rename", fresh);
  return absl::OkStatus();
}

}  // namespace

PublishedFiles published_files(const fs::path& folder) {
  return {folder / "key.pem", folder / "chain.pem", folder / "anchors.pem"};
}

absl::Status publish(const CertificateSet& set, const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) fs::permissions(folder, fs::perms::owner_all, error);
  if (error) return file_error("cannot make", folder, error.value());
  const PublishedFiles files = published_files(folder);
  LOCUS_RETURN_IF_ERROR(put_published(files.key, set.key));
  LOCUS_RETURN_IF_ERROR(put_published(files.chain, set.chain));
  return put_published(files.anchors, set.anchors);
}

absl::StatusOr<std::string> read_small_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string out(kMostCertificateBytes, '\0');
  if (in) in.read(out.data(), static_cast<std::streamsize>(out.size()));
  if (!in.eof()) {
    return make_error(absl::StatusCode::kNotFound, ErrorReason::kCertificateInvalid,
                      path.string() + " cannot be read as a key or certificate: " +
                          (in ? "it is longer than 1 MiB" : std::strerror(errno)),
                      "", {{"path", path.string()}});
  }
  out.resize(static_cast<std::size_t>(in.gcount()));
  return out;
}

}  // namespace locus::server
