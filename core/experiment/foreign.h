// Series that another program measured, kept beside an experiment to be looked at. Plain values; nothing that is ranked,
// compared, tested or claimed reads them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/experiment/model.h"

namespace locus {

inline constexpr std::int64_t kForeignPointsMost = 100'000;  // of one import
inline constexpr int kForeignSeriesMost = 1024;              // of one import
inline constexpr int kForeignImportsMost = 64;               // of an experiment
inline constexpr int kForeignSourceLength = 200;             // of the name of where they come from

// Columns of equal length, by step, each step once. A time of 0 is not known; values may be NaN or infinite.
struct ForeignSeries {
  SeriesKey key = {};
  std::int64_t points = 0;  // how many there are, also where the columns were not asked for
  std::vector<std::int64_t> step = {};
  std::vector<Microseconds> time_us = {};
  std::vector<double> value = {};
};

// What one run of another program left, named by the digest of its series.
struct ForeignImport {
  std::string digest = {};                 // SHA-256, hex
  std::string source = {};                 // for people: the file or folder
  std::string format = {};                 // "tensorboard", "csv", or what a client calls it
  std::string imported_by = {};            // a principal's name; empty where nobody is asked who they are
  Microseconds imported_us = 0;            // wall clock
  std::vector<ForeignSeries> series = {};  // by key
};

// Which of an experiment's imports, and what of them.
struct ForeignQuery {
  std::string digest = {};            // empty: all
  std::optional<SeriesKey> key = {};  // absent: all
  bool with_points = false;
  int max_points = 0;  // of a series, as Store::points reduces; 0: all
};

}  // namespace locus
