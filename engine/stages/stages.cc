// The table of stage kinds.
#include "engine/stages/stages.h"

namespace locus::engine {

namespace stages {
#define LOCUS_STAGE(name) StageItem name();
#include "engine/stages/stages.def"
#undef LOCUS_STAGE
}  // namespace stages

Registry<StageItem>& stage_registry() {
  static Registry<StageItem> entries("stage", {
#define LOCUS_STAGE(name) stages::name(),
#include "engine/stages/stages.def"
#undef LOCUS_STAGE
                                              });
  return entries;
}

}  // namespace locus::engine
