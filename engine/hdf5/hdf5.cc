// The library's C interface, its objects closed by their owners.
#include "engine/hdf5/hdf5.h"

#include <hdf5.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <numeric>
#include <utility>

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

// Opens `file` without copying it to a disk. The library takes a copy of the bytes.
hid_t opened(std::span<const std::byte> file) {
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  if (!access || H5Pset_fapl_core(access.get(), kGrowth, /*backing_store=*/false) < 0) return -1;
  if (H5Pset_file_image(access.get(), const_cast<std::byte*>(file.data()), file.size()) < 0) return -1;
  return H5Fopen("in memory", H5F_ACC_RDONLY, access.get());
}

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

// Opens the array and checks it; `use` is given it and its shape.
void with_array(std::span<const std::byte> bytes, const Wanted& wanted,
                const std::function<void(hid_t array, std::vector<std::int64_t> shape)>& use) {
  const Library held;
  const Handle file(bytes.empty() ? -1 : opened(bytes), H5Fclose);
  if (!file) throw Hdf5Error("is no HDF5 file, or a damaged one");
  const Handle array(H5Dopen2(file.get(), wanted.name.c_str(), H5P_DEFAULT), H5Dclose);
  if (!array) throw Hdf5Error("has no array '" + wanted.name + "'");
  const Handle type(H5Dget_type(array.get()), H5Tclose);
  const H5T_class_t kind = type ? H5Tget_class(type.get()) : H5T_NO_CLASS;
  if (kind != H5T_FLOAT && kind != H5T_INTEGER) throw Hdf5Error("has no numbers in its array '" + wanted.name + "'");
  const Handle space(H5Dget_space(array.get()), H5Sclose);
  const int rank = space ? H5Sget_simple_extent_ndims(space.get()) : -1;
  std::vector<hsize_t> extents(static_cast<std::size_t>(std::max(rank, 0)));
  if (rank > 0) H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr);
  std::vector<std::int64_t> shape(extents.begin(), extents.end());
  if (shape.size() != wanted.rank) {
    throw Hdf5Error("has an array '" + wanted.name + "' of " + std::to_string(shape.size()) + " axes (" +
                    shape_text(shape) + ") where " + std::to_string(wanted.rank) + " are expected");
  }
  double count = 1;
  for (const std::int64_t extent : shape) count *= static_cast<double>(extent);
  if (count < 1 || count > static_cast<double>(wanted.most)) {
    throw Hdf5Error("has an array '" + wanted.name + "' of " + shape_text(shape) + " numbers: at least one, at most " +
                    std::to_string(wanted.most));
  }
  use(array.get(), std::move(shape));
}

template <typename Number>
Hdf5Array<Number> read_numbers(std::span<const std::byte> bytes, const Wanted& wanted, hid_t (*memory_type)()) {
  Hdf5Array<Number> out;
  with_array(bytes, wanted, [&](hid_t array, std::vector<std::int64_t> shape) {
    out.shape = std::move(shape);
    out.numbers.resize(static_cast<std::size_t>(
        std::accumulate(out.shape.begin(), out.shape.end(), std::int64_t{1}, std::multiplies<>())));
    if (H5Dread(array, memory_type(), H5S_ALL, H5S_ALL, H5P_DEFAULT, out.numbers.data()) < 0)
      throw Hdf5Error("is damaged: its array '" + wanted.name + "' cannot be read");
  });
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
  return read_numbers<float>(file, {name, rank, most}, [] { return H5T_NATIVE_FLOAT; });
}

Hdf5Integers read_hdf5_integers(std::span<const std::byte> file, const std::string& name, std::size_t rank,
                                std::int64_t most) {
  return read_numbers<std::int32_t>(file, {name, rank, most}, [] { return H5T_NATIVE_INT32; });
}

std::vector<std::int64_t> read_hdf5_shape(std::span<const std::byte> file, const std::string& name, std::size_t rank,
                                          std::int64_t most) {
  std::vector<std::int64_t> out;
  with_array(file, {name, rank, most}, [&](hid_t, std::vector<std::int64_t> shape) { out = std::move(shape); });
  return out;
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
