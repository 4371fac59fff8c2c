// What is read is found and checked here; what is written, the library writes: its C interface, its objects closed by their owners.
#include "engine/hdf5/hdf5.h"

#include <hdf5.h>

#include <algorithm>
#include <mutex>
#include <numeric>
#include <utility>

#include "engine/hdf5/structure.h"
#include "engine/hdf5/values.h"

namespace locus::engine {
namespace {

// The library as distributions build it keeps its state without locks.
std::mutex& library() {
  static std::mutex mutex;
  return mutex;
}

// Held while the library is used; its own reports on standard error are off.
class Library {
 public:
  Library() : lock_(library()) { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

 private:
  std::lock_guard<std::mutex> lock_;
};

// An identifier of the library, closed by `close`.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  hid_t get() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

constexpr std::size_t kGrowth = 1 << 20;  // bytes by which a file in memory grows
constexpr hsize_t kChunkRows = 96, kChunkColumns = 128;

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string out;
  for (const std::int64_t extent : shape) out += (out.empty() ? "" : " x ") + std::to_string(extent);
  return out;
}

struct Wanted {
  const std::string& name;
  std::size_t rank;
  std::int64_t most;
};

// Finds the array and checks that it is what is wanted.
Hdf5Location found(std::span<const std::byte> bytes, const Wanted& wanted) {
  Hdf5Location out = find_hdf5_array(bytes, wanted.name);
  if (out.shape.size() != wanted.rank) {
    throw Hdf5Error("has an array '" + wanted.name + "' of " + std::to_string(out.shape.size()) + " axes (" +
                    shape_text(out.shape) + ") where " + std::to_string(wanted.rank) + " are expected");
  }
  double count = 1;
  for (const std::int64_t extent : out.shape) count *= static_cast<double>(extent);
  if (count < 1 || count > static_cast<double>(wanted.most)) {
    throw Hdf5Error("has an array '" + wanted.name + "' of " + shape_text(out.shape) +
                    " numbers: at least one, at most " + std::to_string(wanted.most));
  }
  return out;
}

// IEEE 754 binary16.
hid_t half_type() {
  const hid_t type = H5Tcopy(H5T_IEEE_F32LE);
  if (type < 0) return type;
  H5Tset_fields(type, 15, 10, 5, 0, 10);
  H5Tset_size(type, 2);
  H5Tset_ebias(type, 15);
  return type;
}

void check(bool fine) {
  if (!fine) throw std::logic_error("the HDF5 library refused to write an array");
}

std::vector<std::byte> image_of_file(hid_t file) {
  check(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0);
  const ssize_t bytes = H5Fget_file_image(file, nullptr, 0);
  check(bytes > 0);
  std::vector<std::byte> out(static_cast<std::size_t>(bytes));
  check(H5Fget_file_image(file, out.data(), out.size()) == bytes);
  return out;
}

// `numbers` of `memory` type in an array of `stored` type.
std::vector<std::byte> written(const std::string& name, const std::vector<std::int64_t>& shape, const void* numbers,
                               hid_t memory, hid_t stored, int level) {
  const std::vector<hsize_t> extents(shape.begin(), shape.end());
  std::vector<hsize_t> chunk = extents;
  chunk[0] = std::min(chunk[0], kChunkRows);
  if (chunk.size() > 1) chunk[1] = std::min(chunk[1], kChunkColumns);
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  check(access && H5Pset_fapl_core(access.get(), kGrowth, /*backing_store=*/false) >= 0);
  const Handle file(H5Fcreate("in memory", H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose);
  const Handle space(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), H5Sclose);
  const Handle layout(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  check(file && space && layout);
  check(H5Pset_obj_track_times(layout.get(), false) >= 0);  // the same bytes each time
  check(H5Pset_chunk(layout.get(), static_cast<int>(chunk.size()), chunk.data()) >= 0);
  check(H5Pset_deflate(layout.get(), static_cast<unsigned>(level)) >= 0);
  {
    const Handle array(
        H5Dcreate2(file.get(), name.c_str(), stored, space.get(), H5P_DEFAULT, layout.get(), H5P_DEFAULT), H5Dclose);
    check(static_cast<bool>(array));
    check(H5Dwrite(array.get(), memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers) >= 0);
  }
  return image_of_file(file.get());
}

template <typename Number>
void check_array(const Hdf5Array<Number>& array) {
  const std::int64_t count =
      std::accumulate(array.shape.begin(), array.shape.end(), std::int64_t{1}, std::multiplies<>());
  if (array.shape.empty() || array.numbers.empty() || count != static_cast<std::int64_t>(array.numbers.size()))
    throw std::invalid_argument("an array of " + shape_text(array.shape) + " has not " +
                                std::to_string(array.numbers.size()) + " numbers");
}

}  // namespace

Hdf5Floats read_hdf5_floats(std::span<const std::byte> file, const std::string& name, std::size_t rank,
                            std::int64_t most) {
  const Hdf5Location array = found(file, {name, rank, most});
  return {array.shape, read_hdf5_values_as_float(file, array)};
}

Hdf5Integers read_hdf5_integers(std::span<const std::byte> file, const std::string& name, std::size_t rank,
                                std::int64_t most) {
  const Hdf5Location array = found(file, {name, rank, most});
  return {array.shape, read_hdf5_values_as_int32(file, array)};
}

std::vector<std::int64_t> read_hdf5_shape(std::span<const std::byte> file, const std::string& name, std::size_t rank,
                                          std::int64_t most) {
  return found(file, {name, rank, most}).shape;
}

std::vector<std::byte> write_hdf5_halves(const std::string& name, const Hdf5Floats& array, int level) {
  check_array(array);
  const Library held;
  const Handle stored(half_type(), H5Tclose);
  check(static_cast<bool>(stored));
  return written(name, array.shape, array.numbers.data(), H5T_NATIVE_FLOAT, stored.get(), level);
}

std::vector<std::byte> write_hdf5_integers(const std::string& name, const Hdf5Integers& array, int level) {
  check_array(array);
  const Library held;
  return written(name, array.shape, array.numbers.data(), H5T_NATIVE_INT32, H5T_STD_I32LE, level);
}

}  // namespace locus::engine
