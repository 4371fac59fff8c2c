// What an attempt's trainer printed.
#include "server/application/log_query.h"

#include <algorithm>

#include "core/analysis/queries.h"
#include "core/base/error.h"
#include "core/base/invalid.h"
#include "core/base/utf8.h"
#include "core/limits.h"

namespace locus::server {
namespace {

// The stage under the role, or the one that an attempt began of last.
absl::StatusOr<StageId> find_stage(Store& store, const v1::ReadLogRequest& request) {
  if (request.stage() != 0 && !request.trial().empty())
    return invalid("stage", "a trial and a stage are given; ask for the log of one of them");
  if (request.stage() != 0) return request.stage();
  LOCUS_ASSIGN_OR_RETURN(const TrialOf found, find_trial(store, request.trial()));
  StageId newest = 0;
  Microseconds began = -1;
  std::string roles;
  for (const TrialStageView& view : found.view.stages) {
    roles += (roles.empty() ? "" : ", ") + view.link.role;
    if (!request.role().empty()) {
      if (view.link.role == request.role()) return view.stage.id;
      continue;
    }
    LOCUS_ASSIGN_OR_RETURN(const auto attempts, store.attempts(view.stage.id));
    const Microseconds started = attempts.empty() ? 0 : attempts.back().started_us;
    if (started <= began) continue;
    began = started;
    newest = view.stage.id;
  }
  if (newest != 0) return newest;
  return make_error(absl::StatusCode::kNotFound, ErrorReason::kStageNotFound,
                    "trial " + request.trial() + " has no stage \"" + request.role() + "\"; it has " + roles, "role",
                    {{"role", request.role()}});
}

}  // namespace

std::size_t unfinished_tail(const std::string& text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xc0) == 0x80) continue;  // inside a character
    const std::size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

absl::StatusOr<v1::ReadLogResponse> read_log(Store& store, const v1::ReadLogRequest& request) {
  if (request.max_bytes() < 0 || request.max_bytes() > kLogBytes)
    return invalid("max_bytes", "max_bytes is " + std::to_string(request.max_bytes()) + "; give 1 to " +
                                    std::to_string(kLogBytes) + ", or 0 for the most");
  LOCUS_ASSIGN_OR_RETURN(const StageId stage, find_stage(store, request));
  LOCUS_ASSIGN_OR_RETURN(const auto attempts, store.attempts(stage));
  v1::ReadLogResponse out;
  out.set_stage(stage);
  if (request.attempt() == 0 && attempts.empty()) return out;  // nothing has run yet
  const std::int64_t attempt = request.attempt() == 0 ? attempts.back().number : request.attempt();
  const std::int64_t most = request.max_bytes() == 0 ? kLogBytes : request.max_bytes();
  LOCUS_ASSIGN_OR_RETURN(LogView log, store.log(stage, attempt, request.offset(), most));
  if (request.offset() < 0) {
    const std::int64_t from = std::max<std::int64_t>(0, log.total + request.offset());
    LOCUS_ASSIGN_OR_RETURN(log, store.log(stage, attempt, from, most));
  }
  const auto row =
      std::find_if(attempts.begin(), attempts.end(), [&](const AttemptRow& one) { return one.number == attempt; });
  const bool over = row != attempts.end() && row->state != AttemptState::kRunning;
  // A character may be cut: its beginning comes with what follows, unless nothing follows any more.
  std::size_t cut = unfinished_tail(log.text);
  const bool at_end = log.offset + static_cast<std::int64_t>(log.text.size()) >= log.total;
  if ((over && at_end) || cut == log.text.size()) cut = 0;
  log.text.resize(log.text.size() - cut);
  out.set_attempt(attempt);
  out.set_offset(log.offset);
  out.set_next_offset(log.offset + static_cast<std::int64_t>(log.text.size()));
  out.set_total(log.total);
  out.set_ended(over && out.next_offset() >= log.total);
  if (row != attempts.end()) out.set_state(to_string(row->state));
  out.set_text(valid_utf8(log.text));
  return out;
}

}  // namespace locus::server
