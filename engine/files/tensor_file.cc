// Which reader a file needs, and shards put together.
#include "engine/files/tensor_file.h"

#include <fstream>
#include <set>

#include "core/base/sha256.h"
#include "engine/base/failure.h"
#include "engine/files/torch_archive.h"

namespace locus::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndex = ".safetensors.index.json";
constexpr std::uintmax_t kIndexBytes = 100'000'000;

bool is_index(const fs::path& path) { return path.filename().string().ends_with(kIndex); }

// Artifacts are named by their digest, whatever they hold. The length of a safetensors header is never that large.
bool is_zip(const fs::path& path) {
  std::string begin(4, '\0');
  return std::ifstream(path, std::ios::binary).read(begin.data(), 4) && begin == "PK\3\4";
}

[[noreturn]] void refuse_index(const fs::path& path, const std::string& what) {
  throw DataError(path.string() + " is no sound list of safetensors files: " + what);
}

// Tensor -> shard.
std::map<std::string, std::string> weight_map(const fs::path& path) {
  std::ifstream in(path);
  std::error_code missing;
  const auto size = fs::file_size(path, missing);
  if (!in || missing) throw DataError(path.string() + " is missing or cannot be read");
  if (size > kIndexBytes) refuse_index(path, "it is longer than 100 MB");
  const Json document = Json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object() || !document.contains("weight_map") || !document.at("weight_map").is_object())
    refuse_index(path, "it has no \"weight_map\"");
  std::map<std::string, std::string> out;
  for (const auto& [name, shard] : document.at("weight_map").items()) {
    if (!shard.is_string()) refuse_index(path, "the shard of '" + name + "' is no name");
    const auto file = shard.get<std::string>();
    if (fs::path(file).filename() != file || !file.ends_with(".safetensors"))
      refuse_index(path, "'" + file + "' is no safetensors file beside it");
    out[name] = file;
  }
  return out;
}

std::set<std::string> shards_of(const std::map<std::string, std::string>& map) {
  std::set<std::string> out;
  for (const auto& [name, shard] : map) out.insert(shard);
  return out;
}

TensorFile read_shards(const fs::path& path) {
  const auto map = weight_map(path);
  TensorFile out;
  for (const std::string& shard : shards_of(map)) {
    TensorFile part = read_safetensors(path.parent_path() / shard);
    for (auto& [name, tensor] : part.tensors) {
      const auto said = map.find(name);
      if (said == map.end() || said->second != shard)
        refuse_index(path, shard + " holds the tensor '" + name + "', which is not listed there");
      out.tensors.emplace(name, std::move(tensor));
    }
    out.metadata.merge(part.metadata);
  }
  for (const auto& [name, shard] : map) {
    if (!out.tensors.contains(name)) refuse_index(path, shard + " lacks the tensor '" + name + "'");
  }
  return out;
}

std::string bytes_sha256(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  Sha256 hash;
  std::string bytes(1 << 20, '\0');
  while (in) {
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    hash.update(std::string_view(bytes).substr(0, static_cast<std::size_t>(in.gcount())));
  }
  if (!in.eof()) throw DataError(path.string() + " is missing or cannot be read");
  return hash.hex_digest();
}

}  // namespace

bool names_tensor_file(const fs::path& path) {
  const std::string extension = path.extension().string();
  return is_index(path) || extension == ".safetensors" || extension == ".pth" || extension == ".pt" ||
         extension == ".bin";
}

TensorFile read_tensor_file(const fs::path& path) {
  if (is_index(path)) return read_shards(path);
  const std::string extension = path.extension().string();
  const bool archive = extension == ".pth" || extension == ".pt" || extension == ".bin";
  return archive || is_zip(path) ? read_torch_archive(path) : read_safetensors(path);
}

std::string tensor_file_sha256(const fs::path& path) {
  if (!is_index(path)) return bytes_sha256(path);
  std::string lines;
  for (const std::string& shard : shards_of(weight_map(path)))
    lines += bytes_sha256(path.parent_path() / shard) + "  " + shard + "\n";
  return sha256_hex(lines);
}

}  // namespace locus::engine
