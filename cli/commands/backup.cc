// locus backup: a copy of the server's data, made while it runs.
#include "cli/command.h"
#include "cli/render/reports.h"
#include "core/base/error.h"

namespace locus {

void add_backup(Program& app) {
  Command& command = add_command(
      app, {"backup",
            kDataGroup,
            "Copy the server's database and artifacts into a folder, while everything runs",
            "The copy is consistent and checked. It is a data folder: to restore it, stop the server and start "
            "one with `locus serve "
            "--data FOLDER`. The database appears last, so a folder without locus.db is an interrupted backup.",
            {{"locus backup /srv/backup/monday", "Into a folder on this machine"},
             {"locus serve --data /srv/backup/monday", "Restore: serve the copy"}}});
  auto choice = std::make_shared<ServerChoice>();
  auto folder = std::make_shared<std::string>();
  add_server_options(command, *choice);
  command.add_option("path", *folder, "Folder to make")->type_name("")->required();
  command.body = [choice, folder] {
    return ask_server(*choice, [&](Client& client) -> absl::StatusOr<int> {
      LOCUS_ASSIGN_OR_RETURN(const BackupSummary copy, client.backup(*folder));
      print(choice->json
                ? Json({{"path", *folder},
                        {"database_bytes", copy.database_bytes},
                        {"artifacts", copy.artifacts},
                        {"artifact_bytes", copy.artifact_bytes},
                        {"schema_version", copy.schema_version}})
                          .dump() +
                      "\n"
                : *folder + ": database " + show_bytes(copy.database_bytes) + ", " + std::to_string(copy.artifacts) +
                      " artifacts of " + show_bytes(copy.artifact_bytes) + "\n");
      return kExitDone;
    });
  };
}

}  // namespace locus
