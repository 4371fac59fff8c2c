// locus plugin: what a shared object of one's own brings, and whether it keeps the contract.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/command.h"
#include "cli/trainer_tool.h"
#include "core/base/error.h"
#include "core/base/json_document.h"
#include "core/catalog/extension.h"
#include "core/process/spawn.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

struct PluginChoice {
  ServerChoice server;  // asked by `forget` alone
  std::string action, file, filter, data_root;
};

absl::Status no_contract(const std::string& looked_at) {
  return make_error(
      absl::StatusCode::kNotFound, ErrorReason::kInvalidArgument,
      "the contract suite is not at " + looked_at +
          "; it comes with the development files of Locus, which are in the wheel and in Debian's locus-dev, or from a "
          "build folder with tests; LOCUS_CONTRACT names another place");
}

// The folder that this program lies below with all that belongs to it.
fs::path installation() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
}

// The suite as a program: beside this one, or in the tests of its build folder.
absl::StatusOr<std::string> contract_program() {
  if (const char* named = std::getenv("LOCUS_CONTRACT")) return std::string(named);
  const fs::path here = installation();
  std::error_code error;
  std::string looked_at;
  for (const fs::path& place : {here / "bin" / "locus-contract", here / "tests" / "engine_priors_contract_test"}) {
    if (fs::exists(place, error)) return place.string();
    looked_at += (looked_at.empty() ? "" : ", ") + place.string();
  }
  return no_contract(looked_at);
}

// Runs it in the foreground. With `quiet` what it prints goes to standard error.
int run_suite(std::vector<std::string> words, bool quiet) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (quiet) ::dup2(STDERR_FILENO, STDOUT_FILENO);
    ::setenv("OMP_NUM_THREADS", "1", /*overwrite=*/0);  // tensors are tiny
    std::vector<char*> raw;
    for (std::string& word : words) raw.push_back(word.data());
    raw.push_back(nullptr);
    ::execv(raw[0], raw.data());
    ::_exit(127);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) < 0 || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

// What the suite said of itself, as {"tests": 3, "failures": 1, "failed": ["..."]}.
Json summary_of(const Json& report) {
  Json out = {
      {"tests", report.value("tests", 0)}, {"failures", report.value("failures", 0)}, {"failed", Json::array()}};
  const Json suites = report.value("testsuites", Json::array());
  for (const Json& suite : suites) {
    const Json cases = suite.value("testsuite", Json::array());
    for (const Json& one : cases) {
      if (one.contains("failures")) out["failed"].push_back(suite.value("name", "") + "." + one.value("name", ""));
    }
  }
  return out;
}

absl::StatusOr<int> test_plugin(const PluginChoice& choice) {
  LOCUS_ASSIGN_OR_RETURN(const std::string program, contract_program());
  std::string folder = (fs::temp_directory_path() / "locus-contract-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    return make_error(absl::StatusCode::kUnavailable, ErrorReason::kInvalidArgument,
                      "cannot make a folder for the report in " + fs::temp_directory_path().string());
  }
  const fs::path report = fs::path(folder) / "report.json";
  std::vector<std::string> words = {program, "--plugin", choice.file};
  if (!choice.data_root.empty()) words.insert(words.end(), {"--data-root", choice.data_root});
  words.insert(words.end(), {"--gtest_brief=1", "--gtest_output=json:" + report.string()});
  if (!choice.filter.empty()) words.push_back("--gtest_filter=" + choice.filter);
  const int status = run_suite(std::move(words), choice.server.json);
  std::ifstream in(report);
  const Json said = Json::parse(in, nullptr, /*allow_exceptions=*/false);
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  if (!said.is_object()) {
    return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kInvalidArgument,
                      "the contract suite did not run on " + choice.file +
                          (status == 2 ? "; it says why above" : "; it ended with " + std::to_string(status)),
                      "file");
  }
  const Json summary = summary_of(said);
  if (choice.server.json) {
    print(summary.dump() + "\n");
  } else {
    const std::string counted = std::to_string(summary["tests"].get<int>()) + " tests";
    print(status == 0 ? choice.file + " keeps the contract: " + counted + "\n"
                      : choice.file + " breaks the contract: " + std::to_string(summary["failures"].get<int>()) +
                            " of " + counted + "\n");
  }
  return status == 0 ? kExitDone : kExitFailed;
}

// Where CMake finds Locus: this installation, or the package that a build folder has.
absl::StatusOr<int> print_prefix(const PluginChoice& choice) {
  const fs::path here = installation();
  for (const auto& [prefix, file] :
       {std::pair{here, "lib/cmake/Locus/LocusConfig.cmake"}, std::pair{here / "package", "LocusConfig.cmake"}}) {
    std::error_code error;
    if (!fs::exists(prefix / file, error)) continue;
    print(choice.server.json ? Json({{"prefix", prefix.string()}}).dump() + "\n" : prefix.string() + "\n");
    return kExitDone;
  }
  return make_error(absl::StatusCode::kNotFound, ErrorReason::kInvalidArgument,
                    "no development files of Locus below " + here.string() +
                        ": they are in the wheel, in Debian's locus-dev and in a build folder");
}

absl::StatusOr<int> show_plugin(const PluginChoice& choice) {
  LOCUS_ASSIGN_OR_RETURN(
      const std::string text,
      run_and_capture({trainer_program(), "--plugin", choice.file, "catalog"}, std::chrono::minutes(2)));
  LOCUS_ASSIGN_OR_RETURN(const Json document, parse_json(text, ErrorReason::kInvalidArgument, "file"));
  for (const Extension& one : extensions_of(document)) {
    if (choice.server.json) {
      print(Json({{"name", one.name}, {"by", one.by}, {"digest", one.digest}, {"items", one.items}}).dump(1) + "\n");
      continue;
    }
    print(one.name + ", digest " + one.digest + "\n");
    for (const Json& item : one.items) {
      print("  " + item.value("kind", "") + " " + item.value("id", "") + ", revision " +
            std::to_string(item.value("revision", 1)) + ": " + item.value("summary", "") + "\n");
    }
  }
  return kExitDone;
}

absl::StatusOr<int> forget_extension(Client& client, const PluginChoice& choice) {
  v1::ForgetExtensionRequest request;
  request.set_name(choice.file);
  LOCUS_ASSIGN_OR_RETURN(const v1::Extension gone, client.forget_extension(request));
  if (choice.server.json) {
    print_json(gone);
    return kExitDone;
  }
  std::string items;
  for (const std::string& item : gone.items()) items += (items.empty() ? "" : ", ") + item;
  print(gone.name() + " is forgotten, with " + items + "; experiments that were planned with it keep it\n");
  return kExitDone;
}

absl::StatusOr<int> act(const PluginChoice& choice) {
  if (choice.action == "prefix") return print_prefix(choice);
  return choice.action == "test" ? test_plugin(choice) : show_plugin(choice);
}

int run(const PluginChoice& choice) {
  if (choice.file.empty() != (choice.action == "prefix")) {
    const std::string usage = "locus plugin " + choice.action + (choice.action == "prefix" ? "" : " FILE");
    return report_error(make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                                   "write it as `" + usage + "`", "file"),
                        choice.server.json, nullptr, kExitUsage);
  }
  if (choice.action == "forget")
    return ask_server(choice.server, [&](Client& client) { return forget_extension(client, choice); });
  const auto done = act(choice);
  return done.ok() ? *done : report_error(done.status(), choice.server.json);
}

}  // namespace

void add_plugin(Program& app) {
  Command& command = add_command(
      app,
      {"plugin",
       kLocusGroup,
       "Test a plugin of your own, and show what it brings",
       "A plugin is a shared object that brings priors, backbones, datasets, tasks or recipes "
       "to the engine (docs/own.md); `locus worker --plugin` runs it. `test` runs the contract that those of Locus "
       "keep "
       "on the plugin's: of priors shapes, gradients, other grids and prefix lengths, execution paths, every pair "
       "with another prior, and what the catalog entry says; of the others what they promise, and a small training "
       "that goes on from a checkpoint to the bit. `show` lists what it brings, with the digest "
       "that becomes part of the identities that use it. `prefix` prints where CMake finds the development files, for "
       "CMAKE_PREFIX_PATH. None of these needs a server. `forget` takes an extension, which a "
       "server learned from a worker, out of its catalog, unless a connected worker has it or unfinished work needs "
       "it.",
       {{"locus plugin test build/own_prior.so", "Exit status 1 where it breaks the contract"},
        {"locus plugin test build/own_prior.so --filter '*Gradient*'", "Some of the tests alone"},
        {"locus plugin show build/own_prior.so", "Its items, as a worker would announce them"},
        {"locus plugin prefix", "For CMake: -DCMAKE_PREFIX_PATH=\"$(locus plugin prefix)\""},
        {"locus plugin forget own-prior", "The server no longer plans with it"}}});
  auto choice = std::make_shared<PluginChoice>();
  command.add_option("action", choice->action, "test, show, prefix or forget")
      ->type_name("")
      ->one_of({"test", "show", "prefix", "forget"})
      ->required();
  command.add_option("file", choice->file, "The shared object; of `forget` the extension's name")->type_name("");
  command.add_option("--filter", choice->filter, "Of `test`: tests whose names match, as GoogleTest filters them")
      ->type_name("PATTERN");
  command.add_option("--data-root", choice->data_root, "Of `test`: where the plugin's datasets lie")
      ->type_name("FOLDER");
  add_server_options(command, choice->server);
  command.body = [choice] { return run(*choice); };
}

}  // namespace locus
