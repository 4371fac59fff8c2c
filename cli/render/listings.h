// Everything else that commands print: experiments, trials, workers, the catalog.
#pragma once

#include <string>

#include "cli/render/text_table.h"
#include "core/base/json.h"
#include "locus/v1/experiment_service.pb.h"
#include "locus/v1/worker_service.pb.h"

namespace locus {

// A note for the terminal: its lines, control characters made visible.
std::string show_note(const std::string& note);

std::string render_submission(const v1::CreateExperimentResponse& response);
std::string render_experiments(const v1::ListExperimentsResponse& response, TextStyle style = {});
std::string render_experiment(const v1::Experiment& experiment, const v1::ListTrialsResponse& trials,
                              TextStyle style = {});
std::string render_trials(const v1::ListTrialsResponse& trials, TextStyle style = {});
std::string render_trial(const v1::TrialDetail& detail, TextStyle style = {});
std::string show_data(const v1::Worker& worker);        // the datasets it holds; empty: it did not say
std::string show_extensions(const v1::Worker& worker);  // "own-prior@3fa9c21e0b7d": what it brings, with its code
std::string render_workers(const v1::ListWorkersResponse& response, TextStyle style = {});

// The whole catalog, the items of one kind, or one item with its options, no wider than `width` where its words
// allow it.
std::string render_catalog(const Json& catalog);
std::string render_catalog_kind(const Json& catalog, const std::string& kind);
std::string render_catalog_item(const Json& item, int width);

}  // namespace locus
