// The list of toys.
#include "tests/engine/toys/toys.h"

namespace locus::engine::toys {

void add_toys() {
  static const bool added = [] {
#define LOCUS_TOY_BACKBONE(file) backbone_registry().add(file());
#include "tests/engine/toys/toys.def"
#undef LOCUS_TOY_BACKBONE
    return true;
  }();
  (void)added;
}

}  // namespace locus::engine::toys
