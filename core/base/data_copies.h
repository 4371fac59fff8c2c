// What this machine knows of copies of datasets: written by who reads them through, read by who must not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace locus {

// Where such knowledge is kept: LOCUS_DATA_CACHE, else XDG_CACHE_HOME/locus, else HOME/.cache/locus; empty where none of them is
// set. Not made here. Thread-safe as long as nobody changes the environment.
std::filesystem::path data_cache_folder();

// Bytes that decoded images may take in that folder: LOCUS_DECODED_BYTES; 0 where it is not set or no whole number. Thread-safe as above.
std::int64_t decoded_cache_bytes();

// One copy of a dataset, as it was when all of it was read.
struct DataCopy {
  std::string dataset;              // id
  std::filesystem::path folder;     // absolute
  std::string digest;               // of its manifest, SHA-256
  std::vector<std::string> places;  // paths below the folder by which a change is seen
  std::string stamp;                // of these at the time
  std::int64_t classes = 0;
  std::map<std::string, std::int64_t> images;  // by part: "train", "val"
};

// A text that changes when one of `names` below `folder` is replaced, or gets or loses entries of its own; "" when one is missing.
// Cheap: it looks at the names, not below them.
std::string stamp_of(const std::filesystem::path& folder, const std::vector<std::string>& names);

// Whether its places are as they were. Files deeper in the folder may have changed: who reads them finds out.
bool unchanged(const DataCopy& copy);

// What `cache` knows, ordered by dataset and folder; a damaged record is passed over.
std::vector<DataCopy> known_copies(const std::filesystem::path& cache);
// Best effort: without the record the copy is read again. Nothing with an empty `cache`.
void remember_copy(const std::filesystem::path& cache, const DataCopy& copy);

// Writes `text` so that the file is there whole or as it was; makes its folder. False when it cannot.
bool put_in_cache(const std::filesystem::path& file, const std::string& text);

}  // namespace locus
