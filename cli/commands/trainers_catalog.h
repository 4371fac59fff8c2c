// The catalog of the trainer beside this program, for commands that plan without a server.
#pragma once

#include <chrono>

#include "cli/trainer_tool.h"
#include "core/base/error.h"
#include "core/catalog/catalog.h"
#include "core/process/spawn.h"

namespace locus {

// Asks the trainer. The error says what to build where there is none.
inline absl::StatusOr<Catalog> trainers_catalog() {
  std::vector<std::string> words = trainer_words();
  words.push_back("catalog");
  LOCUS_ASSIGN_OR_RETURN(const std::string text, run_and_capture(words, std::chrono::minutes(2)));
  return Catalog::parse(Json::parse(text, nullptr, /*allow_exceptions=*/false));
}

}  // namespace locus
