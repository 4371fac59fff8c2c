// The kinds of stages this build can run, one file each.
#pragma once

#include "engine/base/registry.h"
#include "engine/stage/stage.h"

namespace locus::engine {

struct StageItem {
  Item item;  // kind "stage"; facts: inputs, outputs
  void (*run)(StageContext& context);
  std::string id() const { return item.json().at("id"); }
};
Registry<StageItem>& stage_registry();  // first, every line of stages.def
inline const std::deque<StageItem>& stage_items() { return stage_registry().all(); }
inline const StageItem& stage_item(std::string_view id) { return stage_registry().find(id); }

}  // namespace locus::engine
