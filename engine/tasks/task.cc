// The table of tasks.
#include "engine/tasks/task.h"

#include "engine/tasks/tuning.h"

namespace locus::engine {

namespace tasks {
#define LOCUS_TASK(name) TaskItem name();
#include "engine/tasks/tasks.def"
#undef LOCUS_TASK
}  // namespace tasks

Registry<TaskItem>& task_registry() {
  static Registry<TaskItem> entries("task", {
#define LOCUS_TASK(name) tasks::name(),
#include "engine/tasks/tasks.def"
#undef LOCUS_TASK
                                            });
  return entries;
}

void StepLosses::add(const Tensor& value, const LossFields& more) {
  loss = loss.defined() ? loss + value : value;
  for (const auto& [name, field] : more) fields.emplace_back(name, field.detach());
}

std::shared_ptr<const Sampler> Task::sampler(std::string_view, std::int64_t, std::int64_t, const RandomStreams&) const {
  return nullptr;
}
std::int64_t Task::classes() const { return 0; }
bool Task::takes_bytes() const { return false; }
Collate Task::collate() const { return {}; }
void Task::look(const Views& views) {
  if (views == Views{}) return;
  throw std::invalid_argument(
      "the task looks once at the whole of an image; windows, mirror and scales are of tasks that make maps of images "
      "(segmentation, depth)");
}

Tensor Task::answer(const Batch&, const ForwardContext&) {
  throw std::invalid_argument("the task makes no maps of images");
}

void Task::after_step(const ForwardContext&) {}

Tensor Task::features(const Batch&, const ForwardContext&) {
  throw std::invalid_argument("the task gives no features of an image");
}

void Task::hold(const std::function<bool(const std::string&)>& which) {
  for (const auto& item : named_parameters()) {
    if (!item.value().requires_grad() || !which(item.key())) continue;
    item.value().set_requires_grad(false);
    held_.insert(item.key());
  }
}

std::shared_ptr<Task> make_task(const TaskContext& context) {
  const Json& task = context.configuration.at("task");
  const TaskItem& item = task_item(task.at("id").get<std::string>());
  auto made = item.make(context, Options(item.item.json(), task.value("options", Json::object())));
  start_adapters(*made, context.random);
  hold_base(*made, context.configuration);
  return made;
}

}  // namespace locus::engine
