// Annotations, samples, alerts and the series of other programs.
#include "storage/rules/metadata.h"

#include <algorithm>
#include <set>

#include "core/base/json.h"
#include "core/limits.h"
#include "storage/rules/curve.h"
#include "storage/rules/refusals.h"

namespace locus {
namespace {

// Whether a sample at `now` is worth keeping beside those at `times`: about as far apart as they are.
bool worth_keeping(const std::vector<Microseconds>& times, Microseconds now) {
  if (times.empty()) return true;
  if (now <= times.back()) return false;
  if (times.size() < 2) return true;
  const auto mean = (times.back() - times.front()) / static_cast<Microseconds>(times.size() - 1);
  return now - times.back() >= mean * 3 / 4;
}

}  // namespace

absl::Status annotate(Rows& rows, const Annotate& asked) {
  if (!rows.experiment(asked.experiment)) return refusal::experiment_not_found(asked.experiment);
  if (asked.trial != kWholeExperiment && !rows.has_trial(asked.experiment, asked.trial))
    return refusal::trial_not_found(asked.experiment, asked.trial);
  Annotation row = rows.annotation(asked.experiment, asked.trial);
  std::set<std::string> tags(row.tags.begin(), row.tags.end());
  for (const std::string& tag : asked.remove) tags.erase(tag);
  tags.insert(asked.add.begin(), asked.add.end());
  if (tags.size() > static_cast<std::size_t>(kTagsMost)) {
    return refusal::limit_exceeded("this would be " + std::to_string(tags.size()) + " tags, more than " +
                                   std::to_string(kTagsMost) + ": remove some");
  }
  row.tags.assign(tags.begin(), tags.end());
  if (asked.note) row.note = *asked.note;
  rows.put_annotation(asked.experiment, asked.trial, row);
  return absl::OkStatus();
}

absl::Status add_sample(Rows& rows, const AddAttemptSample& asked, Microseconds now) {
  const auto stage = rows.stage(asked.stage_id);
  if (!stage) return refusal::stage_not_found(asked.stage_id);
  const auto attempt = rows.attempt(asked.stage_id, asked.attempt);
  if (!attempt || (asked.session != attempt->session && asked.session != rows.session_of(attempt->worker_id)))
    return refusal::stale_attempt(*stage, asked.attempt, "add a sample of");
  std::vector<Microseconds> times = rows.sample_times(asked.stage_id, asked.attempt);
  if (!worth_keeping(times, now)) return absl::OkStatus();
  if (static_cast<int>(times.size()) >= kSamplesPerAttempt) {
    for (std::size_t i = 1; i < times.size(); i += 2) rows.erase_sample(asked.stage_id, asked.attempt, times[i]);
  }
  SystemSample kept = asked.sample;
  kept.time_us = now;
  rows.put_sample(asked.stage_id, asked.attempt, kept);
  return absl::OkStatus();
}

absl::Status add_sample(Rows& rows, const AddWorkerSample& asked, Microseconds now) {
  const auto worker = rows.worker_of_session(asked.session);
  if (!worker) return refusal::worker_not_found(0);
  rows.erase_worker_samples(*worker, now - kWorkerSamplesKept.count());
  SystemSample kept = asked.sample;
  kept.time_us = now;
  rows.put_worker_sample(*worker, kept);
  return absl::OkStatus();
}

absl::Status put_alert(Rows& rows, const PutAlert& asked) {
  if (asked.row.experiment != 0 && !rows.experiment(asked.row.experiment))
    return refusal::experiment_not_found(asked.row.experiment);
  rows.put_alert(asked.row);
  return absl::OkStatus();
}

absl::Status put_foreign(Rows& rows, const PutForeign& asked, Microseconds now) {
  if (!rows.experiment(asked.experiment)) return refusal::experiment_not_found(asked.experiment);
  const std::set<std::string> known = rows.foreign_digests(asked.experiment);
  if (known.contains(asked.row.digest)) return absl::OkStatus();
  if (known.size() >= static_cast<std::size_t>(kForeignImportsMost)) {
    return refusal::limit_exceeded("the experiment has " + std::to_string(known.size()) +
                                   " imports, as many as it may: remove one first");
  }
  ForeignImport row = asked.row;
  row.imported_us = now;
  rows.put_foreign(asked.experiment, row);
  return absl::OkStatus();
}

absl::Status remove_foreign(Rows& rows, const RemoveForeign& asked) {
  if (!rows.experiment(asked.experiment)) return refusal::experiment_not_found(asked.experiment);
  if (!rows.foreign_digests(asked.experiment).contains(asked.digest)) return refusal::import_not_found(asked.digest);
  rows.erase_foreign(asked.experiment, asked.digest);
  return absl::OkStatus();
}

void thin(ForeignSeries* series, int max_points) {
  std::vector<Point> points;
  points.reserve(series->step.size());
  for (std::size_t i = 0; i < series->step.size(); ++i)
    points.push_back({.step = series->step[i], .time_us = series->time_us[i], .value = series->value[i]});
  const std::vector<Point> kept = reduce_points(points, max_points);
  if (kept.size() == points.size()) return;
  series->step.clear(), series->time_us.clear(), series->value.clear();
  for (const Point& point : kept) {
    series->step.push_back(point.step);
    series->time_us.push_back(point.time_us);
    series->value.push_back(point.value);
  }
}

std::string sample_to_text(const SystemSample& sample) {
  Json out = Json::object();
  for (const auto& [key, value] : sample.values) out[key.metric + (key.labels == "{}" ? "" : " " + key.labels)] = value;
  return out.dump();
}

void sample_from_text(const std::string& text, SystemSample* sample) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return;
  for (const auto& [name, value] : json.items()) {
    const std::size_t space = name.find(' ');
    if (!value.is_number()) continue;
    const std::string labels = space == std::string::npos ? "{}" : name.substr(space + 1);
    sample->values[{name.substr(0, space), "", labels}] = value.get<double>();
  }
}

}  // namespace locus
