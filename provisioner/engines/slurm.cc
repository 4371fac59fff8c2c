// Slurm: a batch job a worker, known by its name. Never a job a trial: Slurm would order what the server orders.
#include <algorithm>
#include <cctype>
#include <sstream>

#include "core/base/error.h"
#include "provisioner/engine.h"
#include "provisioner/settings.h"

namespace locus {
namespace {

constexpr char kSlurmAdvice[] =
    "run the provisioner on a machine that has the commands of Slurm, such as its login node";

// "12", or "12_3" of an array.
bool job_number(const std::string& text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) || c == '_'; });
}

class Slurm final : public Engine {
 public:
  Slurm(EngineSetup setup, std::string script, std::vector<std::string> arguments)
      : setup_(std::move(setup)),
        job_("locus-" + setup_.pool),
        script_(std::move(script)),
        arguments_(std::move(arguments)) {}

  absl::StatusOr<int> count() override {
    LOCUS_ASSIGN_OR_RETURN(
        const std::string answer,
        ask_engine({"squeue", "--noheader", "--array", "--name=" + job_, "--format=%i|%T"}, kSlurmAdvice));
    int jobs = 0;
    std::istringstream lines(answer);
    for (std::string line; std::getline(lines, line);) {
      const auto bar = line.find('|');
      const std::string state = bar == std::string::npos ? "" : line.substr(bar + 1);
      if (!job_number(line.substr(0, bar)) || state.empty())
        return unexpected_answer("squeue", line, "a job's number and its state, as in 12|RUNNING,");
      jobs += state == "COMPLETING" ? 0 : 1;  // its worker has ended
    }
    return jobs;
  }

  absl::Status start(const std::vector<NewWorker>& workers) override {
    // What the script is told is in the environment that it inherits.
    std::vector<std::string> command = {"sbatch", "--parsable", "--job-name=" + job_, "--export=ALL"};
    command.insert(command.end(), arguments_.begin(), arguments_.end());
    command.push_back(script_);
    for (const NewWorker& worker : workers) {
      LOCUS_ASSIGN_OR_RETURN(const std::string answer,
                             ask_engine(command, kSlurmAdvice, "", variables_of(setup_, worker)));
      const std::string number = answer.substr(0, answer.find_first_of(";\n"));  // "12;CLUSTER" where there are several
      if (!job_number(number)) return unexpected_answer("sbatch", answer, "the number of a job");
    }
    return absl::OkStatus();
  }

 private:
  const EngineSetup setup_;
  const std::string job_, script_;
  const std::vector<std::string> arguments_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Engine>> make_slurm_engine(const EngineSetup& setup) {
  SettingsSection section(setup.settings, "slurm");
  const auto script = section.text("script");
  const auto arguments = section.texts("arguments");
  LOCUS_RETURN_IF_ERROR(section.end());
  if (!script) return section.missing("script", "script: /etc/locus/slurm/worker.sh");
  return std::make_unique<Slurm>(setup, *script, arguments.value_or(std::vector<std::string>()));
}

}  // namespace locus
