// The commands as they were declared, as data.
#pragma once

#include "cli/command.h"
#include "cli/render/manual.h"

namespace locus {

ProgramPage describe(const CLI::App& program);
CommandPage describe(const Command& command);

}  // namespace locus
