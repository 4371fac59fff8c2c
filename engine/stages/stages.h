// The kinds of stages this build can run, one file each.
#pragma once

#include "engine/stage/stage.h"

namespace locus::engine {

struct StageItem {
  Item item;  // kind "stage"; facts: inputs, outputs
  void (*run)(StageContext& context);
  std::string id() const { return item.json().at("id"); }
};
const std::vector<StageItem>& stage_items();       // every line of stages.def
const StageItem& stage_item(std::string_view id);  // throws std::invalid_argument

}  // namespace locus::engine
