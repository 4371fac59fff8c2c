// The trainer's tool `picture` as a child process with bounds.
#pragma once

#include <filesystem>

#include "server/application/picture_desk.h"

namespace locus::server {

// Runs `trainer` with the arguments given, without a shell, with no descriptor of ours, in a process group of its
// own that is killed when it takes more than 90 s or prints more than 3.75 MiB, which is what an answer can
// hold. An empty path or a missing file: each run is refused with FAILED_PRECONDITION (WRONG_STATE) saying what
// to install. `isolated`: as trainers of workers are (docs/security.md), so that it reads only its program, its request
// and what lies below `data_root`, as far as this kernel can hold it to that. Thread-safe.
PictureProgram make_picture_program(const std::filesystem::path& trainer, const std::filesystem::path& data_root,
                                    bool isolated);

}  // namespace locus::server
