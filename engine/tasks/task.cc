// The table of tasks.
#include "engine/tasks/task.h"

namespace locus::engine {

namespace tasks {
#define LOCUS_TASK(name) TaskItem name();
#include "engine/tasks/tasks.def"
#undef LOCUS_TASK
}  // namespace tasks

const std::vector<TaskItem>& task_items() {
  static const std::vector<TaskItem> all = {
#define LOCUS_TASK(name) tasks::name(),
#include "engine/tasks/tasks.def"
#undef LOCUS_TASK
  };
  return all;
}

const TaskItem& task_item(std::string_view id) {
  for (const TaskItem& item : task_items()) {
    if (item.id() == id) return item;
  }
  throw std::invalid_argument("no task '" + std::string(id) + "' in this build");
}

std::shared_ptr<Task> make_task(const TaskContext& context) {
  const Json& task = context.configuration.at("task");
  const TaskItem& item = task_item(task.at("id").get<std::string>());
  return item.make(context, Options(item.item.json(), task.value("options", Json::object())));
}

}  // namespace locus::engine
