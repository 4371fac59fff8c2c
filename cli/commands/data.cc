// locus data: which datasets this machine holds.
#include "cli/command.h"
#include "cli/trainer_tool.h"
#include "core/base/error.h"

namespace locus {
namespace {

struct DataChoice {
  std::string action, name, data_root, options, to;
  bool json = false;
};

int run(const DataChoice& choice) {
  std::vector<std::string> arguments = {choice.action};
  if (!choice.name.empty()) arguments.push_back(choice.name);
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) arguments.insert(arguments.end(), {name, value});
  };
  add("--data-root", choice.data_root);
  add("--options", choice.options);
  add("--to", choice.to);
  if (choice.json) arguments.push_back("--json");
  return run_trainer_tool("data", std::move(arguments), choice.json);
}

}  // namespace

void add_data(Program& app) {
  Command& command = add_command(
      app, {"data",
            kDataGroup,
            "List, verify and make the datasets of this machine",
            "Needs no server: the trainer does it. `list` says what lies under --data-root of every dataset of the "
            "catalog, and how to get what is missing. `verify` reads one through, every image of it, names the files "
            "that are no sound images and prints the digest of its manifest, by which a specification can name this "
            "very copy; what was found is remembered, so that a worker on this machine need not read it again. `make` "
            "writes small datasets in the formats of the large ones.",
            {{"locus data list", "What this machine holds"},
             {"locus data verify image-folder --options '{\"folder\": \"birds\"}' --data-root /data",
              "The images of /data/birds, and what to write in a specification"},
             {"locus data make fashion-scenes --to /tmp/scenes", "Small datasets made of Fashion-MNIST"}}});
  auto choice = std::make_shared<DataChoice>();
  command.add_option("action", choice->action, "list, verify or make")
      ->type_name("")
      ->one_of({"list", "verify", "make"})
      ->required();
  command.add_option("name", choice->name, "What to verify or make: the id of a dataset")->type_name("");
  command.add_option("--data-root", choice->data_root, "Folder the datasets lie under (default: /usr/share/datasets)")
      ->type_name("FOLDER");
  command.add_option("--options", choice->options, "Options of the dataset, as JSON")->type_name("JSON");
  command.add_option("--to", choice->to, "Where what is made goes")->type_name("FOLDER");
  add_json_option(command, choice->json);
  command.body = [choice] { return run(*choice); };
}

}  // namespace locus
