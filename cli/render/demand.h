// What waits for a device, as text.
#pragma once

#include <string>

#include "cli/render/text_table.h"
#include "locus/v1/worker_service.pb.h"

namespace locus {

std::string render_demand(const v1::Demand& demand, TextStyle style = {});

}  // namespace locus
