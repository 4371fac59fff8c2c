// What the questions to a store are answered with.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/experiment/load.h"
#include "core/experiment/metadata.h"
#include "core/experiment/model.h"

namespace locus {

struct TrialStageView {
  TrialStageRow link;
  StageRow stage;
};
struct TrialView {
  TrialRow trial;
  std::vector<TrialStageView> stages;
};
// Over the distinct stages of unretired trials. `busy_us`: time in attempts of the succeeded ones, what an
// estimate goes by.
struct KindCounts {
  std::int64_t total = 0, succeeded = 0;
  Microseconds busy_us = 0;
};
struct StageCounts {
  std::map<StageState, std::int64_t> by_state;
  std::int64_t trials = 0, trials_done = 0;   // done: sent to the end, and every stage has succeeded
  std::map<std::string, KindCounts> by_kind;  // by stage kind
  Microseconds last_ended_us = 0;             // newest end of an attempt of those stages; 0 without one
};
struct ResultView {
  StageId stage_id = 0;
  Result result;
};
// What tables read of a trial's stage: no configuration, inputs or outputs.
struct StageBrief {
  std::int64_t trial = 0, cell = 0, seed = 0;
  StageId stage = 0;
  std::string kind;
  StageState state = StageState::kBlocked;
  int environment = -1;  // index into StageBriefs::environments; -1: has not succeeded
};
struct StageBriefs {
  std::vector<StageBrief> stages;         // of unretired trials, by trial, then in the order of the specification
  std::vector<std::string> environments;  // JSON, each text once
};
struct SeriesRow {
  std::int64_t id = 0;
  StageId stage_id = 0;
  SeriesKey key;
  std::int64_t points = 0;
};  // points: superseded included
struct SeriesPoints {
  SeriesRow series;
  std::vector<Point> points;
  bool reduced = false;
};  // reduced: min/max/first/last kept per bucket

// What a deletion takes with it.
struct Deletion {
  std::vector<StageId> stages;  // that go
  std::int64_t stages_kept = 0, stages_unfinished = 0, trials = 0, attempts = 0, points = 0;
  std::set<std::string> kept_for;      // experiments that need what stays
  std::vector<std::string> artifacts;  // nothing else names them, and they are not pinned
  std::int64_t bytes = 0;              // of these
};
// What the next PurgeDeleted takes away.
struct Purge {
  bool left = false;                   // whether anything of a deleted experiment is left
  std::vector<StageId> stages;         // that go
  std::vector<std::string> artifacts;  // nothing else names them, and they are not pinned
};
struct ArtifactView {
  ArtifactRow row;
  bool named = false;  // by a checkpoint, an output, an input or a running attempt
};
struct LogView {
  std::int64_t offset = 0;  // of the first byte of `text`
  std::int64_t total = 0;   // bytes stored so far, those let go included
  std::string text;
};
struct StoreReport {
  std::vector<std::string> problems;  // in the words of the database; empty: none found
  std::int64_t bytes = 0;
  int schema_version = 0;
};

}  // namespace locus
