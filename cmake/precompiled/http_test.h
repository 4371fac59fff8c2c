// Precompiled for tests of what uses http.h.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmake/precompiled/http.h"
