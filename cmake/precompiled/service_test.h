// Precompiled for tests of what uses service.h.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmake/precompiled/service.h"
