// Kubernetes: a Job a worker, known by its label.
#include <algorithm>

#include "core/base/error.h"
#include "core/base/json_document.h"
#include "provisioner/engine.h"
#include "provisioner/settings.h"

namespace locus {
namespace {

constexpr char kKubernetesAdvice[] = "install kubectl beside the provisioner";
constexpr char kPoolLabel[] = "locus-pool";

// Whether a Job still has, or will have, a worker.
bool lives(const Json& job) {
  if (job.value("/metadata/deletionTimestamp"_json_pointer, Json()).is_string()) return false;
  const Json conditions = job.value("/status/conditions"_json_pointer, Json::array());
  return std::none_of(conditions.begin(), conditions.end(), [](const Json& condition) {
    const std::string type = condition.value("type", "");
    return (type == "Complete" || type == "Failed") && condition.value("status", "") == "True";
  });
}

class Kubernetes final : public Engine {
 public:
  Kubernetes(EngineSetup setup, Json job, std::vector<std::string> arguments)
      : setup_(std::move(setup)), job_(std::move(job)), arguments_(std::move(arguments)) {}

  absl::StatusOr<int> count() override {
    LOCUS_ASSIGN_OR_RETURN(
        const std::string answer,
        ask_engine(
            kubectl({"get", "jobs", std::string("--selector=") + kPoolLabel + "=" + setup_.pool, "--output=json"}),
            kKubernetesAdvice));
    const auto parsed = parse_json(answer, ErrorReason::kInvalidArgument, "kubectl");
    const bool list = parsed.ok() && parsed->is_object() && parsed->contains("items") && parsed->at("items").is_array();
    if (!list) return unexpected_answer("kubectl", answer, "a list of Jobs in JSON");
    int jobs = 0;
    try {
      for (const Json& job : parsed->at("items")) jobs += lives(job) ? 1 : 0;
    } catch (const Json::exception&) {
      return unexpected_answer("kubectl", answer, "a list of Jobs in JSON");
    }
    return jobs;
  }

  absl::Status start(const std::vector<NewWorker>& workers) override {
    for (const NewWorker& worker : workers) {
      Json job = job_;
      Json& container = job["spec"]["template"]["spec"]["containers"][0];
      for (const auto& [name, value] : variables_of(setup_, worker))
        container["env"].push_back({{"name", name}, {"value", value}});
      LOCUS_RETURN_IF_ERROR(
          ask_engine(kubectl({"create", "--output=name", "--filename=-"}), kKubernetesAdvice, job.dump()).status());
    }
    return absl::OkStatus();
  }

 private:
  std::vector<std::string> kubectl(const std::vector<std::string>& words) const {
    std::vector<std::string> out = {"kubectl"};
    out.insert(out.end(), arguments_.begin(), arguments_.end());
    out.insert(out.end(), words.begin(), words.end());
    return out;
  }

  const EngineSetup setup_;
  const Json job_;
  const std::vector<std::string> arguments_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Engine>> make_kubernetes_engine(const EngineSetup& setup) {
  SettingsSection section(setup.settings, "kubernetes");
  auto job = section.object("job");
  auto arguments = section.texts("arguments");
  LOCUS_RETURN_IF_ERROR(section.end());
  if (!job) return section.missing("job", "the manifest of a Job with one worker (deploy/kubernetes)");
  const Json* containers = job->contains("/spec/template/spec/containers"_json_pointer)
                               ? &job->at("/spec/template/spec/containers"_json_pointer)
                               : nullptr;
  const bool usable = containers != nullptr && containers->is_array() && !containers->empty() &&
                      containers->front().is_object() && containers->front().value("env", Json::array()).is_array();
  if (!usable) return section.missing("job.spec.template.spec.containers", "a container that runs `locus worker`");
  try {
    // The pool is the provisioner's to say: a Job under another label would never be counted.
    if (job->contains("metadata")) job->at("metadata").erase("name");
    (*job)["metadata"]["generateName"] = "locus-" + setup.pool + "-";
    (*job)["metadata"]["labels"][kPoolLabel] = setup.pool;
    (*job)["spec"]["template"]["metadata"]["labels"][kPoolLabel] = setup.pool;
  } catch (const Json::exception&) {
    return section.missing("job", "the manifest of a Job with one worker (deploy/kubernetes)");
  }
  return std::make_unique<Kubernetes>(setup, *std::move(job), arguments.value_or(std::vector<std::string>()));
}

}  // namespace locus
