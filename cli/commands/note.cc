// locus note: the note of an experiment or one of its trials.
#include "cli/command.h"
#include "cli/render/listings.h"
#include "core/base/error.h"

namespace locus {
namespace {

struct NoteOptions {
  ServerChoice server;
  std::string name;
  std::optional<std::string> text;
};

absl::StatusOr<int> run(Client& client, const NoteOptions& options) {
  v1::AnnotateRequest request;
  request.set_name(options.name);
  if (options.text) request.set_note(*options.text);
  LOCUS_ASSIGN_OR_RETURN(const v1::Annotation annotation, client.annotate(request));
  if (options.server.json) {
    print_json(annotation);
  } else if (!annotation.note().empty()) {
    print(show_note(annotation.note()) + "\n");
  }
  return kExitDone;
}

}  // namespace

void add_note(Program& app) {
  Command& command = add_command(
      app, {"note",
            kExperimentGroup,
            "Write a note on an experiment or one trial, or show it",
            "The text replaces the note; an empty one takes it away. At most 4000 bytes. No result or identity depends "
            "on it.",
            {{"locus note fashion-mnist-priors \"first run with the new warm-up\"", "Write it"},
             {"locus note fashion-mnist-priors/17", "Show a trial's"},
             {"locus note fashion-mnist-priors \"\"", "Take it away"}}});
  auto options = std::make_shared<NoteOptions>();
  add_server_options(command, options->server);
  command.add_option("name", options->name, "EXPERIMENT or EXPERIMENT/NUMBER")->type_name("")->required();
  command.add_option("text", options->text, "The note; without it, the present one is shown")->type_name("");
  command.body = [options] {
    return ask_server(options->server, [&](Client& client) { return run(client, *options); });
  };
}

}  // namespace locus
