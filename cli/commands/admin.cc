// locus admin: who may come to the server, and with what.
#include <algorithm>
#include <map>

#include "cli/command.h"
#include "cli/render/certificates.h"
#include "core/base/error.h"
#include "server/app/authority_folder.h"

namespace locus {
namespace {

struct AdminChoice {
  ServerChoice server;
  std::string action;
  std::vector<std::string> words;
  std::vector<std::string> labels;
  std::string account, ttl = "1h";
  std::filesystem::path data;
  bool all = false;
};

absl::Status wrong_words(const std::string& usage) {
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument, "write it as `" + usage + "`");
}

// "90s", "30m", "12h", "7d".
absl::StatusOr<std::int64_t> seconds_of(const std::string& text) {
  const std::map<char, std::int64_t> units = {{'s', 1}, {'m', 60}, {'h', 3'600}, {'d', 86'400}};
  const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto unit = digits + 1 == text.size() ? units.find(text.back()) : units.end();
  if (digits == 0 || digits > 6 || unit == units.end()) {
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                      "\"" + text + "\" is no time: write a number and s, m, h or d, such as 12h", "ttl");
  }
  return std::stoll(text.substr(0, digits)) * unit->second;
}

absl::StatusOr<int> invite(const AdminChoice& choice, Client& client) {
  if (choice.words.size() != 2) return wrong_words("locus admin invite ROLE NAME");
  v1::CreateInvitationRequest request;
  request.set_role(choice.words[0]);
  request.set_name(choice.words[1]);
  request.set_account(choice.account);
  LOCUS_ASSIGN_OR_RETURN(const std::int64_t ttl, seconds_of(choice.ttl));
  request.mutable_ttl()->set_seconds(ttl);
  for (const std::string& label : choice.labels) {
    const std::size_t equals = label.find('=');
    if (equals == 0 || equals == std::string::npos) return wrong_words("--label KEY=VALUE");
    (*request.mutable_labels())[label.substr(0, equals)] = label.substr(equals + 1);
  }
  LOCUS_ASSIGN_OR_RETURN(const v1::Invitation invitation, client.create_invitation(request));
  if (choice.server.json) {
    print_json(invitation);
  } else {
    // The token alone, so that it can be piped; what it is for is known to whoever asked.
    print(invitation.token() + "\n");
  }
  return kExitDone;
}

absl::StatusOr<int> certificates(const AdminChoice& choice, Client& client) {
  if (!choice.words.empty()) return wrong_words("locus admin certificates");
  v1::ListCertificatesRequest request;
  request.set_all(choice.all);
  LOCUS_ASSIGN_OR_RETURN(const v1::ListCertificatesResponse answer, client.list_certificates(request));
  if (choice.server.json) {
    print_json(answer);
    return kExitDone;
  }
  print(render_certificates(answer));
  return kExitDone;
}

// By its serial, or all of a name.
absl::StatusOr<int> revoke(const AdminChoice& choice, Client& client) {
  if (choice.words.size() != 1) return wrong_words("locus admin revoke NAME-OR-SERIAL");
  LOCUS_ASSIGN_OR_RETURN(const v1::ListCertificatesResponse known, client.list_certificates());
  std::vector<std::string> serials;
  for (const auto& one : known.certificates()) {
    if (one.serial() == choice.words[0] || (one.name() == choice.words[0] && !one.has_revoked()))
      serials.push_back(one.serial());
  }
  if (serials.empty()) serials.push_back(choice.words[0]);  // the server says what it knows
  for (const std::string& serial : serials) {
    v1::RevokeCertificateRequest request;
    request.set_serial(serial);
    LOCUS_ASSIGN_OR_RETURN(const v1::IssuedCertificate gone, client.revoke_certificate(request));
    if (choice.server.json) print_json(gone, true);
    if (!choice.server.json) print("revoked " + gone.role() + " " + gone.name() + ", serial " + gone.serial() + "\n");
  }
  return kExitDone;
}

// In the data folder itself: whoever can write there is the authority.
absl::StatusOr<int> authority(const AdminChoice& choice) {
  const std::string what = choice.words.size() == 1 ? choice.words[0] : "";
  if (what != "new" && what != "retire") return wrong_words("locus admin ca new, or locus admin ca retire");
  LOCUS_ASSIGN_OR_RETURN(const std::string said,
                         what == "new" ? renew_authority(choice.data) : retire_authority(choice.data));
  print(said + "\n");
  return kExitDone;
}

int run(const AdminChoice& choice) {
  if (choice.action == "ca") {
    const auto done = authority(choice);
    return done.ok() ? *done : report_error(done.status(), choice.server.json);
  }
  return ask_server(choice.server, [&](Client& client) -> absl::StatusOr<int> {
    if (choice.action == "invite") return invite(choice, client);
    return choice.action == "revoke" ? revoke(choice, client) : certificates(choice, client);
  });
}

}  // namespace

void add_admin(Program& app) {
  Command& command = add_command(
      app,
      {"admin",
       kFleetGroup,
       "Invite machines and people, see and revoke their certificates, change the authority",
       "A server that others reach lets in who has a certificate. invite prints a token, which `locus worker "
       "--enroll` and `locus login` trade for one, once. ca new makes a new authority beside the present one, in "
       "the data folder itself: whatever is renewed from then on is signed by it, and once every worker and person "
       "has renewed (after 30 days at most), ca retire ends the former one. The server sees both within a minute.",
       {{"locus admin invite worker box-1 --label pool=vision --ttl 1h", "A token for a worker called box-1"},
        {"locus admin invite viewer ada", "A token for a person who may read"},
        {"locus admin certificates", "Who has one, and until when"},
        {"locus admin revoke box-1", "Lets box-1 in no more and ends its calls"},
        {"locus admin ca new", "Begins to replace the authority"}}});
  auto choice = std::make_shared<AdminChoice>();
  add_server_options(command, choice->server);
  command.add_option("action", choice->action, "invite, certificates, revoke or ca")
      ->type_name("")
      ->one_of({"invite", "certificates", "revoke", "ca"})
      ->required();
  command.add_option("words", choice->words, "What the action is about")->type_name("")->expected(0, 2);
  command.add_option("--label", choice->labels, "Label of an invited worker (repeatable)")
      ->type_name("KEY=VALUE")
      ->one_value_each();
  command.add_option("--account", choice->account, "Account of an invited person's experiments (default: the name)")
      ->type_name("NAME");
  command.add_option("--ttl", choice->ttl, "How long an invitation is good")->type_name("TIME")->show_default();
  command.add_option("--data", choice->data, "Folder of the server, for ca (default: ~/.local/share/locus)")
      ->type_name("FOLDER");
  command.add_flag("--all", choice->all, "List certificates that have expired, too");
  command.body = [choice] { return run(*choice); };
}

}  // namespace locus
