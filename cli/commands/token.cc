// locus token: what people and programs show to a server that asks who they are.
#include "cli/command.h"
#include "cli/render/identity.h"
#include "core/base/error.h"

namespace locus {
namespace {

struct TokenChoice {
  ServerChoice server;
  std::string action, name, role = "submitter", account;
  int days = 90;
};

absl::StatusOr<int> create(const TokenChoice& choice, Client& client) {
  v1::CreateTokenRequest request;
  request.set_principal(choice.name);
  request.set_role(choice.role);
  request.set_account(choice.account);
  request.mutable_ttl()->set_seconds(std::int64_t{choice.days} * 86'400);
  LOCUS_ASSIGN_OR_RETURN(const v1::CreateTokenResponse answer, client.create_token(request));
  // The token alone, so that it can be piped; it is not shown again.
  choice.server.json ? print_json(answer) : print(answer.token() + "\n");
  return kExitDone;
}

absl::StatusOr<int> list(const TokenChoice& choice, Client& client) {
  LOCUS_ASSIGN_OR_RETURN(const v1::ListTokensResponse answer, client.list_tokens());
  choice.server.json ? print_json(answer) : print(render_tokens(answer));
  return kExitDone;
}

absl::StatusOr<int> revoke(const TokenChoice& choice, Client& client) {
  v1::RevokeTokenRequest request;
  request.set_id(choice.name);
  LOCUS_ASSIGN_OR_RETURN(const v1::Token answer, client.revoke_token(request));
  choice.server.json
      ? print_json(answer)
      : print("token " + answer.id() + " of " + answer.principal() + " is revoked, and its sessions end\n");
  return kExitDone;
}

absl::StatusOr<int> run_token(const TokenChoice& choice, Client& client) {
  if (choice.action == "list") return list(choice, client);
  if (choice.name.empty()) {
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                      choice.action == "create" ? "name whose token it is: locus token create NAME"
                                                : "name the token by its id: locus token revoke ID");
  }
  return choice.action == "create" ? create(choice, client) : revoke(choice, client);
}

}  // namespace

void add_token(Program& app) {
  Command& command = add_command(
      app,
      {"token",
       kDataGroup,
       "Make, list and revoke what callers show to a server that asks who they are",
       "A token is shown once, when it is made; the server keeps only its hash. It is good for one principal in one "
       "role: a viewer reads, a submitter also has experiments of its account, an operator everybody's, an admin "
       "makes tokens. Revoking one ends the dashboard sessions that began with it. Only admins may; on a server that "
       "asks nobody, everyone is one.",
       {{"locus token create ada --role submitter --account vision",
         "A token for ada, whose experiments belong to "
         "vision"},
        {"locus token list", "Every token there was, without its secret"},
        {"locus token revoke k3vq7a2m", "End one, by the eight characters after locus_"}}});
  auto choice = std::make_shared<TokenChoice>();
  add_server_options(command, choice->server);
  command.add_option("action", choice->action, "create, list or revoke")
      ->type_name("")
      ->one_of({"create", "list", "revoke"})
      ->required();
  command.add_option("name", choice->name, "Whose token is made, or the id of the one that is revoked")->type_name("");
  command.add_option("--role", choice->role, "Of a new token (default: submitter)")
      ->type_name("ROLE")
      ->one_of({"viewer", "submitter", "operator", "admin", "provisioner"});
  command.add_option("--account", choice->account, "The account of a new principal (default: its name)")
      ->type_name("NAME");
  command.add_option("--days", choice->days, "How long a new token lives, at most 90 (default: 90)")->type_name("N");
  command.body = [choice] {
    return ask_server(choice->server, [&](Client& client) { return run_token(*choice, client); });
  };
}

}  // namespace locus
