// Extensions that the server learned from workers: which are used, and letting go of one.
#include <algorithm>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/experiment/required_code.h"
#include "server/application/api.h"

namespace locus::server {
namespace {

absl::Status in_use(const std::string& name, const std::string& by) {
  return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kWrongState,
                    "the extension \"" + name + "\" cannot be forgotten: " + by, "name", {{"extension", name}});
}

// The first connected worker that has it, of whatever code.
std::string worker_with(Coordinator& coordinator, const std::string& name) {
  return coordinator.inspect<std::string>([&](const Coordinator::LiveState& live) -> std::string {
    for (const WorkerView& worker : live.scheduler.workers(live.now)) {
      for (const auto& [extension, digest] : worker.extensions) {
        if (extension == name) return worker.name;
      }
    }
    return "";
  });
}

bool asks_for(const StageRow& stage, const std::string& name) {
  if (!stage.requirements) return false;
  return std::ranges::any_of(stage.requirements->revisions,
                             [&](const auto& asked) { return extension_of_requirement(asked.first).first == name; });
}

}  // namespace

absl::StatusOr<v1::Extension> Api::forget_extension(const v1::ForgetExtensionRequest& request, const Caller& caller) {
  const std::string& name = request.name();
  if (const std::string worker = worker_with(coordinator_, name); !worker.empty())
    return in_use(name, "worker '" + worker + "' has it loaded; start it without, first");
  LOCUS_ASSIGN_OR_RETURN(const Snapshot unfinished, store_.load());
  for (const StageRow& stage : unfinished.stages) {
    if (asks_for(stage, name))
      return in_use(name, "stage " + std::to_string(stage.id) +
                              " is unfinished and needs it; cancel its experiment, "
                              "or let it run");
  }
  LOCUS_ASSIGN_OR_RETURN(const ExtensionRow gone, catalogs_.forget(name, caller.deed()));
  v1::Extension out;
  out.set_name(gone.name);
  out.set_by(gone.by);
  out.set_digest(gone.digest);
  for (const Json& item : Json::parse(gone.items_json, nullptr, false)) {
    out.add_items(item.value("kind", "") + "/" + item.value("id", ""));
  }
  return out;
}

}  // namespace locus::server
