// What of a configuration depends on a batch as a whole.
#include "engine/tasks/parts.h"

#include <algorithm>

#include "engine/layers/norm.h"
#include "engine/priors/prior.h"
#include "engine/tasks/task.h"

namespace locus::engine {
namespace {

// A prior of others may add a loss, of which nothing is known.
bool adds_unknown_loss(const Json& prior) {
  if (!prior.contains("origin")) return false;
  const Json hooks = prior.value("hooks", Json::array());
  return std::find(hooks.begin(), hooks.end(), "loss") != hooks.end();
}

// The model's batch norms, by their names.
std::vector<std::pair<std::string, std::shared_ptr<BatchNorm>>> batch_norms_of(const Task& task) {
  std::vector<std::pair<std::string, std::shared_ptr<BatchNorm>>> out;
  for (const auto& part : task.named_modules()) {
    if (auto norm = std::dynamic_pointer_cast<BatchNorm>(part.value())) out.emplace_back(part.key(), std::move(norm));
  }
  return out;
}

}  // namespace

void share_statistics(const Task& task, Peers& peers) {
  for (const auto& [name, norm] : batch_norms_of(task)) norm->share(&peers);
}

std::string undivided(const Task& task, const Json& configuration, std::int64_t accumulate) {
  const auto* divides = dynamic_cast<const DividesBatches*>(&task);
  const std::string of_task = "task " + configuration.at("task").at("id").get<std::string>() + ": ";
  if (divides == nullptr) return of_task + "it does not say that its losses are means over the samples of a batch";
  if (const std::string why = divides->undivided(); !why.empty()) return of_task + why;
  if (const auto norms = batch_norms_of(task); accumulate > 1 && !norms.empty()) {
    return "the model's " + norms.front().first +
           " is a batch norm, which normalizes by each pass of a batch, and passes of several devices are other ones; "
           "set "
           "train.accumulate to 1";
  }
  if (configuration.value("/adapter/options/dropout"_json_pointer, 0.0) > 0)
    return "the dropout of adapters is drawn for a batch as a whole; set adapter.dropout to 0";
  for (const Json& choice : configuration.value("priors", Json::array())) {
    const auto id = choice.at("id").get<std::string>();
    if (adds_unknown_loss(prior_item(id).item.json()))
      return "prior " + id + ": it does not say that its loss is a mean over the samples of a batch";
  }
  return "";
}

}  // namespace locus::engine
