// Where a bucket is and how requests to it are signed: Amazon's Signature Version 4.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace locus {

struct S3Place {
  std::string endpoint;  // "https://s3.eu-central-1.amazonaws.com", without a slash at its end
  std::string region;    // "us-east-1" where the server has none
  std::string bucket;
  std::string prefix;  // of every key, without slashes at its ends; may be empty
};

struct S3Keys {
  std::string access, secret;
  std::string session;  // of temporary keys; empty otherwise
};

// A place from "s3://BUCKET/PREFIX". `endpoint` empty: Amazon's of the region. `region` empty: us-east-1. INVALID_ARGUMENT says
// which part is wrong.
absl::StatusOr<S3Place> parse_s3_place(std::string_view address, std::string endpoint, std::string region);

// The keys of AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; without them those of the profile AWS_PROFILE (or
// "default") in `file`, empty: AWS_SHARED_CREDENTIALS_FILE or ~/.aws/credentials. FAILED_PRECONDITION when there are none; no
// message holds a key.
absl::StatusOr<S3Keys> find_s3_keys(const std::filesystem::path& file = {});

// The key of a blob: PREFIX/sha256/ab/abcdef... and back; empty where a key is no blob's.
std::string s3_key(const S3Place& place, std::string_view sha256);
std::string_view s3_digest(const S3Place& place, std::string_view key);

// As URLs and signatures need it: everything but letters, digits and -._~ as %XX; `/` stays where `path` is set.
std::string percent_encoded(std::string_view text, bool path);

// endpoint/bucket/key, and endpoint/bucket for an empty key.
std::string s3_url(const S3Place& place, std::string_view key);

// A URL by which anybody may read the object for `lifetime` (at most 7 days) from `now` on, without keys (AWS Signature Version 4,
// query parameters). `now`: microseconds since the Unix epoch. Pure.
std::string s3_presigned_url(const S3Place& place, const S3Keys& keys, std::string_view key,
                             std::chrono::seconds lifetime, std::int64_t now_us);

}  // namespace locus
