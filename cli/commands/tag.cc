// locus tag: tags of an experiment or one of its trials.
#include "cli/command.h"
#include "core/base/error.h"

namespace locus {
namespace {

struct TagOptions {
  ServerChoice server;
  std::string name;
  std::vector<std::string> add, remove;
};

absl::StatusOr<int> run(Client& client, const TagOptions& options) {
  v1::AnnotateRequest request;
  request.set_name(options.name);
  for (const std::string& tag : options.add) request.add_add_tags(tag);
  for (const std::string& tag : options.remove) request.add_remove_tags(tag);
  LOCUS_ASSIGN_OR_RETURN(const v1::Annotation annotation, client.annotate(request));
  if (options.server.json) {
    print_json(annotation);
    return kExitDone;
  }
  for (const std::string& tag : annotation.tags()) print(tag + "\n");
  return kExitDone;
}

}  // namespace

void add_tag(Program& app) {
  Command& command = add_command(
      app, {"tag",
            kExperimentGroup,
            "Tag an experiment or one trial, or show its tags",
            "Prints the tags it then has, one a line. Tags are words for people: no result or identity depends on "
            "them. `locus list --tag` finds what has them.",
            {{"locus tag fashion-mnist-priors baseline paper", "Add two"},
             {"locus tag fashion-mnist-priors/17 outlier --remove checked", "Of a trial: one more, one less"},
             {"locus tag fashion-mnist-priors", "Show them"}}});
  auto options = std::make_shared<TagOptions>();
  add_server_options(command, options->server);
  command.add_option("name", options->name, "EXPERIMENT or EXPERIMENT/NUMBER")->type_name("")->required();
  command
      .add_option("tags", options->add,
                  "Tags to add: lower-case letters, digits, '-', '_', '.' or ':', at most 40; at most 32 in all")
      ->type_name("");
  command.add_option("--remove", options->remove, "Tag to take away (repeatable)")->type_name("TAG")->one_value_each();
  command.body = [options] {
    return ask_server(options->server, [&](Client& client) { return run(client, *options); });
  };
}

}  // namespace locus
