// Precompiled for every folder but the engine (which has its own, engine/base/torch.h): what most files include anyway.
// A file still includes what it uses; the presets asan and tsan compile without this (LOCUS_PRECOMPILE=OFF).
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
