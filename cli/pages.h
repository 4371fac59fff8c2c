// Lists that come in pages, read to their end.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/client.h"

namespace locus {

absl::StatusOr<v1::ListExperimentsResponse> all_experiments(Client& client, const std::vector<std::string>& tags = {});
absl::StatusOr<v1::ListTrialsResponse> all_trials(Client& client, const std::string& experiment,
                                                  const std::vector<std::string>& tags = {});
// Of an experiment, or one trial of it.
absl::StatusOr<v1::ListArtifactsResponse> all_artifacts(Client& client, const std::string& name);

}  // namespace locus
