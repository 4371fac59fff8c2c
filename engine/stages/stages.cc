// The table of stage kinds.
#include "engine/stages/stages.h"

namespace locus::engine {

namespace stages {
#define LOCUS_STAGE(name) StageItem name();
#include "engine/stages/stages.def"
#undef LOCUS_STAGE
}  // namespace stages

const std::vector<StageItem>& stage_items() {
  static const std::vector<StageItem> all = {
#define LOCUS_STAGE(name) stages::name(),
#include "engine/stages/stages.def"
#undef LOCUS_STAGE
  };
  return all;
}

const StageItem& stage_item(std::string_view id) {
  for (const StageItem& item : stage_items()) {
    if (item.id() == id) return item;
  }
  throw std::invalid_argument("no stage kind '" + std::string(id) + "' in this build");
}

}  // namespace locus::engine
