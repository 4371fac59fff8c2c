// Accounts as people see them: whose turn it is, and within which bounds.
#include "core/base/invalid.h"
#include "server/application/api.h"

namespace locus::server {
namespace {

constexpr double kHourUs = 3600e6;  // of device-microseconds

void fill_bounds(const AccountRow& row, v1::AccountBounds* out) {
  if (row.devices != kUnbounded) out->set_devices(row.devices);
  if (row.urgent_devices != kUnbounded) out->set_urgent_devices(row.urgent_devices);
  if (row.device_hours != kUnbounded) out->set_device_hours(row.device_hours);
  if (row.queued_trials != kUnbounded) out->set_queued_trials(row.queued_trials);
  if (row.experiments != kUnbounded) out->set_experiments(row.experiments);
  if (row.artifact_bytes != kUnbounded) out->set_artifact_bytes(row.artifact_bytes);
}

absl::Status read_bounds(const v1::AccountBounds& given, AccountRow* row) {
  const auto take = [](bool has, std::int64_t value, const char* field, std::int64_t* bound) -> absl::Status {
    if (!has) return absl::OkStatus();
    if (value < 0) return invalid(field, std::string(field) + " is " + std::to_string(value) + "; give 0 or more");
    *bound = value;
    return absl::OkStatus();
  };
  LOCUS_RETURN_IF_ERROR(take(given.has_devices(), given.devices(), "devices", &row->devices));
  LOCUS_RETURN_IF_ERROR(
      take(given.has_urgent_devices(), given.urgent_devices(), "urgent_devices", &row->urgent_devices));
  LOCUS_RETURN_IF_ERROR(take(given.has_device_hours(), given.device_hours(), "device_hours", &row->device_hours));
  LOCUS_RETURN_IF_ERROR(take(given.has_queued_trials(), given.queued_trials(), "queued_trials", &row->queued_trials));
  LOCUS_RETURN_IF_ERROR(take(given.has_experiments(), given.experiments(), "experiments", &row->experiments));
  return take(given.has_artifact_bytes(), given.artifact_bytes(), "artifact_bytes", &row->artifact_bytes);
}

void fill_account(const AccountView& view, v1::Account* out) {
  out->set_name(view.row.name);
  out->set_configured(view.configured);
  out->set_weight(view.row.weight);
  out->set_may_be_urgent(view.row.may_be_urgent);
  fill_bounds(view.row, out->mutable_bounds());
  out->set_holding(static_cast<double>(view.holding) / 1000);
  out->set_urgent_holding(static_cast<double>(view.urgent) / 1000);
  out->set_used_hours(static_cast<double>(view.used) / kHourUs);
  out->set_month_hours(static_cast<double>(view.used_lately) / kHourUs);
  out->set_queued(static_cast<std::int64_t>(view.queued));
}

std::vector<AccountView> account_views(Coordinator& coordinator) {
  return coordinator.inspect<std::vector<AccountView>>(
      [](const Coordinator::LiveState& live) { return live.scheduler.accounts(live.now); });
}

// As it is now, or with nothing where it neither has a share nor holds or waits for something.
v1::Account account_named(Coordinator& coordinator, const std::string& name) {
  v1::Account out;
  fill_account(AccountView{.row = {.name = name}}, &out);
  const std::vector<AccountView> views = account_views(coordinator);
  for (const AccountView& view : views) {
    if (view.row.name == name) fill_account(view, &out);
  }
  return out;
}

}  // namespace

absl::StatusOr<v1::ListAccountsResponse> Api::list_accounts(const v1::ListAccountsRequest&) {
  v1::ListAccountsResponse out;
  const std::vector<AccountView> views = account_views(coordinator_);
  for (const AccountView& view : views) fill_account(view, out.add_accounts());
  return out;
}

absl::StatusOr<v1::Account> Api::set_account(const v1::SetAccountRequest& request, const Caller& caller) {
  AccountRow row{.name = request.name(),
                 .weight = request.weight() == 0 ? 1 : request.weight(),
                 .may_be_urgent = request.may_be_urgent(),
                 .created_us = clock_.wall()};
  LOCUS_RETURN_IF_ERROR(read_bounds(request.bounds(), &row));
  const Command command = call(coordinator_, AccountChanged{.row = row}, caller.deed());
  if (const auto* error = std::get_if<ReplyError>(&command)) return error->status;
  return account_named(coordinator_, row.name);
}

absl::StatusOr<v1::Account> Api::remove_account(const v1::RemoveAccountRequest& request, const Caller& caller) {
  const Command command =
      call(coordinator_, AccountChanged{.row = {.name = request.name()}, .remove = true}, caller.deed());
  if (const auto* error = std::get_if<ReplyError>(&command)) return error->status;
  return account_named(coordinator_, request.name());
}

}  // namespace locus::server
