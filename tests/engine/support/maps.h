// Tasks that make maps, and decoders of few channels, for tests.
#pragma once

#include "engine/decoders/decoder.h"
#include "engine/tasks/task.h"

namespace locus::engine::test {

inline std::vector<std::string> tasks_of_maps() {
  std::vector<std::string> out;
  for (const TaskItem& item : task_items()) {
    if (item.item.json().at("facts").contains("target")) out.push_back(item.id());
  }
  return out;
}

// As a stage configuration has it.
inline Json small_decoder(const DecoderItem& item) {
  Json options = Json::object();
  for (const Json& option : item.item.json().at("options")) {
    if (option.at("name") == "width" || option.at("name") == "auxiliary_width") options[option.at("name")] = 4;
    if (option.at("name") == "channels") options["channels"] = {2, 3, 4, 4};
  }
  return {{"id", item.id()}, {"options", options}};
}

}  // namespace locus::engine::test
