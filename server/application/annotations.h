// Tags and notes of experiments and trials.
#pragma once

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/ports/store.h"
#include "locus/v1/experiment_service.pb.h"
#include "server/authority/caller.h"

namespace locus::server {

// Changes them and tells watchers (event "annotated"). INVALID_ARGUMENT for a tag or note outside its form,
// RESOURCE_EXHAUSTED for too many tags, EXPERIMENT_NOT_FOUND, TRIAL_NOT_FOUND. Blocks.
absl::StatusOr<v1::Annotation> annotate(Store& store, Clock& clock, const v1::AnnotateRequest& request,
                                        const Caller& caller);

// Whether it has every one of these tags.
template <class Tags>
bool has_tags(const Annotation& annotation, const Tags& wanted) {
  for (const auto& tag : wanted) {
    bool found = false;
    for (const std::string& one : annotation.tags) found |= one == tag;
    if (!found) return false;
  }
  return true;
}

// Tags and note into the message of whom they are about.
template <class Message>
void fill_annotation(const Annotation& from, Message* out) {
  for (const std::string& tag : from.tags) out->add_tags(tag);
  out->set_note(from.note);
}

}  // namespace locus::server
