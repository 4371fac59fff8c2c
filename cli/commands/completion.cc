// locus completion: scripts for the shells.
#include "cli/command.h"

namespace locus {

void add_completion(Program& app) {
  Command& command =
      add_command(app, {"completion",
                        kLocusGroup,
                        "Print a script that completes commands, options and names in a shell",
                        "Put the line of your shell into its start file. Names of experiments and workers "
                        "come from the server, if one "
                        "answers.",
                        {{"source <(locus completion bash)", "In ~/.bashrc; for zsh alike, in ~/.zshrc"},
                         {"locus completion fish | source", "In ~/.config/fish/config.fish"}}});
  auto shell = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  command.add_option("shell", *shell, "Shell")->type_name("")->required()->one_of({"bash", "zsh", "fish"});
  add_json_option(command, *json);
  command.body = [&app, shell, json] {
    const std::string script = render_completion(describe(app), *shell);
    print(*json ? Json({{"shell", *shell}, {"script", script}}).dump() + "\n" : script);
    return kExitDone;
  };
}

}  // namespace locus
