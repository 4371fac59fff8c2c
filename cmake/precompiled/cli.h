// Precompiled for the command line: its parser as well.
#pragma once

#include <CLI/CLI.hpp>

#include "cmake/precompiled/service.h"
