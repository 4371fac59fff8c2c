// The list of toys.
#include "tests/engine/toys/toys.h"

#include <utility>

#include "engine/backbones/backbone.h"
#include "engine/data/dataset.h"
#include "engine/stages/stages.h"
#include "engine/tasks/task.h"
#include "engine/train/recipe.h"

namespace locus::engine::toys {
namespace {

using backbone = BackboneItem;
using dataset [[maybe_unused]] = DatasetItem;
using recipe = RecipeItem;
using stage [[maybe_unused]] = StageItem;
using task = TaskItem;

}  // namespace

#define LOCUS_TOY(name, kind) kind name();
#include "tests/engine/toys/toys.def"
#undef LOCUS_TOY

void add_toys() {
  static bool added = false;
  if (std::exchange(added, true)) return;
#define LOCUS_TOY(name, kind) kind##_registry().add(name());
#include "tests/engine/toys/toys.def"
#undef LOCUS_TOY
}

}  // namespace locus::engine::toys
