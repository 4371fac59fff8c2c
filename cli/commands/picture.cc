// locus picture: what a prior does, drawn.
#include <algorithm>

#include "cli/command.h"
#include "cli/trainer_tool.h"

namespace locus {

void add_picture(CLI::App& app) {
  Command& command = add_command(
      app, {"picture",
            kLocusGroup,
            "Draw what a prior does, at initialization or from a checkpoint",
            "Needs no server: the trainer does it. Prints the document of docs/formats/picture.md, which is "
            "what the dashboard's catalog draws, and writes a PNG if asked.",
            {{"locus picture alibi-2d", "Its biases over an 8 x 8 grid, as JSON"},
             {"locus picture violin --png violin.png", "Its decay as a heat map"}}});
  auto json = std::make_shared<bool>(false);
  const auto value = [&](const char* name, const char* help, const char* type) {
    return command.add_option(name)->description(help)->type_name(type)->expected(1);
  };
  value("prior", "Id of the prior", "")->required();
  value("--options", "Its options", "JSON");
  value("--grid", "Rows and columns of patches", "ROWSxCOLUMNS");
  value("--heads", "Attention heads", "N");
  value("--head-width", "Width of a head", "N");
  value("--layer", "Which layer, counted from 0", "N");
  value("--layers", "Of how many", "N");
  value("--seed", "Of the initial parameters", "N");
  value("--checkpoint", "Take the parameters from this model", "FILE");
  value("--output", "Write the document here instead of printing it", "FILE");
  value("--png", "Draw a heat map", "FILE");
  value("--view", "Which view to draw", "NAME");
  command.add_option("--query")
      ->description("Patch whose row is drawn; may be given again")
      ->type_name("ROW,COLUMN")
      ->delimiter('\0');
  add_json_option(command, *json);
  command.body = [&command, json] {
    std::vector<std::string> arguments = given_arguments(command);
    std::replace(arguments.begin(), arguments.end(), std::string("--output"), std::string("--json"));
    return run_trainer_tool("picture", arguments, *json);
  };
}

}  // namespace locus
