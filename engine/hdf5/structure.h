// Where an array of an HDF5 file lies and what its numbers are, read by us: the distribution's library is made for files that one
// trusts, and ends the program on some that lie (lengths of a heap's free blocks, addresses at the end of all addresses). From "HDF5
// File Format Specification Version 3.0": superblocks 0 and 1 with the groups, headers and indexes of their time, which the library
// and h5py write unless they are told to use newer forms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace locus::engine {

// Bytes that are read in their order, least significant first. Reading past their end throws Hdf5Error.
class Hdf5Cursor {
 public:
  explicit Hdf5Cursor(std::span<const std::byte> bytes) : rest_(bytes) {}

  std::uint64_t number(std::size_t bytes);  // of 1 to 8 bytes
  std::span<const std::byte> take(std::uint64_t bytes);
  void expect(const char* signature);  // throws Hdf5Error where other bytes stand
  bool empty() const { return rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
};

// What the specification calls an undefined address: nothing was written there.
inline constexpr std::uint64_t kHdf5Nowhere = ~std::uint64_t{0};

// The bytes [at, at + size) of `file`. Throws Hdf5Error where they are not in it.
std::span<const std::byte> hdf5_part(std::span<const std::byte> file, std::uint64_t at, std::uint64_t size);
// Those from `at` to the end of the file.
std::span<const std::byte> hdf5_rest(std::span<const std::byte> file, std::uint64_t at);

struct Hdf5Type {
  enum { kFloat, kSigned, kUnsigned } kind = kFloat;
  std::size_t bytes = 0;  // 2, 4 or 8 of floats, 1, 2, 4 or 8 of whole numbers
  bool big_endian = false;
};

enum class Hdf5Filter { kDeflate, kShuffle };

struct Hdf5Location {
  Hdf5Type type;
  std::vector<std::int64_t> shape;
  std::optional<std::span<const std::byte>> values;  // all of them, one after the other
  std::uint64_t index = kHdf5Nowhere;                // of chunks, where there are no `values`
  std::vector<std::int64_t> chunk;                   // their extents, empty where there are none
  std::vector<Hdf5Filter> filters;                   // in the order in which they were applied
  std::vector<std::byte> fill;                       // one number, where nothing was written; empty: zero
};

// Finds the array `name` of the root group. Views into `file`. Throws Hdf5Error where the bytes are no such file, have no such array of
// numbers, or one in a form that is not read here, which the message names.
Hdf5Location find_hdf5_array(std::span<const std::byte> file, const std::string& name);

}  // namespace locus::engine
