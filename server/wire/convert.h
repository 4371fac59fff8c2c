// Core values to messages and back. Pure; refuses what breaks its documented form.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/experiment/model.h"
#include "core/scheduling/scheduler.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"
#include "locus/v1/common.pb.h"
#include "locus/v1/experiment_service.pb.h"
#include "locus/v1/worker_service.pb.h"

namespace locus::server {

google::protobuf::Timestamp to_timestamp(Microseconds wall_us);
google::protobuf::Duration to_duration(std::chrono::microseconds value);
Microseconds from_duration(const google::protobuf::Duration& value);

absl::StatusOr<SeriesKey> from_proto(const v1::SeriesKey& key, const std::string& field);
void to_proto(const SeriesKey& key, v1::SeriesKey* out);
void to_proto(const Result& result, v1::Result* out);
void to_proto(const EventRow& event, v1::Event* out);
// RESOURCE_EXHAUSTED beyond 8192 points; INVALID_ARGUMENT when columns differ in length or an index names no
// series.
absl::StatusOr<PointBatch> from_proto(const v1::PointColumns& columns);
absl::StatusOr<std::vector<Result>> from_proto(const google::protobuf::RepeatedPtrField<v1::Result>& results);
std::vector<StatedAttempt> from_proto(const google::protobuf::RepeatedPtrField<v1::HeldAttempt>& held);
v1::Wish to_proto(LeaseWish wish);

// Slots as the store keeps them, and back.
std::string slots_to_json(const google::protobuf::RepeatedPtrField<v1::Slot>& slots);
void slots_from_json(const std::string& json, google::protobuf::RepeatedPtrField<v1::Slot>* out);
// The same for the datasets a worker holds and lacks.
std::string data_to_json(const v1::HeldData& data);
void data_from_json(const std::string& json, v1::HeldData* out);

}  // namespace locus::server
