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

}  // namespace

std::string undivided(const Task& task, const Json& configuration) {
  const auto* divides = dynamic_cast<const DividesBatches*>(&task);
  const std::string of_task = "task " + configuration.at("task").at("id").get<std::string>() + ": ";
  if (divides == nullptr) return of_task + "it does not say that its losses are means over the samples of a batch";
  if (const std::string why = divides->undivided(); !why.empty()) return of_task + why;
  for (const auto& part : task.named_modules()) {
    if (std::dynamic_pointer_cast<BatchNorm>(part.value())) {
      return "the model's " + part.key() +
             " is a batch norm, which normalizes by the statistics of the whole batch; choose a model, priors and a "
             "decoder without one";
    }
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
