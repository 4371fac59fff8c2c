// Long polls for work.
#include "server/grpc/acquire_call.h"

#include <algorithm>
#include <chrono>

#include "core/limits.h"
#include "server/wire/convert.h"
#include "server/wire/status.h"

namespace locus::server {
namespace {

void fill(const Grant& grant, v1::StageGrant* out) {
  out->set_stage(grant.stage_id);
  out->set_attempt(grant.attempt);
  out->set_kind(grant.kind);
  out->set_config_json(grant.config_json);
  for (const int slot : grant.slots) out->add_slots(slot);
  for (const auto& [slot, sha256] : grant.inputs) (*out->mutable_inputs())[slot] = sha256;
  out->set_resume_sha256(grant.resume_sha256);
  out->set_resume_step(grant.resume_step);
  out->set_title(grant.title);
  out->set_limit_seconds(grant.limit_seconds);
  out->set_until_step(grant.until_step);
  if (grant.slots.size() > 1) out->set_devices(static_cast<std::uint32_t>(grant.slots.size()));
}

}  // namespace

void AcquireCall::begin(const v1::AcquireStageRequest& request) {
  WorkRequested event;
  event.session = request.session();
  event.request_id = request.request_id();
  event.free_slots.assign(request.free_slots().begin(), request.free_slots().end());
  event.wait =
      std::clamp<Microseconds>(from_duration(request.wait_duration()), 0, std::chrono::microseconds(kLongPoll).count());
  token_ = coordinator_.post(std::move(event), [this](const Command& command) { answer(command); });
}

void AcquireCall::answer(const Command& command) {
  if (const auto* error = std::get_if<ReplyError>(&command)) return Finish(to_grpc_status(error->status));
  const auto* granted = std::get_if<ReplyGrant>(&command);
  if (granted != nullptr && granted->grant) {
    const Grant& grant = *granted->grant;
    fill(grant, response_->mutable_grant());
    v1::StageGrant& out = *response_->mutable_grant();
    out.set_memory_given(grant.memory_bytes > 0);
    out.set_memory_bytes(out.memory_given() ? grant.memory_bytes : memory_.needed(grant.device, grant.config_json));
  }
  Finish(grpc::Status::OK);
}

}  // namespace locus::server
