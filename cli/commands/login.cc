// locus login: what a person shows to a server, kept as a profile.
#include "cli/command.h"
#include "cli/settings.h"
#include "cli/text_file.h"
#include "client/enrollment.h"
#include "core/base/error.h"
#include "core/identity/secret.h"

namespace locus {
namespace {

struct LoginChoice {
  std::string token, server, profile = "default";
  bool json = false;
};

absl::Status log_in(const LoginChoice& choice) {
  LOCUS_ASSIGN_OR_RETURN(const auto folder, profile_folder(choice.profile));
  LOCUS_ASSIGN_OR_RETURN(const std::string given, read_token(choice.token, "token"));
  LOCUS_ASSIGN_OR_RETURN(const Enrollment enrolled, parse_token(given) ? keep_token(choice.server, given, folder)
                                                                       : enroll(choice.server, given, folder));
  if (choice.json) {
    print(Json({{"profile", choice.profile},
                {"server", enrolled.server},
                {"role", enrolled.role},
                {"name", enrolled.name}})
              .dump() +
          "\n");
  } else {
    print("you are " + enrolled.name + ", " + enrolled.role + ", on " + enrolled.server +
          "\n  use it as     locus list --profile " + choice.profile + "\n  or always     profile: " + choice.profile +
          "   in " + settings_path().string() + "\n");
  }
  return absl::OkStatus();
}

}  // namespace

void add_login(Program& app) {
  Command& command = add_command(
      app, {"login",
            kLocusGroup,
            "Be known to a server that asks who calls, with an invitation or a token",
            "With an invitation of `locus admin invite`, or the one that a server leaves its first "
            "administrator in DATA/first-admin-token: makes a key, which stays on this machine, has the "
            "server sign a certificate for it, and keeps both under a profile's name. Commands renew it on "
            "the way, as long as one is run before it expires. With a token of `locus admin token`, which "
            "a server on this machine without TLS takes: keeps that. Who lists this machine's processes sees "
            "a token that is typed; - and @FILE show it to nobody.",
            {{"locus login - --server https://gpu.example.org:7172 --profile lab",
              "Paste the token; afterwards `locus list --profile lab` asks that server"},
             {"locus login @DATA/first-admin-token --server https://gpu.example.org:7172",
              "The first administrator of a server"}}});
  auto choice = std::make_shared<LoginChoice>();
  command.add_option("token", choice->token, "Invitation, or token; - is standard input, @FILE a file's first line")
      ->type_name("")
      ->required();
  command
      .add_option("--server", choice->server,
                  "Address of the server's dashboard, with https:// before it; for a token that of its gRPC side")
      ->type_name("HOST:PORT")
      ->required();
  command.add_option("--profile", choice->profile, "Name to keep it under")->type_name("NAME")->show_default();
  add_json_option(command, choice->json);
  command.body = [choice] {
    const absl::Status status = log_in(*choice);
    return status.ok() ? kExitDone : report_error(status, choice->json);
  };
}

}  // namespace locus
