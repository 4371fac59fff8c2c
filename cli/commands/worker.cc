// locus worker: offers this machine's devices to a server.
#include "worker/app/worker.h"
#include "cli/command.h"

namespace locus {

void add_worker(CLI::App& app, int& status) {
  auto options = std::make_shared<WorkerOptions>();
  CLI::App* command = app.add_subcommand("worker", "Start a worker: run stages on this machine's devices");
  command->add_option("--server", options->server, "Address of the server's gRPC side, HOST:PORT")
      ->envname("LOCUS_SERVER")
      ->capture_default_str();
  command->add_option("--name", options->name, "Unique name of this worker (default: from the host's name)");
  command->add_option("--device", options->device, "What to train on")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  command->add_option("--slots", options->slots, "Stages at a time (default: cores / threads, or one a GPU)")
      ->check(CLI::Range(0, 1024));
  command->add_option("--threads", options->threads, "Threads of a slot")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--work", options->work,
                      "Folder for what is under way (default: ~/.local/share/locus-worker)");
  command->add_option("--trainer", options->trainer,
                      "The trainer (default: locus-trainer beside this program)");
  command->add_option("--data-root", options->data_root, "Folder the datasets lie under")
      ->capture_default_str();
  command->add_option("--checkpoint-seconds", options->checkpoint_seconds, "How often a training is saved")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  command->add_flag("--once", options->once, "Do not wait for a server that is not there at the start");
  command->callback([options, &status] { status = worker_main(*options); });
}

}  // namespace locus
