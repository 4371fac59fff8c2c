// Uploads in one piece and in parts.
#include "storage/s3/upload.h"

#include <unistd.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/sha256.h"

namespace locus {
namespace {

constexpr std::int64_t kPartsMost = 10'000;  // S3 takes no more

absl::StatusOr<std::string> hash_of_part(int file, std::int64_t offset, std::int64_t bytes) {
  Sha256 hash;
  std::string buffer(1 << 20, '\0');
  while (bytes > 0) {
    const ssize_t got =
        ::pread(file, buffer.data(), static_cast<std::size_t>(std::min<std::int64_t>(bytes, 1 << 20)), offset);
    if (got <= 0)
      return make_error(absl::StatusCode::kUnavailable, ErrorReason::kStorageFailed,
                        "an upload to the object store cannot be read back from the disk; try again");
    hash.update(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
    offset += got;
    bytes -= got;
  }
  return hash.hex_digest();
}

absl::StatusOr<std::string> put_part(S3Connection& connection, const S3Call& call) {
  LOCUS_ASSIGN_OR_RETURN(const S3Answer answer, connection.send(call));
  if (answer.status != 200 || answer.etag.empty()) return connection.refused("uploading a part", answer);
  return answer.etag;
}

absl::Status put_parts(S3Connection& connection, const std::string& key, const std::string& upload, int file,
                       std::int64_t bytes, std::int64_t part_bytes) {
  std::string list = "<CompleteMultipartUpload>";
  std::int64_t number = 1;
  for (std::int64_t at = 0; at < bytes; at += part_bytes, ++number) {
    S3Call call{"PUT", key, {{"partNumber", std::to_string(number)}, {"uploadId", upload}}};
    call.body = {.file = file, .offset = at, .size = std::min(part_bytes, bytes - at)};
    LOCUS_ASSIGN_OR_RETURN(call.body.sha256, hash_of_part(file, at, call.body.size));
    LOCUS_ASSIGN_OR_RETURN(const std::string etag, put_part(connection, call));
    list += "<Part><PartNumber>" + std::to_string(number) + "</PartNumber><ETag>" + etag + "</ETag></Part>";
  }
  list += "</CompleteMultipartUpload>";
  S3Call call{"POST", key, {{"uploadId", upload}}};
  call.body = {.bytes = list, .size = static_cast<std::int64_t>(list.size()), .sha256 = sha256_hex(list)};
  LOCUS_ASSIGN_OR_RETURN(const S3Answer answer, connection.send(call));
  // It may say 200 first and fail afterwards.
  if (answer.status != 200 || answer.body.find("<Error>") != std::string::npos)
    return connection.refused("ending an upload in parts", answer);
  return absl::OkStatus();
}

}  // namespace

absl::Status s3_put_whole(S3Connection& connection, const std::string& key, int file, std::int64_t bytes,
                          const std::string& sha256) {
  S3Call call{"PUT", key, {}, {"If-None-Match: *"}};
  call.body = {.file = file, .size = bytes, .sha256 = sha256};
  LOCUS_ASSIGN_OR_RETURN(const S3Answer answer, connection.send(call));
  if (answer.status == 200 || answer.status == 412) return absl::OkStatus();
  return connection.refused("uploading a blob", answer);
}

absl::Status s3_put_in_parts(S3Connection& connection, const std::string& key, int file, std::int64_t bytes,
                             std::int64_t part_bytes) {
  part_bytes = std::max(part_bytes, (bytes + kPartsMost - 1) / kPartsMost);
  LOCUS_ASSIGN_OR_RETURN(const S3Answer begun, connection.send({"POST", key, {{"uploads", ""}}}));
  const std::string upload = xml_text(begun.body, "UploadId");
  if (begun.status != 200 || upload.empty()) return connection.refused("beginning an upload in parts", begun);
  const absl::Status status = put_parts(connection, key, upload, file, bytes, part_bytes);
  // What cannot be taken away is left to the bucket's rule for unfinished uploads.
  if (!status.ok()) (void)connection.send({"DELETE", key, {{"uploadId", upload}}});
  return status;
}

}  // namespace locus
