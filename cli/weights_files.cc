// `from: FILE` of section init: a convenience of whoever writes the specification. What is stored and hashed is the digest.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "cli/spec_file.h"
#include "core/base/error.h"
#include "core/base/sha256.h"

namespace locus {
namespace {

constexpr char kFrom[] = "from", kDigest[] = "sha256", kWeights[] = "weights", kInit[] = "init";
constexpr std::size_t kBlock = 1 << 20;

absl::Status refuse(const std::string& message, const std::string& where) {
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidSpecification, message, "",
                    {{"where", where}});
}

absl::StatusOr<std::string> sha256_of(const std::string& path, const std::string& where) {
  std::ifstream in(path, std::ios::binary);
  Sha256 hash;
  std::string block(kBlock, '\0');
  while (in) {
    in.read(block.data(), static_cast<std::streamsize>(block.size()));
    hash.update(std::string_view(block).substr(0, static_cast<std::size_t>(in.gcount())));
  }
  if (!in.eof()) {
    return refuse("init starts from the weights in " + path + ", which cannot be read (" + std::strerror(errno) +
                      "); name a file by its path from here, or its digest with sha256",
                  where);
  }
  return hash.hex_digest();
}

}  // namespace

absl::Status SpecFile::name_weights_of(Json& options, const std::string& path) {
  const std::string from = path + "." + kFrom, place = where(from);
  if (!options.at(kFrom).is_string())
    return refuse("init.weights.from is a file of weights, written as text, not " + options.at(kFrom).dump(), place);
  const auto file = options.at(kFrom).get<std::string>();
  if (file.ends_with(".index.json")) {
    return refuse(file +
                      " is a list of files, which travel singly; write sha256 as `locus weights inspect` prints it, " +
                      "and put the files below the folder weights of each worker's data",
                  place);
  }
  const auto known = std::find_if(weights_.begin(), weights_.end(), [&](const auto& one) { return one.path == file; });
  std::string found;
  if (known != weights_.end()) {
    found = known->sha256;
  } else {
    LOCUS_ASSIGN_OR_RETURN(found, sha256_of(file, place));
    weights_.push_back({file, found});
  }
  if (options.contains(kDigest) && options.at(kDigest) != found) {
    return refuse(file + " has the SHA-256 " + found + " where sha256 says " + options.at(kDigest).dump() +
                      ": take one of the two away",
                  place);
  }
  options.erase(kFrom);
  options[kDigest] = found;
  places_[path + "." + kDigest] = place;
  return absl::OkStatus();
}

absl::Status SpecFile::name_weights_below(Json& node, const std::string& path, bool within_init) {
  if (node.is_array()) {
    for (std::size_t i = 0; i < node.size(); ++i)
      LOCUS_RETURN_IF_ERROR(name_weights_below(node[i], path + "[" + std::to_string(i) + "]", within_init));
    return absl::OkStatus();
  }
  if (!node.is_object()) return absl::OkStatus();
  for (auto& [key, value] : node.items()) {
    const std::string below = path.empty() ? key : path + "." + key;
    const bool inside = within_init || key == kInit;
    if (inside && key == kWeights && value.is_object() && value.contains(kFrom)) {
      LOCUS_RETURN_IF_ERROR(name_weights_of(value, below));
    } else {
      LOCUS_RETURN_IF_ERROR(name_weights_below(value, below, inside));
    }
  }
  return absl::OkStatus();
}

absl::Status SpecFile::name_weights() { return name_weights_below(json_, "", false); }

}  // namespace locus
