// Upload and download of blobs: streamed, checked, resumed.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "client/direct.h"
#include "client/impl.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/sha256.h"

namespace locus {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kSlowestTransfer = 64 << 10;  // bytes a second: a transfer below this is taken for stuck

// The next piece of a file, empty at its end. Of a small one no large buffer: its pages would cost more than the file.
absl::StatusOr<std::string> read_some(int fd, const fs::path& path) {
  struct stat facts {};
  const std::int64_t left = ::fstat(fd, &facts) == 0 ? facts.st_size - ::lseek(fd, 0, SEEK_CUR) : kChunkBytes;
  std::string bytes(static_cast<std::size_t>(std::clamp<std::int64_t>(left, 1, kChunkBytes)), '\0');
  while (true) {
    const ssize_t n = ::read(fd, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.resize(static_cast<std::size_t>(n));
      return bytes;
    }
    if (errno != EINTR) return file_error("read", path);
  }
}

// Reads the rest of the file into the hash; returns the bytes read.
absl::StatusOr<std::int64_t> hash_file(int fd, const fs::path& path, Sha256& hash) {
  std::int64_t bytes = 0;
  while (true) {
    LOCUS_ASSIGN_OR_RETURN(const std::string chunk, read_some(fd, path));
    if (chunk.empty()) return bytes;
    hash.update(chunk);
    bytes += static_cast<std::int64_t>(chunk.size());
  }
}

std::chrono::microseconds transfer_time(std::int64_t bytes) { return kUnaryDeadline + 1s * (bytes / kSlowestTransfer); }

}  // namespace

grpc::Status Client::Impl::upload_once(const fs::path& path, const v1::UploadArtifactRequest::Header& header,
                                       const CallOptions& call, absl::Status& local) const {
  const Fd file = open_file(path, O_RDONLY);
  if (!file) {
    local = file_error("open", path);
    return grpc::Status::CANCELLED;
  }
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::max(call.deadline, transfer_time(header.bytes())));
  Cancellation::Guard guard(call.cancellation, &context);
  v1::UploadArtifactResponse response;
  const auto writer = stub<v1::ArtifactService>().UploadArtifact(&context, &response);
  v1::UploadArtifactRequest part;
  *part.mutable_header() = header;
  bool going = writer->Write(part);
  while (going) {
    auto chunk = read_some(file.get(), path);
    if (!chunk.ok()) {
      local = chunk.status();
      context.TryCancel();
      break;
    }
    if (chunk->empty()) break;
    part.set_chunk(*std::move(chunk));
    going = writer->Write(part);  // false: the server has answered already, or is gone; Finish tells
  }
  if (going) writer->WritesDone();
  return writer->Finish();
}

absl::StatusOr<std::string> Client::upload_artifact(const fs::path& path, const std::string& kind,
                                                    const CallOptions& call, const std::string& sha256) {
  v1::UploadArtifactRequest::Header header;
  header.set_kind(kind);
  if (!sha256.empty()) {
    std::error_code error;
    header.set_bytes(static_cast<std::int64_t>(fs::file_size(path, error)));
    if (error) return file_error("open", path, error.value());
    header.set_sha256(sha256);
  } else {
    const Fd file = open_file(path, O_RDONLY);
    if (!file) return file_error("open", path);
    Sha256 hash;
    LOCUS_ASSIGN_OR_RETURN(const std::int64_t bytes, hash_file(file.get(), path, hash));
    header.set_bytes(bytes);
    header.set_sha256(hash.hex_digest());
  }
  Patience retry = impl_->patience(call);
  while (true) {
    impl_->settle();
    absl::Status local;
    const grpc::Status status = impl_->upload_once(path, header, call, local);
    LOCUS_RETURN_IF_ERROR(local);
    if (status.ok()) return header.sha256();
    if (!retry.wait_to_retry(status)) return impl_->refusal(status);
  }
}

grpc::Status Client::Impl::download_once(const std::string& sha256, int fd, std::int64_t& offset, Sha256& hash,
                                         const CallOptions& call, absl::Status& local) const {
  grpc::ClientContext context;
  Cancellation::Guard guard(call.cancellation, &context);
  v1::DownloadArtifactRequest request;
  request.set_sha256(sha256);
  request.set_offset(offset);
  const auto reader = stub<v1::ArtifactService>().DownloadArtifact(&context, request);
  v1::DownloadArtifactResponse part;
  while (reader->Read(&part)) {
    local = write_all(fd, part.chunk(), sha256 + ".part");
    if (!local.ok()) {
      context.TryCancel();
      break;
    }
    hash.update(part.chunk());
    offset += static_cast<std::int64_t>(part.chunk().size());
  }
  return reader->Finish();
}

bool Client::Impl::download_direct(const std::string& sha256, int fd, std::int64_t& offset, Sha256& hash,
                                   const CallOptions& call, absl::Status& local) {
  if (!direct) return false;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kUnaryDeadline);
  Cancellation::Guard guard(call.cancellation, &context);
  v1::LocateArtifactRequest request;
  request.set_sha256(sha256);
  v1::LocateArtifactResponse found;
  const grpc::Status status = stub<v1::ArtifactService>().LocateArtifact(&context, request, &found);
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED || (status.ok() && found.url().empty())) direct = false;
  if (!status.ok() || found.url().empty() || offset >= found.bytes()) return false;
  const auto take = [&](std::string_view bytes) {
    if (offset + static_cast<std::int64_t>(bytes.size()) > found.bytes())
      return absl::UnavailableError("more bytes came than the blob has");
    local = write_all(fd, bytes, sha256 + ".part");
    if (!local.ok()) return local;
    hash.update(bytes);
    offset += static_cast<std::int64_t>(bytes.size());
    return absl::OkStatus();
  };
  if (!read_url(found.url(), offset, take, call.cancellation).ok()) direct = false;
  return offset == found.bytes();
}

absl::Status Client::download_artifact(const std::string& sha256, const fs::path& path, const CallOptions& call) {
  fs::path partial = path;
  partial += ".part";
  const Fd file = open_file(partial, O_RDWR | O_CREAT);
  if (!file) return file_error("create", partial);
  Sha256 hash;
  LOCUS_ASSIGN_OR_RETURN(std::int64_t offset, hash_file(file.get(), partial, hash));  // leaves the position at the end
  Patience retry = impl_->patience(call);
  absl::Status local;
  bool whole = impl_->download_direct(sha256, file.get(), offset, hash, call, local);
  LOCUS_RETURN_IF_ERROR(local);
  while (!whole) {
    impl_->settle();
    const std::int64_t before = offset;
    const grpc::Status status = impl_->download_once(sha256, file.get(), offset, hash, call, local);
    LOCUS_RETURN_IF_ERROR(local);
    if (status.ok()) break;
    if (offset > before) retry.restart();
    if (status.error_code() == grpc::StatusCode::OUT_OF_RANGE)
      ::unlink(partial.c_str());  // more bytes than the blob has
    if (!retry.wait_to_retry(status) && !retry.wait_for_turn(status)) return impl_->refusal(status);
  }
  if (const std::string found = hash.hex_digest(); found != sha256) {
    ::unlink(partial.c_str());
    impl_->direct = false;  // the server hashes what it gives
    return make_error(
        absl::StatusCode::kDataLoss, ErrorReason::kDigestMismatch,
        "artifact " + sha256 + " arrived as bytes that hash to " + found + ": ask again, the server's copy is checked",
        "", {{"expected", sha256}, {"found", found}, {"address", impl_->address}});
  }
  if (::fsync(file.get()) != 0) return file_error("flush", partial);
  if (::rename(partial.c_str(), path.c_str()) != 0) return file_error("rename", partial);
  return sync_folder(path.parent_path());
}

}  // namespace locus
