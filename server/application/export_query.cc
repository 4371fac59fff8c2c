// Everything of an experiment as JSON lines.
#include "server/application/export_query.h"

#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "core/analysis/queries.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/limits.h"

namespace locus::server {
namespace {

constexpr int kFormat = 1;
constexpr int kTrialsAtOnce = 100;

Json parsed(const std::string& text) {
  Json out = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return out.is_discarded() ? Json(text) : out;
}

// Absent where nobody wrote any, so that what nobody annotated reads as it always did.
void add_annotation(const std::map<std::int64_t, Annotation>& written, std::int64_t of, Json& fields) {
  const auto found = written.find(of);
  if (found == written.end()) return;
  if (!found->second.tags.empty()) fields["tags"] = found->second.tags;
  if (!found->second.note.empty()) fields["note"] = found->second.note;
}

Json key_of(const SeriesKey& key) {
  return {{"metric", key.metric}, {"split", key.split}, {"labels", parsed(key.labels)}};
}

class ExportSource {
 public:
  ExportSource(Store& store, ExperimentRow experiment, bool with_points)
      : store_(store), experiment_(std::move(experiment)), with_points_(with_points) {}

  absl::StatusOr<std::optional<v1::ExportExperimentResponse>> next() {
    while (text_.size() < static_cast<std::size_t>(kChunkBytes) && !ended_) LOCUS_RETURN_IF_ERROR(advance());
    if (text_.empty()) return std::optional<v1::ExportExperimentResponse>();
    v1::ExportExperimentResponse out;
    out.set_chunk(text_.substr(0, static_cast<std::size_t>(kChunkBytes)));
    text_.erase(0, static_cast<std::size_t>(kChunkBytes));
    return out;
  }

 private:
  void line(const char* type, Json fields) {
    fields["type"] = type;
    text_ += fields.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }

  // The next piece: the experiment with its cells, then a trial, or a page of trials to take from.
  absl::Status advance() {
    if (!std::exchange(begun_, true)) return write_experiment();
    if (at_ < page_.size()) return write_trial(page_[at_++]);
    LOCUS_ASSIGN_OR_RETURN(page_, store_.trials(experiment_.id, after_, kTrialsAtOnce));
    at_ = 0;
    ended_ = page_.empty();
    if (ended_) line("end", {{"trials", trials_}, {"stages", stages_.size()}, {"points", points_}});
    if (!ended_) after_ = page_.back().trial.ordinal;
    return absl::OkStatus();
  }

  absl::Status write_experiment() {
    LOCUS_ASSIGN_OR_RETURN(annotations_, store_.annotations(experiment_.id));
    Json fields = {{"format", kFormat},
                   {"name", experiment_.name},
                   {"owner", experiment_.owner},
                   {"revision", experiment_.revision},
                   {"state", to_string(experiment_.state)},
                   {"created_us", experiment_.created_us},
                   {"catalog_digest", experiment_.catalog_digest},
                   {"specification", parsed(experiment_.spec_json)}};
    add_annotation(annotations_, kWholeExperiment, fields);
    line("experiment", std::move(fields));
    LOCUS_ASSIGN_OR_RETURN(const auto cells, store_.cells(experiment_.id));
    for (const CellRow& cell : cells) {
      line("cell", {{"cell", cell.ordinal}, {"label", cell.label}, {"assignment", parsed(cell.assignment_json)}});
    }
    return absl::OkStatus();
  }

  absl::Status write_trial(const TrialView& view) {
    ++trials_;
    Json roles = Json::object();
    for (const TrialStageView& stage : view.stages) roles[stage.link.role] = stage.stage.id;
    Json fields = {{"trial", view.trial.ordinal},
                   {"cell", view.trial.cell},
                   {"seed", view.trial.seed},
                   {"retired", view.trial.retired},
                   {"stages", std::move(roles)}};
    add_annotation(annotations_, view.trial.ordinal, fields);
    line("trial", std::move(fields));
    for (const TrialStageView& stage : view.stages) {
      if (stages_.insert(stage.stage.id).second) LOCUS_RETURN_IF_ERROR(write_stage(stage.stage));
    }
    return absl::OkStatus();
  }

  absl::Status write_stage(const StageRow& stage) {
    Json outputs = Json::array();
    for (const StageOutput& output : stage.outputs)
      outputs.push_back({{"slot", output.slot}, {"sha256", output.sha256}, {"step", output.step}});
    line("stage", {{"stage", stage.id},
                   {"kind", stage.kind},
                   {"identity", stage.identity},
                   {"state", to_string(stage.state)},
                   {"failure_class", to_string(stage.failure_class)},
                   {"reason", stage.reason},
                   {"config", parsed(stage.config_json)},
                   {"outputs", std::move(outputs)}});
    LOCUS_ASSIGN_OR_RETURN(const auto attempts, store_.attempts(stage.id));
    for (const AttemptRow& row : attempts) {
      line("attempt", {{"stage", stage.id},
                       {"attempt", row.number},
                       {"state", to_string(row.state)},
                       {"failure_class", to_string(row.failure_class)},
                       {"reason", row.reason},
                       {"resume_step", row.resume_step},
                       {"started_us", row.started_us},
                       {"ended_us", row.ended_us},
                       {"environment", parsed(row.environment_json)}});
    }
    LOCUS_ASSIGN_OR_RETURN(const auto results, store_.stage_results(stage.id));
    for (const Result& result : results) {
      Json fields = key_of(result.key);
      fields.update({{"stage", stage.id},
                     {"reducer", result.reducer},
                     {"value", number_to_json(result.value)},
                     {"step", result.step}});
      line("result", std::move(fields));
    }
    return with_points_ ? write_points(stage.id) : absl::OkStatus();
  }

  absl::Status write_points(StageId stage) {
    LOCUS_ASSIGN_OR_RETURN(const auto series, store_.series(stage));
    for (const SeriesRow& row : series) {
      LOCUS_ASSIGN_OR_RETURN(const SeriesPoints found, store_.points(stage, row.key, 0));
      Json fields = key_of(row.key);
      Json step = Json::array(), epoch = Json::array(), images = Json::array(), time = Json::array(),
           value = Json::array();
      for (const Point& point : found.points) {
        step.push_back(point.step);
        epoch.push_back(number_to_json(point.epoch));
        images.push_back(point.images);
        time.push_back(point.time_us);
        value.push_back(number_to_json(point.value));
      }
      points_ += static_cast<std::int64_t>(found.points.size());
      fields.update({{"stage", stage},
                     {"step", std::move(step)},
                     {"epoch", std::move(epoch)},
                     {"images", std::move(images)},
                     {"time_us", std::move(time)},
                     {"value", std::move(value)}});
      line("points", std::move(fields));
    }
    return absl::OkStatus();
  }

  Store& store_;
  const ExperimentRow experiment_;
  const bool with_points_;
  bool begun_ = false, ended_ = false;
  std::string text_;
  std::vector<TrialView> page_;
  std::size_t at_ = 0;
  std::int64_t after_ = -1, trials_ = 0, points_ = 0;
  std::set<StageId> stages_;
  std::map<std::int64_t, Annotation> annotations_;  // as they are when the text begins
};

}  // namespace

absl::StatusOr<PullSource<v1::ExportExperimentResponse>> export_experiment(Store& store,
                                                                           const v1::ExportExperimentRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(ExperimentRow row, store.experiment(request.name()));
  auto source = std::make_shared<ExportSource>(store, std::move(row), !request.without_points());
  return PullSource<v1::ExportExperimentResponse>([source] { return source->next(); });
}

}  // namespace locus::server
