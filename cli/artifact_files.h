// Artifacts as files in a folder.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/client.h"
#include "core/base/json.h"

namespace locus {

// "trial-17-train-step-1500.safetensors", "trial-17-evaluate-picture-1.png": unique for what one experiment makes.
std::string artifact_file_name(const v1::Artifact& one);
// Whether it is a picture of a scored image or says what these show: the outputs picture-1, picture-2, ... and pictures
// (docs/formats/scored-pictures.md).
bool of_pictures(const v1::Artifact& one);

// Downloads those that are present into `folder`, which is made, and returns [{"path", "sha256", "bytes"}]. Each file appears
// whole or not at all. PERMISSION_DENIED and the like name the folder that cannot be made.
absl::StatusOr<Json> download_artifacts(Client& client, const std::vector<v1::Artifact>& artifacts,
                                        const std::string& folder);

}  // namespace locus
