// locus admin token: what people and programs show to a server that asks who they are.
#include "cli/admin.h"
#include "cli/render/identity.h"
#include "core/base/error.h"

namespace locus {
namespace {

constexpr char kTokenLife[] = "90d";

absl::StatusOr<int> create_token(const AdminChoice& choice, Client& client) {
  v1::CreateTokenRequest request;
  request.set_role(choice.words[1]);
  request.set_principal(choice.words[2]);
  request.set_account(choice.account);
  LOCUS_ASSIGN_OR_RETURN(const std::int64_t life, seconds_of(choice.ttl.empty() ? kTokenLife : choice.ttl));
  request.mutable_ttl()->set_seconds(life);
  LOCUS_ASSIGN_OR_RETURN(const v1::CreateTokenResponse answer, client.create_token(request));
  // The token alone, so that it can be piped; it is not shown again.
  choice.server.json ? print_json(answer) : print(answer.token() + "\n");
  return kExitDone;
}

absl::StatusOr<int> list_tokens(const AdminChoice& choice, Client& client) {
  LOCUS_ASSIGN_OR_RETURN(const v1::ListTokensResponse answer, client.list_tokens());
  choice.server.json ? print_json(answer) : print(render_tokens(answer));
  return kExitDone;
}

absl::StatusOr<int> revoke_token(const AdminChoice& choice, Client& client) {
  v1::RevokeTokenRequest request;
  request.set_id(choice.words[1]);
  LOCUS_ASSIGN_OR_RETURN(const v1::Token answer, client.revoke_token(request));
  choice.server.json
      ? print_json(answer)
      : print("token " + answer.id() + " of " + answer.principal() + " is revoked, and its sessions end\n");
  return kExitDone;
}

}  // namespace

absl::StatusOr<int> admin_token(const AdminChoice& choice, Client& client) {
  const std::string what = choice.words.empty() ? "" : choice.words[0];
  if (what == "create" && choice.words.size() == 3) return create_token(choice, client);
  if (what == "list" && choice.words.size() == 1) return list_tokens(choice, client);
  if (what == "revoke" && choice.words.size() == 2) return revoke_token(choice, client);
  return wrong_words("locus admin token create ROLE NAME, locus admin token list, or locus admin token revoke ID");
}

}  // namespace locus
