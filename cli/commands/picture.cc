// locus picture: what a prior does, and what training made of one, drawn.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "cli/command.h"
#include "cli/trainer_tool.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "server/application/chosen_weights.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

// Options of one form of the command alone.
constexpr const char* kOfTrial[] = {"--attention", "--images", "--split", "--data-root", "--network-stage"};
constexpr const char* kOfPrior[] = {"--options", "--grid", "--heads", "--head-width", "--layers", "--seed"};

absl::Status refuse_picture(const std::string& message, const std::string& field = {}) {
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument, message, field);
}

std::string text(const Command& command, const std::string& option) {
  const std::vector<std::string>& given = command.argument(option).given();
  return given.empty() ? "" : given.front();
}

// "0,7" -> [0, 7]
absl::StatusOr<std::vector<std::int64_t>> numbers(const Command& command, const std::string& option) {
  const std::string all = text(command, option);
  std::vector<std::int64_t> out;
  const char *at = all.data(), *end = at + all.size();
  while (at < end) {
    std::int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value < 0 || (next != end && (*next != ',' || next + 1 == end)))
      return refuse_picture(option + " is \"" + all + "\"; give numbers from 0 with commas between, such as 0,7");
    out.push_back(value);
    at = next == end ? end : next + 1;
  }
  return out;
}

// A folder for the weights while they are looked at.
class Folder {
 public:
  Folder() {
    std::error_code ignored;
    std::string name = (fs::temp_directory_path(ignored) / "locus-picture-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

absl::StatusOr<Json> request_of(const Command& command) {
  Json request = {{"kind", command.has("--attention") ? "attention" : "trained-prior"}};
  LOCUS_ASSIGN_OR_RETURN(request["images"], numbers(command, "--images"));
  LOCUS_ASSIGN_OR_RETURN(request["layers"], numbers(command, "--layer"));
  LOCUS_ASSIGN_OR_RETURN(const std::vector<std::int64_t> stage, numbers(command, "--network-stage"));
  if (stage.size() > 1) return refuse_picture("--network-stage takes one stage: a picture is of one grid");
  if (!stage.empty()) request["stage"] = stage[0];
  if (request["kind"] == "attention" && request["images"].empty()) request["images"] = {0};
  if (command.has("--split")) request["split"] = text(command, "--split");
  if (command.has("--data-root")) request["data_root"] = text(command, "--data-root");
  return request;
}

absl::StatusOr<int> draw_trial(Client& client, const Command& command, const std::string& name, bool json) {
  LOCUS_ASSIGN_OR_RETURN(Json request, request_of(command));
  v1::GetTrialRequest asked;
  asked.set_name(name);
  LOCUS_ASSIGN_OR_RETURN(const v1::TrialDetail trial, client.get_trial(asked));
  LOCUS_ASSIGN_OR_RETURN(const server::ChosenWeights chosen,
                         server::choose_weights(trial, text(command, "--checkpoint")));
  const Folder folder;
  const fs::path weights = folder.path() / "weights.safetensors";
  if (!chosen.sha256.empty()) {
    LOCUS_RETURN_IF_ERROR(client.download_artifact(chosen.sha256, weights));
    request["weights"] = weights.string();
  }
  request["configuration"] = Json::parse(chosen.stage->config_json(), nullptr, /*allow_exceptions=*/false);
  const std::string file = readable_after_exec(request.dump());
  if (file.empty()) return refuse_picture("cannot hand the request over to the trainer");
  std::vector<std::string> arguments = {"--trained", file};
  for (const auto& [option, tool] :
       {std::pair("--output", "--json"), {"--png", "--png"}, {"--view", "--view"}, {"--query", "--query"}}) {
    if (!command.has(option)) continue;
    if (command.argument(option).given().size() > 1)
      return refuse_picture("a picture of a trial takes one " + std::string(option));
    arguments.insert(arguments.end(), {tool, text(command, option)});
  }
  return run_trainer_tool("picture", arguments, json);
}

// An option that the other form of the command has; empty: none was given.
template <std::size_t n>
std::string misplaced(const Command& command, const char* const (&options)[n]) {
  for (const char* option : options) {
    if (command.has(option)) return option;
  }
  return "";
}

int draw(const Command& command, const ServerChoice& choice) {
  const std::string name = text(command, "prior");
  const bool trial = name.find('/') != std::string::npos;
  if (const std::string wrong = trial ? misplaced(command, kOfPrior) : misplaced(command, kOfTrial); !wrong.empty()) {
    return report_error(
        refuse_picture(trial ? wrong + " is for the picture of a prior; a trial's comes from its configuration"
                             : wrong + " is for the picture of a trial: locus picture EXPERIMENT/NUMBER " + wrong),
        choice.json, nullptr, kExitUsage);
  }
  if (trial) return ask_server(choice, [&](Client& client) { return draw_trial(client, command, name, choice.json); });
  std::vector<std::string> arguments = given_arguments(command);
  std::replace(arguments.begin(), arguments.end(), std::string("--output"), std::string("--json"));
  if (const auto server = std::find(arguments.begin(), arguments.end(), "--server"); server != arguments.end())
    arguments.erase(server, server + 2);  // the environment may have set it
  return run_trainer_tool("picture", arguments, choice.json);
}

void add_options(Command& command) {
  const auto value = [&](const char* name, const char* help, const char* type) {
    return command.add_option(name, help)->type_name(type);
  };
  value("prior", "Id of a prior, or a trial: EXPERIMENT/NUMBER", "")->required();
  value("--options", "The prior's options", "JSON");
  value("--grid", "Rows and columns of patches", "ROWSxCOLUMNS");
  value("--heads", "Attention heads", "N");
  value("--head-width", "Width of a head", "N");
  value("--layer", "Which layer, counted from 0; of a trial several, such as 0,3 (default: all)", "LAYER");
  value("--layers", "Of how many", "N");
  value("--network-stage", "Of a trial: which stage of the network, counted from 0; its grid or window is shown", "N");
  value("--seed", "Of the initial parameters", "N");
  value("--checkpoint",
        "File to take the parameters from; of a trial a step it has kept, best, last or initial (default: last, the "
        "newest there is)",
        "WHICH");
  command.add_flag("--attention", "A trial's attention on images, with and without its priors");
  value("--images", "Images to look at, by their place in the split", "N,N,...");
  value("--split", "Which part of the data they are of (default: test)", "SPLIT")
      ->one_of({"train", "validation", "test"});
  value("--data-root", "Folder the datasets lie under (default: /usr/share/datasets)", "FOLDER");
  value("--output", "Write the document here instead of printing it", "FILE");
  value("--png", "Draw heat maps", "FILE");
  value("--view", "Which view to draw", "NAME");
  value("--query", "Patch whose row is drawn; of a prior it may be given again", "ROW,COLUMN");
}

}  // namespace

void add_picture(Program& app) {
  Command& command = add_command(
      app, {"picture",
            kLocusGroup,
            "Draw what a prior does, and what training made of it",
            "Of a prior: at initialization or from a checkpoint; needs no server. Of a trial: its priors as "
            "trained beside their initialization, by layer and head, or with --attention where it looks on "
            "images; options, model and weights come from the server. The trainer draws. Prints the document "
            "of docs/formats/picture.md, which is what the dashboard draws, and writes a PNG if asked.",
            {{"locus picture alibi-2d", "Its biases over an 8 x 8 grid, as JSON"},
             {"locus picture violin --png violin.png", "Its decay as a heat map"},
             {"locus picture fashion-mnist-priors/17 --png trained.png",
              "What training made of a trial's prior: for each layer before and after, a column for each head"},
             {"locus picture fashion-mnist-priors/17 --attention --images 0,7 --png attention.png",
              "Where it looks on two test images, with and without the prior"}}});
  auto choice = std::make_shared<ServerChoice>();
  add_options(command);
  add_server_options(command, *choice);
  command.body = [&command, choice] { return draw(command, *choice); };
}

}  // namespace locus
