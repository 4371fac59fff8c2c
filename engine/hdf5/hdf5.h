// Arrays in HDF5 files: read by us, since files are others', and written by the distribution's library. It is the only folder that
// includes it. The library is used by one thread at a time, whoever calls; so everything here is thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace locus::engine {

// Bytes are no HDF5 file with that array. The message follows the file's name: "has no array 'dataset'".
class Hdf5Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Rows last axis fastest.
template <typename Number>
struct Hdf5Array {
  std::vector<std::int64_t> shape;
  std::vector<Number> numbers;
};
using Hdf5Floats = Hdf5Array<float>;
using Hdf5Integers = Hdf5Array<std::int32_t>;

// The array `name` of the file, converted from whatever floating or whole numbers it holds. `rank`: how many
// axes it must have. Throws Hdf5Error where the bytes are no HDF5 file, there is no such array, it is no array of numbers,
// has another rank or more than `most` of them, is damaged, or has a form that is not read (engine/hdf5/structure.h).
Hdf5Floats read_hdf5_floats(std::span<const std::byte> file, const std::string& name, std::size_t rank,
                            std::int64_t most);
Hdf5Integers read_hdf5_integers(std::span<const std::byte> file, const std::string& name, std::size_t rank,
                                std::int64_t most);
// The extents of such an array, without its numbers. Throws likewise.
std::vector<std::int64_t> read_hdf5_shape(std::span<const std::byte> file, const std::string& name, std::size_t rank,
                                          std::int64_t most);

// A file with one array of that name, in 16-bit floats or 32-bit whole numbers, in chunks of at most 96 x 128 (and all of the
// other axes) packed by gzip at `level` 0..9: the same numbers give the same bytes. Throws std::invalid_argument where shape and
// numbers do not fit or are empty.
std::vector<std::byte> write_hdf5_halves(const std::string& name, const Hdf5Floats& array, int level = 4);
std::vector<std::byte> write_hdf5_integers(const std::string& name, const Hdf5Integers& array, int level = 4);

}  // namespace locus::engine
