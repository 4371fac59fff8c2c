// The folder in which a daemon keeps what outlives it.
#pragma once

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/fd.h"

namespace locus {

// $XDG_DATA_HOME/locus-worker, else ~/.local/share/locus-worker.
std::filesystem::path default_work();

// Held as long as the daemon lives; the kernel lets go of it however that ends. DATA_FOLDER_IN_USE, DATA_FOLDER_UNUSABLE.
absl::StatusOr<Fd> lock_folder(const std::filesystem::path& work);

// What no two living daemons share: the folder, whose lock is held, and the boot, since the folder of a machine that was
// copied is in both. FOLDER is drawn once and kept in the folder. DATA_FOLDER_UNUSABLE.
absl::StatusOr<std::string> instance_of(const std::filesystem::path& work);

}  // namespace locus
