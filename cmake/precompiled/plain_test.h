// Precompiled for tests of what uses plain.h.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmake/precompiled/plain.h"
