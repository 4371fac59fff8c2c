// The rows of an experiment: what submissions and searches add to it alike.
#pragma once

#include <span>

#include "absl/status/status.h"
#include "storage/rules/rows.h"

namespace locus {

// Upserts cells, then trials. INVALID_ARGUMENT for a trial of a cell that is not there.
absl::Status put_trials(Rows& rows, ExperimentId experiment, std::span<const CellRow> cells,
                        std::span<const TrialRow> trials);

// Inserts stages with their inputs. WRONG_STATE for one that is there or has run, STAGE_NOT_FOUND for a missing source.
absl::Status insert_stages(Rows& rows, std::span<const StageRow> stages);

// Upserts links, those of a trial in the order given. TRIAL_NOT_FOUND, STAGE_NOT_FOUND; INVALID_ARGUMENT as below.
absl::Status put_links(Rows& rows, ExperimentId experiment, std::span<const TrialStageRow> links);

// Erases of those trials that are not retired every link in whose role `links` has none.
void drop_other_links(Rows& rows, ExperimentId experiment, std::span<const TrialRow> trials,
                      std::span<const TrialStageRow> links);

// INVALID_ARGUMENT for a stop point that says nothing.
absl::Status check_stop_point(const TrialStageRow& link);

}  // namespace locus
