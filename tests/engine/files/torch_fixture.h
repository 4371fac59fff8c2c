// Files as torch.save writes them, put together by hand.
#pragma once

#include <zlib.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace locus::engine {

inline std::string little(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 255);
  return out;
}

// A zip archive of stored entries.
inline std::string zip_of(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string out, directory;
  for (const auto& [name, data] : entries) {
    const auto crc = ::crc32(0, reinterpret_cast<const Bytef*>(data.data()), static_cast<uInt>(data.size()));
    const std::string common = little(20, 2) + little(0, 2) + little(0, 2) + little(0, 4) + little(crc, 4) +
                               little(data.size(), 4) + little(data.size(), 4) + little(name.size(), 2) + little(0, 2);
    directory += "PK\1\2" + little(20, 2) + common + little(0, 2) + little(0, 2) + little(0, 2) + little(0, 4) +
                 little(out.size(), 4) + name;
    out += "PK\3\4" + common + name + data;
  }
  const std::size_t start = out.size();
  return out + directory + std::string("PK\5\6") + little(0, 4) + little(entries.size(), 2) +
         little(entries.size(), 2) + little(directory.size(), 4) + little(start, 4) + little(0, 2);
}

// Instructions of protocol 2.
namespace pickled {
inline std::string text(const std::string& value) { return "X" + little(value.size(), 4) + value; }
inline std::string integer(std::int64_t value) { return "J" + little(static_cast<std::uint64_t>(value), 4); }
inline std::string tuple(const std::vector<std::int64_t>& values) {
  std::string out = "(";
  for (const std::int64_t value : values) out += integer(value);
  return out + "t";
}
inline std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string storage(const std::string& type, const std::string& key, std::int64_t elements) {
  return "(" + text("storage") + global("torch", type) + text(key) + text("cpu") + integer(elements) + "tQ";
}
inline std::string tensor(const std::string& storage, std::int64_t offset, const std::vector<std::int64_t>& sizes,
                          const std::vector<std::int64_t>& strides) {
  return global("torch._utils", "_rebuild_tensor_v2") + "(" + storage + integer(offset) + tuple(sizes) +
         tuple(strides) + "\x89" + global("collections", "OrderedDict") + ")RtR";
}
inline std::string dictionary(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string out = "}(";
  for (const auto& [key, value] : items) out += text(key) + value;
  return out + "u";
}
inline std::string whole(const std::string& value) { return "\x80\2" + value + "."; }
}  // namespace pickled

// An archive of that pickle and storages 0, 1, ...
inline std::string torch_archive(const std::string& pickle, const std::vector<std::string>& storages) {
  std::vector<std::pair<std::string, std::string>> entries = {{"archive/data.pkl", pickle},
                                                              {"archive/byteorder", "little"}};
  for (std::size_t i = 0; i < storages.size(); ++i)
    entries.emplace_back("archive/data/" + std::to_string(i), storages[i]);
  entries.emplace_back("archive/version", "3\n");
  return zip_of(entries);
}

inline std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

}  // namespace locus::engine
