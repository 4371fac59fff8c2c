// Names by what artifacts are of.
#include "cli/artifact_files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "cli/command.h"
#include "core/base/error.h"

namespace locus {
namespace {

constexpr std::string_view kPictureSlot = "picture-", kPicturesSlot = "pictures";

// picture-1, picture-2, ...
bool is_picture(const v1::Artifact& one) {
  const std::string_view slot = one.slot();
  return slot.starts_with(kPictureSlot) && slot.size() > kPictureSlot.size() &&
         std::all_of(slot.begin() + kPictureSlot.size(), slot.end(),
                     [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
}

}  // namespace

bool of_pictures(const v1::Artifact& one) { return one.slot() == kPicturesSlot || is_picture(one); }

std::string artifact_file_name(const v1::Artifact& one) {
  const auto [experiment, number] = split_trial(one.trial());
  const std::string stem = "trial-" + std::to_string(number) + "-" + one.role();
  if (of_pictures(one)) return stem + "-" + one.slot() + (is_picture(one) ? ".png" : ".json");
  return stem + (one.slot().empty() ? "" : "-" + one.slot()) + "-step-" + std::to_string(one.step()) + ".safetensors";
}

absl::StatusOr<Json> download_artifacts(Client& client, const std::vector<v1::Artifact>& artifacts,
                                        const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return make_error(absl::ErrnoToStatusCode(error.value()), ErrorReason::kStorageFailed,
                      "cannot make the folder " + folder + ": " + error.message() + "; choose another");
  Json files = Json::array();
  for (const v1::Artifact& one : artifacts) {
    if (!one.present()) continue;
    const std::filesystem::path path = std::filesystem::path(folder) / artifact_file_name(one);
    LOCUS_RETURN_IF_ERROR(client.download_artifact(one.sha256(), path));
    files.push_back({{"path", path.string()}, {"sha256", one.sha256()}, {"bytes", one.bytes()}});
  }
  return files;
}

}  // namespace locus
