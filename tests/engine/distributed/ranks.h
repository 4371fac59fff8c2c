// Several ranks of one group as threads of a test.
#pragma once

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "engine/distributed/gang.h"

namespace locus::engine {

// A folder of its own for every object, gone with it.
class RendezvousFolder {
 public:
  RendezvousFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "locus-gang-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~RendezvousFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  RendezvousFolder(const RendezvousFolder&) = delete;
  RendezvousFolder& operator=(const RendezvousFolder&) = delete;

  GangPlace place(int rank, int world, const std::string& token = "1/1", double timeout_seconds = 120) const {
    return {rank, world, path_ / "rendezvous", token, timeout_seconds};
  }

 private:
  std::filesystem::path path_;
};

// Runs `work` for all ranks at once, each with its gang and one thread, as slots of a worker have. What one throws fails the
// test.
inline void as_ranks(int world, const std::function<void(Gang&)>& work) {
  const RendezvousFolder folder;
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < world; ++rank) {
    ranks.emplace_back([&, rank] {
      at::set_num_threads(1);  // of this rank: waiting threads of many would take the time of those that compute
      try {
        work(*join_gang(folder.place(rank, world), at::kCPU));
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

}  // namespace locus::engine
