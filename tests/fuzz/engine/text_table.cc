// Tables of data sets: the camera parameters of Hypersim, and any column of numbers.
#include "engine/data/stored/table.h"

#include "engine/base/failure.h"
#include "engine/data/stored/hypersim.h"
#include "tests/fuzz/fuzz.h"

namespace locus::fuzz {

void text_table(std::string_view bytes) {
  const MemoryFile file(bytes);
  try {
    const engine::TextTable table(file.path(), ',');
    require(table.column("scene_name").size() == table.rows(), "a column has a field in every row");
    (void)table.numbers("M_proj_00");
  } catch (const engine::DataError&) {
  }
  try {
    for (const auto& [scene, camera] : engine::read_hypersim_cameras(file.path())) {
      try {
        (void)engine::planar_share(camera, engine::HypersimDepth::kPlanar, {8, 6}, 1, 2);
      } catch (const std::invalid_argument&) {
      }
    }
  } catch (const engine::DataError&) {
  }
}

}  // namespace locus::fuzz
