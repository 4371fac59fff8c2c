// Frames of docs/formats/trainer.md translated to messages of the wire, and back.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/frame.h"
#include "locus/v1/worker_service.pb.h"
#include "worker/link/link.h"

namespace locus {

// All of these throw std::exception when a field is missing or of another type.

// A whole number of 64 bits, and that of a field, 0 where it is absent: of fractions and larger numbers anything could become.
std::int64_t integer_of(const Json& json);
std::int64_t integer_of(const Json& frame, const char* field);

// The points of a `points` frame, in pieces of at most kPointsPerBatch.
std::vector<v1::PointColumns> points_of(const Json& frame);
// The outcome a `done` or `failed` frame reports, without its outputs.
v1::CompleteAttemptRequest outcome_of(const Json& frame);
// The output files of a `done` frame.
std::vector<Link::ProducedFile> outputs_of(const Json& frame);

struct SlotExecution {
  std::string device = "cpu";
  int index = 0, threads = 1;
  std::filesystem::path data_root, work;
  int checkpoint_seconds = 60;
};
Json start_frame(const Attempt& attempt, const std::vector<std::pair<std::string, std::string>>& inputs,
                 const std::string& resume, std::int64_t until_step, const SlotExecution& execution);

v1::CompleteAttemptRequest failed_outcome(const std::string& failure_class, const std::string& reason);

}  // namespace locus
