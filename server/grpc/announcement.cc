// Announcements of workers.
#include "server/grpc/announcement.h"

#include <algorithm>
#include <cctype>

#include "core/base/error.h"
#include "core/base/invalid.h"
#include "core/base/json_document.h"
#include "core/experiment/labels.h"
#include "core/experiment/required_code.h"
#include "core/limits.h"
#include "server/wire/convert.h"

namespace locus::server {
namespace {

constexpr int kSlotsMost = 1024, kRevisionsMost = 10'000, kDatasetsMost = 1000;
constexpr std::size_t kTextMost = 256;
constexpr int kGangProtocol = 3;  // from which on a worker knows stages over several devices
constexpr Microseconds kLifeMost = std::chrono::microseconds(std::chrono::years(10)).count();  // who says more stays

absl::Status check_labels(const v1::RegisterWorkerRequest& request) {
  if (static_cast<std::size_t>(request.labels_size()) > kLabelsMost)
    return invalid("labels", "a worker announces at most 64 labels");
  for (const auto& [key, value] : request.labels()) {
    if (!valid_label_key(key) || value.size() > kLabelBytes) {
      return invalid("labels",
                     "a label's key is lower-case letters, digits, '.' and '-', at most 63, maybe after node/, and "
                     "its value has at most 128 bytes");
    }
  }
  return absl::OkStatus();
}

// Whether its slots can be taken together. Releases that do not say so do that on CPUs alone.
void take_together(const v1::RegisterWorkerRequest& request, WorkerRegistered& event) {
  event.gangs = request.protocol_version() >= kGangProtocol;
  if (!event.gangs) return;
  const v1::Together& said = request.together();
  for (const SlotOffer& slot : event.slots) {
    const bool can = request.has_together()
                         ? std::find(said.devices().begin(), said.devices().end(), slot.device) != said.devices().end()
                         : slot.device == "cpu";
    if (can) continue;
    event.gangs = false;
    const auto why = said.missing().find(slot.device);
    if (why != said.missing().end()) event.apart = why->second;
    return;
  }
}

}  // namespace

absl::Status check_announcement(const v1::RegisterWorkerRequest& request) {
  if (request.protocol_version() < kProtocolOldest || request.protocol_version() > kProtocolVersion) {
    return make_error(
        absl::StatusCode::kFailedPrecondition, ErrorReason::kUnsupportedVersion,
        "the worker speaks protocol version " + std::to_string(request.protocol_version()) +
            " and this server version " + std::to_string(kProtocolVersion) + ", from " +
            std::to_string(kProtocolOldest) + " on; install the same release of Locus on both",
        "protocol_version",
        {{"worker", std::to_string(request.protocol_version())}, {"server", std::to_string(kProtocolVersion)}});
  }
  if (request.name().empty() || request.name().size() > kTextMost)
    return invalid("name", "a worker's name has 1 to 256 bytes");
  const auto plain = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_' || c == '.'; };
  if (!std::isalnum(static_cast<unsigned char>(request.name().front())) ||
      !std::all_of(request.name().begin(), request.name().end(), plain))
    return invalid("name", "a worker's name begins with a letter or digit and goes on with those, '-', '_' or '.'");
  if (request.session().empty() || request.session().size() > kTextMost)
    return invalid("session", "a session has 1 to 256 bytes");
  if (request.instance().size() > kTextMost) return invalid("instance", "an instance has at most 256 bytes");
  if (request.slots_size() == 0)
    return invalid("slots", "a worker without slots can run nothing; announce at least one");
  for (const auto& [dataset, why] : request.data().missing()) {
    if (dataset.size() > kTextMost || why.size() > static_cast<std::size_t>(kReasonLength))
      return invalid("data.missing", "a dataset's id has at most 256 bytes, what is missing of it at most 4096");
  }
  if (request.data().datasets_size() + request.data().missing_size() > kDatasetsMost)
    return invalid("data", "a worker announces at most 1000 datasets");
  for (const auto& [device, why] : request.together().missing()) {
    if (device.size() > kTextMost || why.size() > static_cast<std::size_t>(kReasonLength))
      return invalid("together.missing", "a kind of devices has at most 256 bytes, what is missing of it at most 4096");
  }
  if (request.slots_size() > kSlotsMost || request.revisions_size() > kRevisionsMost ||
      request.held_size() > kHeldMost) {
    return make_error(absl::StatusCode::kResourceExhausted, ErrorReason::kLimitExceeded,
                      "a worker may announce at most 1024 slots, 10000 revisions and 4096 held attempts");
  }
  return absl::OkStatus();
}

absl::StatusOr<WorkerLabels> announced_labels(Store& store, const Principal& who,
                                              const v1::RegisterWorkerRequest& request) {
  LOCUS_RETURN_IF_ERROR(check_labels(request));
  WorkerLabels out;
  for (const auto& [key, value] : request.labels()) out.announced[key] = value;
  if (unasked(who)) std::swap(out.granted, out.announced);
  if (who.via != Via::kCertificate) return out;
  const auto row = store.identity().certificate(who.credential);
  if (absl::IsNotFound(row.status())) return out;  // of an authority that is not ours
  LOCUS_RETURN_IF_ERROR(row.status());
  out.granted = stored_labels(Json{{"granted", Json::parse(row->labels_json, nullptr, false)}}.dump()).granted;
  return out;
}

WorkerRegistered announced(const v1::RegisterWorkerRequest& request) {
  WorkerRegistered event;
  event.name = request.name();
  event.session = request.session();
  event.host = request.host();
  event.version = request.version();
  event.catalog_digest = request.catalog_digest();
  event.slots_json = slots_to_json(request.slots());
  for (const auto& slot : request.slots()) event.slots.push_back({slot.device(), slot.index(), slot.threads()});
  for (const auto& [item, revision] : request.revisions()) event.revisions[item] = revision;
  for (const auto& extension : request.extensions())
    event.revisions[extension_requirement(extension.name(), extension.digest())] = kCopyRevision;
  event.running = from_proto(request.held());
  take_together(request, event);
  event.instance = request.instance();
  event.take_over = request.take_over();
  if (request.has_time_left()) {
    event.time_left = std::clamp<Microseconds>(from_duration(request.time_left()), 0, kLifeMost);
    event.lifetime = std::clamp<Microseconds>(from_duration(request.lifetime()), *event.time_left, kLifeMost);
  }
  if (request.has_data()) {
    event.datasets.emplace(request.data().datasets().begin(), request.data().datasets().end());
    event.data_json = data_to_json(request.data());
  }
  return event;
}

}  // namespace locus::server
