// What programs of ours that read outside data are given when they are isolated.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/process/isolation.h"

namespace locus {

// What the trainer at `program` needs to start and to look at its machine. `devices` is what it answered to that
// question: it names the folders of the libraries it loads.
IsolationRules program_rules(const std::filesystem::path& program, const Json& devices);

// Lets it read what lies below `root`, and where links in the upper levels there lead: datasets lie on several disks.
// Looks at the folder; links made later count from the next time on.
void let_read_data(IsolationRules& rules, const std::filesystem::path& root);

// Of `base` (NAME=value) what a numeric program may need: language, time zone, threads, devices, its libraries' and our
// own settings, and where it keeps what it knows of data. Secrets have no place there, and none of the loader's
// switches: everything that is not named is left out.
std::vector<std::string> program_environment(const std::vector<std::string>& base);

}  // namespace locus
