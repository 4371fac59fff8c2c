// Tags and notes.
#include "server/application/annotations.h"

#include <algorithm>
#include <cctype>

#include "core/analysis/queries.h"
#include "core/base/error.h"
#include "core/base/invalid.h"
#include "core/base/utf8.h"
#include "core/limits.h"
#include "server/wire/convert.h"

namespace locus::server {
namespace {

absl::Status check_tag(const std::string& tag, const std::string& field) {
  const auto letter = [](unsigned char c) { return std::islower(c) || std::isdigit(c); };
  const auto plain = [&](unsigned char c) { return letter(c) || c == '-' || c == '_' || c == '.' || c == ':'; };
  if (!tag.empty() && tag.size() <= static_cast<std::size_t>(kTagLength) && letter(tag.front()) &&
      std::all_of(tag.begin(), tag.end(), plain))
    return absl::OkStatus();
  return invalid(field, "\"" + valid_utf8(tag.substr(0, kTagLength)) + "\" is no tag: 1 to " +
                            std::to_string(kTagLength) +
                            " lower-case letters, digits, '-', '_', '.' or ':', a letter or digit first");
}

absl::Status check_note(const std::string& note) {
  if (note.size() > static_cast<std::size_t>(kNoteBytes)) {
    return invalid("note", "a note has at most " + std::to_string(kNoteBytes) + " bytes, this one has " +
                               std::to_string(note.size()));
  }
  const auto control = [](unsigned char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f; };
  if (valid_utf8(note) != note || std::any_of(note.begin(), note.end(), control))
    return invalid("note", "a note is UTF-8 text without control characters but line ends and tabs");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::Annotation> annotate(Store& store, Clock& clock, const v1::AnnotateRequest& request,
                                        const Caller& caller) {
  for (const std::string& tag : request.add_tags()) LOCUS_RETURN_IF_ERROR(check_tag(tag, "add_tags"));
  for (const std::string& tag : request.remove_tags()) LOCUS_RETURN_IF_ERROR(check_tag(tag, "remove_tags"));
  if (request.has_note()) LOCUS_RETURN_IF_ERROR(check_note(request.note()));
  std::string experiment = request.name();
  Annotate asked;
  if (experiment.find('/') != std::string::npos) {
    LOCUS_ASSIGN_OR_RETURN(const auto parsed, parse_trial_name(experiment));
    experiment = parsed.first;
    asked.trial = parsed.second;
  }
  LOCUS_ASSIGN_OR_RETURN(const ExperimentRow row, store.experiment(experiment));
  asked.experiment = row.id;
  asked.add.assign(request.add_tags().begin(), request.add_tags().end());
  asked.remove.assign(request.remove_tags().begin(), request.remove_tags().end());
  if (request.has_note()) asked.note = request.note();
  if (!asked.add.empty() || !asked.remove.empty() || asked.note) {
    const Json event = {{"experiments", Json::array({row.name})}, {"name", request.name()}};
    const std::vector<Mutation> changes = {asked, AppendEvent{"experiments/" + row.name, "annotated", event.dump()},
                                           caller.deed()};
    LOCUS_RETURN_IF_ERROR(store.apply(changes, clock.wall()));
  } else if (asked.trial != kWholeExperiment) {
    LOCUS_RETURN_IF_ERROR(find_trial(store, request.name()).status());
  }
  LOCUS_ASSIGN_OR_RETURN(const auto all, store.annotations(row.id));
  v1::Annotation out;
  out.set_name(request.name());
  if (const auto found = all.find(asked.trial); found != all.end()) fill_annotation(found->second, &out);
  return out;
}

}  // namespace locus::server
