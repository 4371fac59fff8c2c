// locus worker: offers this machine's devices to a server.
#include "worker/app/worker.h"

#include <unistd.h>

#include "cli/command.h"
#include "cli/settings.h"
#include "cli/text_file.h"
#include "core/base/duration.h"
#include "core/base/error.h"

namespace locus {
namespace {

// As given on the command line; empty: not.
struct GivenOptions {
  std::string idle, lifetime;
  bool stay = false;
  std::vector<std::string> labels, plugins;
};

void add_options(Command& command, WorkerOptions& options, GivenOptions& given) {
  command
      .add_option("--enroll", options.enroll,
                  "Get a certificate with this token of `locus admin invite` first, from the dashboard's address in "
                  "--server; it is kept and renewed in the work folder. - is standard input, @FILE a file's first line")
      ->type_name("TOKEN")
      ->envname("LOCUS_ENROLL");
  command.add_option("--name", options.name, "Unique name of this worker (default: from the host's name)")
      ->type_name("NAME");
  command.add_option("--device", options.device, "What to train on")
      ->type_name("DEVICE")
      ->one_of({"cpu", "cuda"})
      ->show_default();
  command.add_option("--slots", options.slots, "Stages at a time (default: cores / threads, or one a GPU)")
      ->type_name("COUNT")
      ->range(0, 1024);
  command.add_option("--per-gpu", options.per_gpu, "Slots on each GPU, or auto: by its memory")
      ->type_name("COUNT")
      ->show_default();
  command.add_option("--threads", options.threads, "Threads of a slot")
      ->type_name("COUNT")
      ->range(1, 1024)
      ->show_default();
  command.add_option("--work", options.work, "Folder for what is under way (default: ~/.local/share/locus-worker)")
      ->type_name("FOLDER");
  command.add_option("--trainer", options.trainer, "The trainer (default: locus-trainer beside this program)")
      ->type_name("FILE");
  command
      .add_option("--plugin", given.plugins,
                  "Shared object that brings priors, datasets, ... of yours (docs/own.md); more than once for several")
      ->type_name("FILE")
      ->one_value_each();
  command.add_option("--data-root", options.data_root, "Folder the datasets lie under")
      ->type_name("FOLDER")
      ->show_default();
  command
      .add_option("--isolate", options.isolate,
                  "Keep trainers from files, networks and processes they need not reach: auto (on the CPU, what the "
                  "kernel can hold), off or required")
      ->type_name("MODE")
      ->one_of({"auto", "off", "required"})
      ->show_default();
  command.add_option("--checkpoint-seconds", options.checkpoint_seconds, "How often a training is saved")
      ->type_name("SECONDS")
      ->range(1, 86400)
      ->show_default();
  command.add_option("--exit-when-idle", given.idle, "End by itself after so long without work, such as 15m")
      ->type_name("TIME");
  command
      .add_flag("--stay", given.stay,
                "Do not, whatever --exit-when-idle says; a provisioner asks it of the fewest that its pool keeps")
      ->envname("LOCUS_STAYS");
  command
      .add_option("--lifetime", given.lifetime,
                  "Drain and end by itself after so long, such as 23h; in a job of Slurm its end counts, too")
      ->type_name("TIME");
  command
      .add_option("--label", given.labels,
                  "A label of this worker, which specifications may ask for (repeatable); where the server asks who "
                  "calls, those of its invitation count instead")
      ->type_name("KEY=VALUE")
      ->one_value_each();
  command.add_flag("--take-over", options.take_over,
                   "Take the name even from a daemon that lives under it; what that one runs is lost");
  command.add_flag("--once", options.once,
                   "Fail at once if the server cannot be reached at the start, instead of waiting for it");
}

// Without any word of a server the worker asks where it is enrolled.
absl::Status choose_server(const ServerChoice& choice, WorkerOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(const Settings settings, read_settings(settings_path()));
  options.server = choice.server;
  LOCUS_ASSIGN_OR_RETURN(options.enroll, read_token(options.enroll, "--enroll"));
  if (!options.enroll.empty()) return absl::OkStatus();
  if (choice.profile.empty()) {
    if (options.server.empty()) options.server = settings.server;
    return absl::OkStatus();
  }
  LOCUS_ASSIGN_OR_RETURN(const Destination to, destination(choice));
  options.server = to.address;
  options.tls = to.tls;
  return absl::OkStatus();
}

// What a key of a label may be the server says.
absl::Status take(const GivenOptions& given, WorkerOptions& options) {
  if (!given.idle.empty()) {
    LOCUS_ASSIGN_OR_RETURN(options.exit_when_idle, parse_duration(given.idle, "--exit-when-idle"));
  }
  if (given.stay) options.exit_when_idle = {};
  if (!given.lifetime.empty()) {
    LOCUS_ASSIGN_OR_RETURN(options.lifetime, parse_duration(given.lifetime, "--lifetime"));
  }
  options.plugins.assign(given.plugins.begin(), given.plugins.end());
  for (const std::string& label : given.labels) {
    const std::size_t equals = label.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                        "\"" + label + "\" is no label: write --label KEY=VALUE", "--label");
    }
    options.labels[label.substr(0, equals)] = label.substr(equals + 1);
  }
  return absl::OkStatus();
}

int run(WorkerOptions options, const GivenOptions& given, const ServerChoice& choice) {
  if (const absl::Status status = take(given, options); !status.ok())
    return report_error(status, choice.json, nullptr, kExitUsage);
  if (const absl::Status status = choose_server(choice, options); !status.ok())
    return report_error(status, choice.json);
  const bool json = choice.json;
  const absl::Status status = run_worker(options, [json](const WorkerReady& ready) {
    const Json line = {{"name", ready.name},   {"server", ready.server}, {"device", ready.device},
                       {"slots", ready.slots}, {"work", ready.work},     {"pid", ::getpid()}};
    print(json ? line.dump() + "\n"
               : "locus worker: " + ready.name + " offers " + std::to_string(ready.slots) + " " + ready.device +
                     (ready.slots == 1 ? " slot to " : " slots to ") + ready.server + "\n");
  });
  if (status.ok()) return kExitDone;
  return report_error(status, json, nullptr, absl::IsInvalidArgument(status) ? kExitUsage : kExitFailed);
}

}  // namespace

void add_worker(Program& app) {
  Command& command =
      add_command(app, {"worker",
                        kRunGroup,
                        "Start a worker: run stages on this machine's devices",
                        "Waits for the server, registers and runs what it is given until SIGTERM or SIGINT; then it "
                        "saves checkpoints and "
                        "stops, and a second signal ends it at once. It trains on through a restart of the server.",
                        {{"locus worker --slots 2", "Two CPU slots for the server on this machine"},
                         {"locus worker --enroll @token --server https://gpu.example.org:7172",
                          "Become a worker of a server elsewhere; afterwards `locus worker` is enough"},
                         {"locus worker --exit-when-idle 15m --lifetime 23h", "On a machine that is lent for a day"},
                         {"locus worker --plugin build/own_prior.so", "Bring a prior of your own to the server"},
                         {"locus worker --device cuda", "One slot for each GPU"},
                         {"locus worker --label zone=a", "With a label that specifications may ask for"},
                         {"locus worker --device cuda --per-gpu 4", "Four stages at a time on each GPU"}}});
  auto options = std::make_shared<WorkerOptions>();
  auto choice = std::make_shared<ServerChoice>();
  add_server_options(command, *choice);
  auto given = std::make_shared<GivenOptions>();
  add_options(command, *options, *given);
  command.body = [options, given, choice] { return run(*options, *given, *choice); };
}

}  // namespace locus
