// locus login: a certificate for a person, kept as a profile.
#include "cli/command.h"
#include "cli/settings.h"
#include "client/enrollment.h"
#include "core/base/error.h"

namespace locus {
namespace {

struct LoginChoice {
  std::string token, server, profile = "default";
  bool json = false;
};

absl::Status log_in(const LoginChoice& choice) {
  LOCUS_ASSIGN_OR_RETURN(const auto folder, profile_folder(choice.profile));
  LOCUS_ASSIGN_OR_RETURN(const Enrollment enrolled, enroll(choice.server, choice.token, folder));
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
  Command& command =
      add_command(app, {"login",
                        kLocusGroup,
                        "Get a certificate for a server elsewhere, with a token of `locus admin invite`",
                        "Makes a key, which stays on this machine, has the server sign a certificate for it, and keeps "
                        "both under a profile's name. Commands renew it on the way, as long as one is run before it "
                        "expires.",
                        {{"locus login TOKEN --server https://gpu.example.org:7172 --profile lab",
                          "Afterwards `locus list --profile lab` asks that server"}}});
  auto choice = std::make_shared<LoginChoice>();
  command.add_option("token", choice->token, "Token of the invitation")->type_name("")->required();
  command.add_option("--server", choice->server, "Address of the server's dashboard, with https:// before it")
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
