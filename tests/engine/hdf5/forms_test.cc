// Files as the distribution's library writes them in every form that is read, and in some that are not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include <functional>
#include <limits>
#include <string>

#include "engine/hdf5/hdf5.h"

namespace locus::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kFormsMost = 1 << 20;

struct Form {
  std::string name;
  hid_t stored = -1;
  std::vector<hsize_t> shape;
  std::function<void(hid_t layout)> lay = [](hid_t) {};
  bool newest = false;  // the newest form of the library instead of the earliest
  std::function<void(hid_t file, hid_t array)> more = [](hid_t, hid_t) {};
};

std::vector<double> numbers_of(const Form& form) {
  std::size_t count = 1;
  for (const hsize_t extent : form.shape) count *= extent;
  std::vector<double> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(static_cast<double>(i % 101));
  return out;
}

// The file with "dataset" in it; `write`: with numbers, rather than with none written.
std::vector<std::byte> file_of(const Form& form, bool write = true) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS), layout = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_fapl_core(access, 1 << 16, false);
  if (form.newest) H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  const hid_t file = H5Fcreate("in memory", H5F_ACC_TRUNC, H5P_DEFAULT, access);
  const hid_t space = H5Screate_simple(static_cast<int>(form.shape.size()), form.shape.data(), nullptr);
  form.lay(layout);
  const hid_t array = H5Dcreate2(file, "dataset", form.stored, space, H5P_DEFAULT, layout, H5P_DEFAULT);
  EXPECT_GE(array, 0);
  const std::vector<double> numbers = numbers_of(form);
  if (write) {
    EXPECT_GE(H5Dwrite(array, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data()), 0);
  }
  form.more(file, array);
  H5Fflush(file, H5F_SCOPE_GLOBAL);
  std::vector<std::byte> out(static_cast<std::size_t>(H5Fget_file_image(file, nullptr, 0)));
  H5Fget_file_image(file, out.data(), out.size());
  H5Dclose(array);
  H5Sclose(space);
  H5Pclose(layout);
  H5Fclose(file);
  H5Pclose(access);
  return out;
}

std::function<void(hid_t)> chunks(std::vector<hsize_t> extents, bool shuffled = false, bool packed = false) {
  return [=](hid_t layout) {
    H5Pset_chunk(layout, static_cast<int>(extents.size()), extents.data());
    if (shuffled) H5Pset_shuffle(layout);
    if (packed) H5Pset_deflate(layout, 4);
  };
}

std::vector<Form> forms() {
  std::vector<Form> out;
  const std::pair<const char*, hid_t> types[] = {
      {"f32", H5T_IEEE_F32LE}, {"f64", H5T_IEEE_F64LE}, {"f32 turned", H5T_IEEE_F32BE}, {"f64 turned", H5T_IEEE_F64BE},
      {"i8", H5T_STD_I8LE},    {"u8", H5T_STD_U8LE},    {"i16", H5T_STD_I16LE},         {"u16 turned", H5T_STD_U16BE},
      {"u32", H5T_STD_U32LE},  {"i64", H5T_STD_I64LE},  {"u64 turned", H5T_STD_U64BE}};
  for (const auto& [name, type] : types) {
    out.push_back({name, type, {7, 13}});
    out.push_back({name + std::string(" packed"), type, {7, 13}, chunks({3, 5}, true, true)});
  }
  out.push_back({"compact", H5T_IEEE_F32LE, {4, 5}, [](hid_t layout) { H5Pset_layout(layout, H5D_COMPACT); }});
  out.push_back({"one axis", H5T_IEEE_F32LE, {999}, chunks({10})});
  out.push_back({"three axes", H5T_IEEE_F32LE, {9, 8, 3}, chunks({4, 5, 2}, false, true)});
  out.push_back({"one chunk", H5T_IEEE_F32LE, {9, 8}, chunks({9, 8}, true, false)});
  out.push_back({"an index of several levels", H5T_IEEE_F32LE, {120, 130}, chunks({1, 3})});
  Form crowded{"a header in two parts beside many arrays", H5T_IEEE_F32LE, {4, 5}};
  crowded.more = [](hid_t file, hid_t array) {
    const hid_t none = H5Screate(H5S_SCALAR);
    for (int i = 0; i < 300; ++i)
      H5Dclose(H5Dcreate2(file, ("array-" + std::to_string(i)).c_str(), H5T_STD_I8LE, none, H5P_DEFAULT, H5P_DEFAULT,
                          H5P_DEFAULT));
    for (int i = 0; i < 6; ++i)
      H5Aclose(H5Acreate2(array, ("note-" + std::to_string(i)).c_str(), H5T_STD_I64LE, none, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(none);
  };
  out.push_back(crowded);
  return out;
}

TEST(Hdf5Forms, OfTheLibraryAreReadAsItWroteThem) {
  for (const Form& form : forms()) {
    SCOPED_TRACE(form.name);
    const std::vector<std::byte> file = file_of(form);
    const std::vector<double> numbers = numbers_of(form);
    const Hdf5Floats floats = read_hdf5_floats(file, "dataset", form.shape.size(), kFormsMost);
    EXPECT_EQ(floats.shape, std::vector<std::int64_t>(form.shape.begin(), form.shape.end()));
    EXPECT_EQ(floats.numbers, std::vector<float>(numbers.begin(), numbers.end()));
    EXPECT_EQ(read_hdf5_integers(file, "dataset", form.shape.size(), kFormsMost).numbers,
              std::vector<std::int32_t>(numbers.begin(), numbers.end()));
  }
}

TEST(Hdf5Forms, HaveTheirFillValueWhereNothingWasWritten) {
  const auto fill = [](hid_t layout) {
    const double value = 2.5;
    H5Pset_fill_value(layout, H5T_NATIVE_DOUBLE, &value);
  };
  EXPECT_THAT(read_hdf5_floats(file_of({"", H5T_IEEE_F32LE, {3}, fill}, false), "dataset", 1, kFormsMost).numbers,
              ElementsAre(2.5f, 2.5f, 2.5f));
  const auto chunked = [&](hid_t layout) {
    chunks({2})(layout);
    fill(layout);
  };
  EXPECT_THAT(read_hdf5_floats(file_of({"", H5T_IEEE_F64BE, {3}, chunked}, false), "dataset", 1, kFormsMost).numbers,
              ElementsAre(2.5f, 2.5f, 2.5f));
  EXPECT_THAT(read_hdf5_floats(file_of({"", H5T_STD_I16LE, {3}, chunks({2})}, false), "dataset", 1, kFormsMost).numbers,
              ElementsAre(0, 0, 0));
}

TEST(Hdf5Forms, CutNumbersOffAtThirtyTwoBits) {
  Form form{"", H5T_IEEE_F64LE, {4}};
  form.more = [](hid_t, hid_t array) {
    const double numbers[] = {-3e9, 3e9, -1.9, std::numeric_limits<double>::quiet_NaN()};
    H5Dwrite(array, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers);
  };
  EXPECT_THAT(read_hdf5_integers(file_of(form), "dataset", 1, kFormsMost).numbers,
              ElementsAre(std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max(), -1, 0));
}

std::string refusal_of(const Form& form) {
  try {
    read_hdf5_floats(file_of(form, false), "dataset", form.shape.size(), kFormsMost);
  } catch (const Hdf5Error& error) {
    return error.what();
  }
  return "";
}

TEST(Hdf5Forms, ThatAreNotReadAreNamedWithWhatToDo) {
  const auto checked = [](hid_t layout) {
    chunks({2})(layout);
    H5Pset_fletcher32(layout);
  };
  const auto outside = [](hid_t layout) { H5Pset_external(layout, "elsewhere", 0, H5F_UNLIMITED); };
  EXPECT_THAT(refusal_of({"", H5T_IEEE_F32LE, {3}, [](hid_t) {}, true}), HasSubstr("superblock of version"));
  EXPECT_THAT(refusal_of({"", H5T_IEEE_F32LE, {3}, [](hid_t) {}, true}), HasSubstr("libver='earliest'"));
  EXPECT_THAT(refusal_of({"", H5T_IEEE_F32LE, {3}, checked}), HasSubstr("the filter 3"));
  EXPECT_THAT(refusal_of({"", H5T_IEEE_F32LE, {3}, outside}), HasSubstr("in other files"));
  EXPECT_THAT(refusal_of({"", H5T_C_S1, {3}}), HasSubstr("no numbers in its array 'dataset'"));
}

}  // namespace
}  // namespace locus::engine
