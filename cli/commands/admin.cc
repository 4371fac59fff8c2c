// locus admin: who may come to the server, and with what.
#include <algorithm>
#include <map>

#include "cli/admin.h"
#include "cli/render/certificates.h"
#include "core/base/error.h"
#include "server/app/authority_folder.h"

namespace locus {

absl::Status wrong_words(const std::string& usage) {
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument, "write it as `" + usage + "`");
}

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

namespace {

constexpr char kInvitationLife[] = "1h";

absl::StatusOr<int> invite(const AdminChoice& choice, Client& client) {
  if (choice.words.size() != 2) return wrong_words("locus admin invite ROLE NAME");
  v1::CreateInvitationRequest request;
  request.set_role(choice.words[0]);
  request.set_name(choice.words[1]);
  request.set_account(choice.account);
  LOCUS_ASSIGN_OR_RETURN(const std::int64_t ttl, seconds_of(choice.ttl.empty() ? kInvitationLife : choice.ttl));
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

struct AdminAction {
  const char* name;
  absl::StatusOr<int> (*run)(const AdminChoice& choice, Client& client);
};
constexpr AdminAction kAdminActions[] = {{"invite", invite},
                                         {"certificates", certificates},
                                         {"revoke", revoke},
                                         {"token", admin_token},
                                         {"audit", admin_audit}};
constexpr char kAuthorityAction[] = "ca";  // asks no server

std::vector<std::string> action_names() {
  std::vector<std::string> out;
  for (const AdminAction& action : kAdminActions) out.emplace_back(action.name);
  out.emplace_back(kAuthorityAction);
  return out;
}

int run(const AdminChoice& choice) {
  if (choice.action == kAuthorityAction) {
    const auto done = authority(choice);
    return done.ok() ? *done : report_error(done.status(), choice.server.json);
  }
  const auto action = std::find_if(std::begin(kAdminActions), std::end(kAdminActions),
                                   [&](const AdminAction& one) { return one.name == choice.action; });
  return ask_server(choice.server, [&](Client& client) { return action->run(choice, client); });
}

Command::Text admin_text() {
  return {"admin",
          kFleetGroup,
          "Invite machines and people, make tokens, end either, read the audit, change the authority",
          "A server that others reach lets in who has a certificate. invite prints a token, which `locus worker "
          "--enroll` and `locus login` trade for one, once. token makes what the dashboard and programs over HTTP "
          "show instead: it is printed once, the server keeps only its hash, and revoking it ends the sessions that "
          "began with it. audit shows every call that changed something, every refusal for lack of a role and every "
          "login; each row holds the digest of the one before it, so that one that was changed or taken away shows. "
          "ca new makes a new authority beside the present one, in the data folder itself: whatever is renewed from "
          "then on is signed by it, and once every worker and person has renewed (after 30 days at most), ca retire "
          "ends the former one. The server sees both within a minute. Only admins may; on a server that asks nobody, "
          "everyone is one.",
          {{"locus admin invite worker box-1 --label pool=vision --ttl 1h", "A token for a worker called box-1"},
           {"locus admin invite viewer ada", "A token for a person who may read"},
           {"locus admin certificates", "Who has one, and until when"},
           {"locus admin revoke box-1", "Lets box-1 in no more and ends its calls"},
           {"locus admin token create submitter ada --account vision",
            "What ada signs in to the dashboard with; her experiments belong to vision"},
           {"locus admin token list", "Every token there was, without its secret"},
           {"locus admin token revoke k3vq7a2m", "End one, by the eight characters after locus_"},
           {"locus admin audit --json", "The record, a JSON document a row, to keep elsewhere"},
           {"locus admin audit --verify", "Whether the record is whole"},
           {"locus admin ca new", "Begins to replace the authority"}}};
}

}  // namespace

void add_admin(Program& app) {
  Command& command = add_command(app, admin_text());
  auto choice = std::make_shared<AdminChoice>();
  add_server_options(command, choice->server);
  command.add_option("action", choice->action, "invite, certificates, revoke, token, audit or ca")
      ->type_name("")
      ->one_of(action_names())
      ->required();
  command.add_option("words", choice->words, "What the action is about")->type_name("")->expected(0, 3);
  command.add_option("--label", choice->labels, "Label of an invited worker (repeatable)")
      ->type_name("KEY=VALUE")
      ->one_value_each();
  command
      .add_option("--account", choice->account,
                  "Account of the experiments of whoever is invited or gets a token (default: the name)")
      ->type_name("NAME");
  command
      .add_option("--ttl", choice->ttl,
                  "How long an invitation (default: 1h) or a token (default: 90d, the most) is good")
      ->type_name("TIME");
  command.add_option("--data", choice->data, "Folder of the server, for ca (default: ~/.local/share/locus)")
      ->type_name("FOLDER");
  command.add_flag("--all", choice->all, "List certificates that have expired, too");
  command.add_flag("--verify", choice->verify, "Check the chain of the audit instead of showing its rows");
  command.body = [choice] { return run(*choice); };
}

}  // namespace locus
