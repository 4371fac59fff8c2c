// Retention lets go of what no stage made or reads as an input, and weights are neither: hence the pin.
#include "cli/uploads.h"

#include "core/base/error.h"

namespace locus {

absl::StatusOr<std::string> keep_weights(Client& client, const std::string& path) {
  LOCUS_ASSIGN_OR_RETURN(const std::string sha256, client.upload_artifact(path, "weights"));
  v1::PinArtifactRequest pin;
  pin.set_sha256(sha256);
  LOCUS_RETURN_IF_ERROR(client.pin_artifact(pin).status());
  return sha256;
}

}  // namespace locus
