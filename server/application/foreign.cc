// Series of other programs: taken, shown and let go of. What ranks, compares or claims has no way here.
#include "core/experiment/foreign.h"

#include <algorithm>
#include <bit>
#include <set>

#include "core/base/invalid.h"
#include "core/base/json.h"
#include "core/base/sha256.h"
#include "core/base/utf8.h"
#include "core/experiment/series_labels.h"
#include "server/application/api.h"
#include "server/wire/convert.h"

namespace locus::server {
namespace {

constexpr std::size_t kFormatLength = 40;
constexpr std::int64_t kPointsPerAnswer = 150'000;  // what fits into one message

absl::Status check_import(const v1::ImportSeriesRequest& request) {
  const auto control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  const std::string& source = request.source();
  if (source.empty() || source.size() > static_cast<std::size_t>(kForeignSourceLength) || first_not_utf8(source) ||
      std::any_of(source.begin(), source.end(), control)) {
    return invalid("source", "a source is UTF-8 text of 1 to " + std::to_string(kForeignSourceLength) +
                                 " bytes without control characters; this one has " + std::to_string(source.size()));
  }
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  const std::string& format = request.format();
  if (format.empty() || format.size() > kFormatLength || !std::all_of(format.begin(), format.end(), plain)) {
    return invalid("format",
                   "a format is a word of at most 40 lower-case letters, digits and hyphens such as "
                   "\"tensorboard\", not \"" +
                       valid_utf8(format.substr(0, kFormatLength)) + "\"");
  }
  if (request.series().empty()) return invalid("series", "an import has at least one series");
  if (request.series_size() > kForeignSeriesMost) {
    return make_error(absl::StatusCode::kResourceExhausted, ErrorReason::kLimitExceeded,
                      "this is " + std::to_string(request.series_size()) + " series; an import holds at most " +
                          std::to_string(kForeignSeriesMost),
                      "series");
  }
  return absl::OkStatus();
}

absl::StatusOr<ForeignSeries> series_from(const v1::ForeignSeries& from, const std::string& field) {
  LOCUS_ASSIGN_OR_RETURN(const SeriesKey key, from_proto(from.key(), field + ".key"));
  const auto text = key.metric + key.split;
  if (first_not_utf8(text) || text.find('\0') != std::string::npos)
    return invalid(field + ".key", "a metric and a split are UTF-8 text");
  const int size = from.step_size();
  if (size == 0 || from.value_size() != size || (from.time_us_size() != 0 && from.time_us_size() != size)) {
    return invalid(field,
                   "a series has as many values as steps, at least one, and as many times or none; this one has " +
                       std::to_string(size) + " steps, " + std::to_string(from.value_size()) + " values and " +
                       std::to_string(from.time_us_size()) + " times");
  }
  for (int i = 0; i < size; ++i) {
    if (from.step(i) < 0 || (i > 0 && from.step(i) <= from.step(i - 1))) {
      return invalid(field + ".step", "steps rise from 0 on, each once; " + std::to_string(from.step(i)) + " does not");
    }
  }
  ForeignSeries out{.key = key, .points = size};
  out.step.assign(from.step().begin(), from.step().end());
  out.value.assign(from.value().begin(), from.value().end());
  out.time_us.assign(from.time_us().begin(), from.time_us().end());
  out.time_us.resize(out.step.size());
  return out;
}

void hash_integer(Sha256& hash, std::uint64_t value) {
  char bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(value >> (8 * i));
  hash.update(std::string_view(bytes, sizeof bytes));
}

// Of the series alone, in the order of their keys: the same run is the same whatever its file is called.
std::string digest_of(const std::vector<ForeignSeries>& series) {
  Sha256 hash;
  hash.update("locus foreign series 1");
  for (const ForeignSeries& one : series) {
    for (const std::string& text : {one.key.metric, one.key.split, one.key.labels}) {
      hash_integer(hash, text.size());
      hash.update(text);
    }
    hash_integer(hash, one.step.size());
    for (std::size_t i = 0; i < one.step.size(); ++i) {
      hash_integer(hash, static_cast<std::uint64_t>(one.step[i]));
      hash_integer(hash, static_cast<std::uint64_t>(one.time_us[i]));
      hash_integer(hash, std::bit_cast<std::uint64_t>(one.value[i]));
    }
  }
  return hash.hex_digest();
}

absl::StatusOr<std::vector<ForeignSeries>> all_series(const v1::ImportSeriesRequest& request) {
  std::vector<ForeignSeries> out;
  std::int64_t points = 0;
  for (int i = 0; i < request.series_size(); ++i) {
    LOCUS_ASSIGN_OR_RETURN(out.emplace_back(), series_from(request.series(i), "series[" + std::to_string(i) + "]"));
    points += out.back().points;
  }
  if (points > kForeignPointsMost) {
    return make_error(absl::StatusCode::kResourceExhausted, ErrorReason::kLimitExceeded,
                      "these are " + std::to_string(points) + " points; an import holds at most " +
                          std::to_string(kForeignPointsMost) + ": thin them, or leave out series",
                      "series");
  }
  std::ranges::sort(out, {}, &ForeignSeries::key);
  const auto twice = std::ranges::adjacent_find(out, {}, &ForeignSeries::key);
  if (twice != out.end()) return invalid("series", "the series " + twice->key.metric + " stands twice");
  return out;
}

void fill_import(const ForeignImport& row, v1::ForeignImport* out) {
  out->set_digest(row.digest);
  out->set_source(row.source);
  out->set_format(row.format);
  out->set_imported_by(row.imported_by);
  *out->mutable_imported_time() = to_timestamp(row.imported_us);
  for (const ForeignSeries& series : row.series) {
    auto* one = out->add_series();
    to_proto(series.key, one->mutable_key());
    one->set_points(series.points);
    one->mutable_step()->Add(series.step.begin(), series.step.end());
    one->mutable_time_us()->Add(series.time_us.begin(), series.time_us.end());
    one->mutable_value()->Add(series.value.begin(), series.value.end());
    one->set_reduced(!series.step.empty() && static_cast<std::int64_t>(series.step.size()) < series.points);
  }
}

AppendEvent foreign_event(const ExperimentRow& row, const char* kind, const std::string& digest) {
  const Json event = {{"experiments", Json::array({row.name})}, {"digest", digest}};
  return {"experiments/" + row.name, kind, event.dump()};
}

}  // namespace

absl::StatusOr<v1::ForeignImport> Api::import_series(const v1::ImportSeriesRequest& request, const Caller& caller) {
  LOCUS_RETURN_IF_ERROR(disk_.admit_work());
  LOCUS_RETURN_IF_ERROR(check_import(request));
  LOCUS_ASSIGN_OR_RETURN(const ExperimentRow experiment, store_.experiment(request.experiment()));
  ForeignImport row{.source = request.source(), .format = request.format()};
  LOCUS_ASSIGN_OR_RETURN(row.series, all_series(request));
  row.digest = digest_of(row.series);
  if (!unasked(caller.principal)) row.imported_by = caller.principal.name;
  LOCUS_ASSIGN_OR_RETURN(const auto known, store_.foreign(experiment.id, {.digest = row.digest}));
  if (known.empty()) {
    const std::vector<Mutation> changes = {PutForeign{experiment.id, row},
                                           foreign_event(experiment, "foreign-imported", row.digest), caller.deed()};
    LOCUS_RETURN_IF_ERROR(store_.apply(changes, clock_.wall()));
  }
  LOCUS_ASSIGN_OR_RETURN(const auto stored, store_.foreign(experiment.id, {.digest = row.digest}));
  v1::ForeignImport out;
  out.set_existing(!known.empty());
  for (const ForeignImport& one : stored) fill_import(one, &out);
  return out;
}

absl::StatusOr<v1::ListForeignSeriesResponse> Api::list_foreign_series(const v1::ListForeignSeriesRequest& request) {
  if (request.max_points() < 0) return invalid("max_points", "max_points is negative; give a positive number, or 0");
  LOCUS_ASSIGN_OR_RETURN(const ExperimentRow experiment, store_.experiment(request.experiment()));
  ForeignQuery query{.digest = request.digest(), .max_points = request.max_points()};
  query.with_points = !request.digest().empty() || !request.metric().empty();
  LOCUS_ASSIGN_OR_RETURN(std::string labels, canonical_labels(request.labels(), "labels"));
  if (!request.metric().empty()) {
    query.key = SeriesKey{request.metric(), request.split(), std::move(labels)};
  } else if (!request.split().empty() || !request.labels().empty()) {
    return invalid("metric", "a split or labels are of a metric: name it, too");
  }
  LOCUS_ASSIGN_OR_RETURN(const auto found, store_.foreign(experiment.id, query));
  v1::ListForeignSeriesResponse out;
  std::size_t points = 0;
  for (const ForeignImport& row : found) {
    for (const ForeignSeries& series : row.series) points += series.step.size();
    fill_import(row, out.add_imports());
  }
  if (points > static_cast<std::size_t>(kPointsPerAnswer)) {
    return make_error(absl::StatusCode::kResourceExhausted, ErrorReason::kLimitExceeded,
                      "these are " + std::to_string(points) + " points, and an answer holds at most " +
                          std::to_string(kPointsPerAnswer) + ": give max_points, or ask import by import",
                      "max_points");
  }
  return out;
}

absl::StatusOr<v1::ForeignImport> Api::remove_import(const v1::RemoveImportRequest& request, const Caller& caller) {
  LOCUS_ASSIGN_OR_RETURN(const ExperimentRow experiment, store_.experiment(request.experiment()));
  v1::ForeignImport out;
  if (!request.digest().empty()) {
    LOCUS_ASSIGN_OR_RETURN(const auto stored, store_.foreign(experiment.id, {.digest = request.digest()}));
    for (const ForeignImport& one : stored) fill_import(one, &out);
  }
  const std::vector<Mutation> changes = {RemoveForeign{experiment.id, request.digest()},
                                         foreign_event(experiment, "foreign-removed", request.digest()), caller.deed()};
  LOCUS_RETURN_IF_ERROR(store_.apply(changes, clock_.wall()));
  return out;
}

}  // namespace locus::server
