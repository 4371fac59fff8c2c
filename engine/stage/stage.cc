// What names a stage.
#include "engine/stage/stage.h"

#include "core/base/sha256.h"

namespace locus::engine {

std::string configuration_identity(const Json& configuration) { return sha256_hex(canonical_json(configuration)); }

}  // namespace locus::engine
