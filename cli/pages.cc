// Reads every page of a list.
#include "cli/pages.h"

#include <set>

#include "core/base/error.h"
#include "core/limits.h"

namespace locus {

absl::StatusOr<v1::ListExperimentsResponse> all_experiments(Client& client, const std::vector<std::string>& tags) {
  v1::ListExperimentsRequest page;
  for (const std::string& tag : tags) page.add_tag(tag);
  page.set_page_size(kPageSizeMost);
  v1::ListExperimentsResponse all;
  do {
    LOCUS_ASSIGN_OR_RETURN(const v1::ListExperimentsResponse some, client.list_experiments(page));
    all.mutable_experiments()->MergeFrom(some.experiments());
    all.set_attempts_started(some.attempts_started());
    page.set_page_token(some.next_page_token());
  } while (!page.page_token().empty());
  return all;
}

absl::StatusOr<v1::ListTrialsResponse> all_trials(Client& client, const std::string& experiment,
                                                  const std::vector<std::string>& tags) {
  v1::ListTrialsRequest page;
  for (const std::string& tag : tags) page.add_tag(tag);
  page.set_experiment(experiment);
  page.set_page_size(kPageSizeMost);
  v1::ListTrialsResponse all;
  std::set<std::int32_t> cells;
  do {
    LOCUS_ASSIGN_OR_RETURN(const v1::ListTrialsResponse some, client.list_trials(page));
    all.mutable_trials()->MergeFrom(some.trials());
    for (const v1::TrialCell& cell : some.cells()) {
      if (cells.insert(cell.cell()).second) *all.add_cells() = cell;
    }
    *all.mutable_columns() = some.columns();  // the same on every page, as is what is available
    *all.mutable_available() = some.available();
    page.set_page_token(some.next_page_token());
  } while (!page.page_token().empty());
  return all;
}

absl::StatusOr<v1::ListArtifactsResponse> all_artifacts(Client& client, const std::string& name) {
  v1::ListArtifactsRequest page;
  page.set_name(name);
  page.set_page_size(kPageSizeMost);
  v1::ListArtifactsResponse all;
  do {
    LOCUS_ASSIGN_OR_RETURN(const v1::ListArtifactsResponse some, client.list_artifacts(page));
    all.mutable_artifacts()->MergeFrom(some.artifacts());
    page.set_page_token(some.next_page_token());
  } while (!page.page_token().empty());
  return all;
}

}  // namespace locus
