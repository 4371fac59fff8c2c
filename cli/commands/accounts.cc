// locus accounts: whose experiments share the workers, with what share and within which bounds.
#include <charconv>

#include "cli/command.h"
#include "cli/render/identity.h"
#include "core/base/error.h"

namespace locus {
namespace {

struct AccountsChoice {
  ServerChoice server;
  std::string action, name;
  std::int64_t weight = 0;  // 0: as it is
  bool urgent = false, no_urgent = false;
  std::string devices, urgent_devices, device_hours, queued_trials, experiments, artifact_bytes;
};

// What the account has now, so that only what is named changes.
absl::StatusOr<v1::SetAccountRequest> as_it_is(const std::string& name, Client& client) {
  LOCUS_ASSIGN_OR_RETURN(const v1::ListAccountsResponse known, client.list_accounts());
  v1::SetAccountRequest request;
  request.set_name(name);
  for (const v1::Account& account : known.accounts()) {
    if (account.name() != name) continue;
    request.set_weight(account.weight());
    request.set_may_be_urgent(account.may_be_urgent());
    *request.mutable_bounds() = account.bounds();
  }
  return request;
}

using SetBound = void (v1::AccountBounds::*)(std::int64_t);
using ClearBound = void (v1::AccountBounds::*)();

// A number, "none", or nothing: as it is.
absl::Status take_bound(const std::string& text, const char* option, v1::AccountBounds* bounds, SetBound set,
                        ClearBound clear) {
  if (text.empty()) return absl::OkStatus();
  if (text == "none") {
    (bounds->*clear)();
    return absl::OkStatus();
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                      "\"" + text + "\" is no bound: give " + option + " a whole number, or none", option);
  }
  (bounds->*set)(value);
  return absl::OkStatus();
}

absl::StatusOr<int> set_account(const AccountsChoice& choice, Client& client) {
  LOCUS_ASSIGN_OR_RETURN(v1::SetAccountRequest request, as_it_is(choice.name, client));
  if (choice.weight != 0) request.set_weight(choice.weight);
  if (choice.urgent) request.set_may_be_urgent(true);
  if (choice.no_urgent) request.set_may_be_urgent(false);
  v1::AccountBounds* bounds = request.mutable_bounds();
  using Bounds = v1::AccountBounds;
  LOCUS_RETURN_IF_ERROR(take_bound(choice.devices, "--devices", bounds, &Bounds::set_devices, &Bounds::clear_devices));
  LOCUS_RETURN_IF_ERROR(take_bound(choice.urgent_devices, "--urgent-devices", bounds, &Bounds::set_urgent_devices,
                                   &Bounds::clear_urgent_devices));
  LOCUS_RETURN_IF_ERROR(take_bound(choice.device_hours, "--device-hours", bounds, &Bounds::set_device_hours,
                                   &Bounds::clear_device_hours));
  LOCUS_RETURN_IF_ERROR(take_bound(choice.queued_trials, "--queued-trials", bounds, &Bounds::set_queued_trials,
                                   &Bounds::clear_queued_trials));
  LOCUS_RETURN_IF_ERROR(
      take_bound(choice.experiments, "--experiments", bounds, &Bounds::set_experiments, &Bounds::clear_experiments));
  LOCUS_RETURN_IF_ERROR(take_bound(choice.artifact_bytes, "--artifact-bytes", bounds, &Bounds::set_artifact_bytes,
                                   &Bounds::clear_artifact_bytes));
  LOCUS_ASSIGN_OR_RETURN(const v1::Account account, client.set_account(request));
  v1::ListAccountsResponse one;
  *one.add_accounts() = account;
  choice.server.json ? print_json(account) : print(render_accounts(one));
  return kExitDone;
}

absl::StatusOr<int> remove_account(const AccountsChoice& choice, Client& client) {
  v1::RemoveAccountRequest request;
  request.set_name(choice.name);
  LOCUS_ASSIGN_OR_RETURN(const v1::Account account, client.remove_account(request));
  choice.server.json ? print_json(account)
                     : print("account " + account.name() + " has a weight of 1 and no bounds now\n");
  return kExitDone;
}

absl::StatusOr<int> run_accounts(const AccountsChoice& choice, Client& client) {
  if (choice.action.empty()) {
    LOCUS_ASSIGN_OR_RETURN(const v1::ListAccountsResponse answer, client.list_accounts());
    choice.server.json ? print_json(answer) : print(render_accounts(answer));
    return kExitDone;
  }
  if (choice.name.empty()) {
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                      "name the account: locus accounts " + choice.action + " NAME", "name");
  }
  return choice.action == "set" ? set_account(choice, client) : remove_account(choice, client);
}

void add_bounds(Command& command, AccountsChoice& choice) {
  command.add_option("--devices", choice.devices, "Devices it may hold at a time, by weight")->type_name("N|none");
  command.add_option("--urgent-devices", choice.urgent_devices, "Of these, by urgent work")->type_name("N|none");
  command.add_option("--device-hours", choice.device_hours, "Device-hours it may use within 30 days")
      ->type_name("N|none");
  command.add_option("--queued-trials", choice.queued_trials, "Trials that are to run, at a submission")
      ->type_name("N|none");
  command.add_option("--experiments", choice.experiments, "Experiments that are stored, at a submission")
      ->type_name("N|none");
  command.add_option("--artifact-bytes", choice.artifact_bytes, "Bytes of its artifacts, at a submission")
      ->type_name("N|none");
}

}  // namespace

void add_accounts(Program& app) {
  Command& command = add_command(
      app,
      {"accounts",
       kFleetGroup,
       "Show whose experiments share the workers, and give accounts their shares and bounds",
       "An account is the owner of experiments. As soon as one has a share, the next free slot goes to the account "
       "that "
       "holds least for its weight, then to the one that has used least, of which half is forgotten in a day; accounts "
       "without a share have a weight of 1. Until then all are one account, and priority and age decide. A slot of a "
       "CPU counts 1, one of any other device 10. What runs goes on, whatever changes.",
       {{"locus accounts", "Whose turn it is, and what each holds"},
        {"locus accounts set vision --weight 2 --devices 40", "Twice the share of others, at most four GPUs"},
        {"locus accounts set vision --devices none --urgent", "No bound, and urgent experiments are allowed"},
        {"locus accounts remove vision", "Back to a weight of 1 without bounds"}}});
  auto choice = std::make_shared<AccountsChoice>();
  add_server_options(command, choice->server);
  command.add_option("action", choice->action, "set or remove; without it they are listed")
      ->type_name("")
      ->one_of({"set", "remove"});
  command.add_option("name", choice->name, "The account that is set or removed")->type_name("");
  command.add_option("--weight", choice->weight, "Its share beside those of others, 1 to 1000")
      ->type_name("N")
      ->range(1, 1000);
  auto* urgent = command.add_flag("--urgent", choice->urgent, "Its submitters may have urgent experiments");
  command.add_flag("--no-urgent", choice->no_urgent, "Only operators may have urgent experiments of it")
      ->excludes(urgent);
  add_bounds(command, *choice);
  command.body = [choice] {
    return ask_server(choice->server, [&](Client& client) { return run_accounts(*choice, client); });
  };
}

}  // namespace locus
