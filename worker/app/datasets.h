// Which of the catalog's datasets this machine holds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/catalog/catalog.h"
#include "locus/v1/worker_service.pb.h"

namespace locus {

// Thread-safe. Knows the files of a dataset by the manifest among its facts, one of image files by the places that its
// folder has (facts.stored); one with neither counts as held. Copies that were read through on this machine are known by
// `cache` (core/base/data_copies.h), and announced as "ID@DIGEST" beside the id.
class Datasets {
 public:
  Datasets(const Catalog& catalog, std::filesystem::path root, std::filesystem::path cache);

  // What is there now, by the names, sizes and permissions of the files: cheap, whatever their size. What check() found
  // wrong counts as missing until it changes.
  v1::HeldData look();
  // Reads the dataset's files through and compares them with the manifest, as far as it knows their content: after a stage met a fault in its data, whose
  // cause may be another input.
  void check(const std::string& id);

 private:
  struct File {
    std::string name, sha256;
    std::int64_t bytes = 0;
  };
  struct Known {
    std::string id;
    std::vector<File> files;
    std::string folder;               // below the root
    std::vector<std::string> places;  // paths below the folder that a copy has
    std::string source;               // where to get the files, for messages; empty: nobody said
  };
  std::string problem(const Known& dataset, const File& file) const;  // empty: none that can be seen
  std::string lacking(const Known& dataset) const;                    // likewise, of its places
  std::vector<std::string> copies() const;                            // "ID@DIGEST" of those as they were when read
  std::string stamp(const Known& dataset, const File& file) const;    // changes with the file

  const std::filesystem::path root_, cache_;
  std::vector<Known> datasets_;
  std::mutex mutex_;
  std::map<std::filesystem::path, std::pair<std::string, std::string>> wrong_;  // path -> stamp, what is wrong
};

}  // namespace locus
