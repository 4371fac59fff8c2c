// The table of tasks.
#include "engine/tasks/task.h"

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

std::shared_ptr<Task> make_task(const TaskContext& context) {
  const Json& task = context.configuration.at("task");
  const TaskItem& item = task_item(task.at("id").get<std::string>());
  return item.make(context, Options(item.item.json(), task.value("options", Json::object())));
}

}  // namespace locus::engine
