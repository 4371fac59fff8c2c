// A small matrix of trials turned into a submission, the way the service does it: what the store knows is
// named by id.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/ports/store.h"
#include "core/scheduling/scheduler.h"

namespace locus::testing {

struct Matrix {
  std::string name = "matrix";
  std::vector<std::string> cells = {"none"};  // each one prior, asked for at revision 1
  std::vector<std::int64_t> seeds = {0};
  bool evaluate = true;  // every trial: train, then evaluate its checkpoint
  int priority = 0;
  std::int64_t stage_seconds = 0;  // limits.stage_seconds; 0: none
  bool measure = false;            // every trial also has a stage that runs alone and takes no inputs
  bool train = true;               // without it a trial is its other stages that take no inputs
  std::string dataset = {};        // that every stage reads; empty: none that a worker must hold
  bool searched = false;           // its trials wait for decided(), and its log begins with its first submission
  std::string owner = {};
  ServiceClass service_class = ServiceClass::kNormal;
  std::string placement = {};  // placement_text()
};
// Two cells, of which a search decides.
inline const Matrix kSearched{.cells = {"a", "b"}, .searched = true};

std::string train_identity(const std::string& cell, std::int64_t seed);
std::string evaluate_identity(const std::string& cell, std::int64_t seed);
std::string measure_identity(const std::string& cell, std::int64_t seed);

// A stage as it is drafted before it is looked up.
ExperimentSubmitted::StageDraft stage_draft(const std::string& kind, const std::string& cell, std::int64_t seed,
                                            const std::string& dataset = {});

// Kept trials keep their ordinal, new ones are appended, those no longer in the matrix are retired.
ExperimentSubmitted submission(const Matrix& matrix, Store& store);

// What a search of the matrix decides: how far each of these trials is wanted. Of one that is wanted to the end also the
// stages after its training; of another these only where they were linked before, with no want. One row is appended to
// the log.
SearchDecided decided(const Matrix& matrix, const std::map<std::int64_t, std::int64_t>& wants, Store& store);

// The stages of an experiment (or of one of its trials) as a rerun, looked up the way the service does it.
StagesRerun rerun_of(const std::string& experiment, std::int64_t trial, Store& store);

}  // namespace locus::testing
