// The archive is read twice: its pickle first, then the storages that the pickle names.
#include "engine/files/torch_archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <fstream>
#include <set>

#include "engine/base/failure.h"
#include "engine/files/pickle.h"

namespace locus::engine {
namespace {

namespace fs = std::filesystem;

constexpr int kPickleDepth = 32;             // of dictionaries within dictionaries
constexpr std::size_t kNames = 200'000;      // of tensors
constexpr std::int64_t kSharing = 16;        // times the file's size that tensors may have together
constexpr std::int64_t kPickle = 16 << 20;   // bytes, pickle.h
constexpr std::string_view kZip = "PK\3\4";  // how zip archives begin

// How to make a file that can be read, for whoever trusts this one.
std::string conversion(const fs::path& path) {
  fs::path out = path;
  out.replace_extension(".safetensors");
  return "; where you trust the file, convert it once: python3 -c \"import torch, safetensors.torch; f = torch.load('" +
         path.string() +
         "', map_location='cpu', weights_only=True); f = f.get('model', f.get('teacher', f.get('state_dict', f))); "
         "safetensors.torch.save_file({k: v.clone().contiguous() for k, v in f.items() if torch.is_tensor(v)}, '" +
         out.string() + "')\"";
}

[[noreturn]] void refuse_archive(const fs::path& path, const std::string& what) {
  throw DataError(path.string() + " cannot be read as a file of torch.save: " + what);
}

class Archive {
 public:
  explicit Archive(const fs::path& path) : path_(path), archive_(archive_read_new(), &archive_read_free) {
    if (!archive_) throw std::bad_alloc();
    archive_read_support_format_zip_seekable(archive_.get());
    if (archive_read_open_filename(archive_.get(), path.c_str(), 1 << 20) != ARCHIVE_OK) fail();
  }

  // The name of the next entry, empty after the last.
  std::string next() {
    const int status = archive_read_next_header(archive_.get(), &entry_);
    if (status == ARCHIVE_EOF) return "";
    if (status != ARCHIVE_OK) fail();
    const char* name = archive_entry_pathname(entry_);
    if (name == nullptr || *name == '\0') refuse_archive(path_, "an entry has no name");
    return name;
  }

  // Bytes of the entry; torch stores them as they are, so none is larger than the file.
  std::int64_t size() {
    const std::int64_t size = archive_entry_size_is_set(entry_) ? archive_entry_size(entry_) : -1;
    if (size < 0 || size > static_cast<std::int64_t>(fs::file_size(path_)))
      refuse_archive(path_, "an entry says that it is larger than the file");
    return size;
  }

  void read(void* target, std::int64_t size) {
    char* out = static_cast<char*>(target);
    while (size > 0) {
      const la_ssize_t got = archive_read_data(archive_.get(), out, static_cast<std::size_t>(size));
      if (got < 0) fail();
      if (got == 0) refuse_archive(path_, "an entry ends early");
      out += got;
      size -= got;
    }
  }
  std::string text(std::int64_t most) {
    if (size() > most) refuse_archive(path_, "an entry of text has " + std::to_string(size()) + " bytes");
    std::string out(static_cast<std::size_t>(size()), '\0');
    read(out.data(), size());
    return out;
  }

 private:
  [[noreturn]] void fail() {
    const char* why = archive_error_string(archive_.get());
    refuse_archive(path_, why == nullptr ? "it is no sound zip archive" : why);
  }

  const fs::path& path_;
  std::unique_ptr<archive, decltype(&archive_read_free)> archive_;
  archive_entry* entry_ = nullptr;
};

// Of an archive its folder ("archive/") and the pickle.
std::pair<std::string, Pickle> find_pickle(const fs::path& path) {
  std::string folder;
  std::optional<Pickle> pickle;
  Archive archive(path);
  for (std::string name; !(name = archive.next()).empty();) {
    const std::size_t slash = name.find('/');
    const std::string rest = slash == std::string::npos ? name : name.substr(slash + 1);
    if (rest == "byteorder" && archive.text(16) != "little") refuse_archive(path, "its numbers are not little endian");
    if (rest == "constants.pkl")
      refuse_archive(path, "it is a TorchScript program, not a file of tensors" + conversion(path));
    if (rest != "data.pkl") continue;
    if (pickle) refuse_archive(path, "it has two pickles");
    folder = name.substr(0, slash == std::string::npos ? 0 : slash + 1);
    const std::string text = archive.text(kPickle);
    try {
      pickle = read_pickle(text);
    } catch (const DataError& error) {
      refuse_archive(path, error.what() + conversion(path));
    }
  }
  if (!pickle) refuse_archive(path, "it is a zip archive without data.pkl");
  return {std::move(folder), std::move(*pickle)};
}

using Names = std::vector<std::pair<std::string, const PickleValue*>>;

// Values with many paths to them, or a path to themselves, end at the limits.
void name_tensors(const fs::path& path, const PickleValue& value, const std::string& name, int depth,
                  std::size_t& steps, Names& out) {
  using ValueKind = PickleValue::Kind;
  if (++steps > kNames) refuse_archive(path, "it holds more than " + std::to_string(kNames) + " values");
  if (value.kind == ValueKind::kTensor) {
    out.emplace_back(name, &value);
    return;
  }
  const bool dictionary = value.kind == ValueKind::kDictionary;
  if (!dictionary && value.kind != ValueKind::kList && value.kind != ValueKind::kTuple) return;
  if (depth == 0) refuse_archive(path, "it nests deeper than " + std::to_string(kPickleDepth) + " levels");
  const std::string start = name.empty() ? "" : name + ".";
  for (std::size_t i = 0; i < value.items.size(); i += dictionary ? 2 : 1) {
    std::string key = std::to_string(i);
    if (dictionary) {
      const PickleValue& given = *value.items[i];
      if (given.kind != ValueKind::kText && given.kind != ValueKind::kInteger) continue;  // no name for a tensor
      key = given.kind == ValueKind::kText ? given.text : std::to_string(given.integer);
    }
    if (start.size() + key.size() > 1000) refuse_archive(path, "a tensor's name has more than 1000 characters");
    name_tensors(path, *value.items[dictionary ? i + 1 : i], start + key, depth - 1, steps, out);
  }
}

// Reads every storage that tensors of `named` lie in.
std::map<std::string, Tensor> read_storages(const fs::path& path, const std::string& folder, const Names& named) {
  std::map<std::string, const PickleValue*> wanted;
  for (const auto& [name, tensor] : named) {
    const auto [found, fresh] = wanted.try_emplace(tensor->storage->text, tensor->storage);
    if (!fresh && (found->second->type != tensor->storage->type || found->second->integer != tensor->storage->integer))
      refuse_archive(path, "its storage " + found->first + " is of two kinds");
  }
  std::map<std::string, Tensor> out;
  Archive archive(path);
  auto left = static_cast<std::int64_t>(fs::file_size(path));  // torch does not compress
  const std::string start = folder + "data/";
  for (std::string name; !(name = archive.next()).empty();) {
    if (!name.starts_with(start)) continue;
    const auto found = wanted.find(name.substr(start.size()));
    if (found == wanted.end()) continue;
    const PickleValue& storage = *found->second;
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(storage.integer, static_cast<std::int64_t>(at::elementSize(storage.type)), &bytes) ||
        bytes != archive.size())
      refuse_archive(path, "its storage " + found->first + " has " + std::to_string(archive.size()) + " bytes where " +
                               std::to_string(storage.integer) + " elements are said to be");
    if ((left -= bytes) < 0) refuse_archive(path, "its storages are together larger than the file");
    Tensor data = at::empty({storage.integer}, storage.type);
    archive.read(data.mutable_data_ptr(), bytes);
    if (storage.type == at::kBool && data.view(at::kByte).gt(1).any().item<bool>())
      refuse_archive(path, "its storage " + found->first + " holds bytes that are no booleans");
    if (!out.emplace(found->first, data).second) refuse_archive(path, "it has its storage " + found->first + " twice");
  }
  for (const auto& [name, storage] : wanted) {
    if (!out.contains(name)) refuse_archive(path, "it lacks its storage " + name);
  }
  return out;
}

}  // namespace

TensorFile read_torch_archive(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string begin(kZip.size(), '\0');
  if (!in) throw DataError(path.string() + " is missing or cannot be read");
  if (!in.read(begin.data(), static_cast<std::streamsize>(begin.size())) || begin != kZip)
    refuse_archive(path, "it is no zip archive, as PyTorch writes them since 1.6" + conversion(path));
  const auto [folder, pickle] = find_pickle(path);
  Names named;
  std::size_t steps = 0;
  name_tensors(path, *pickle.root, "", kPickleDepth, steps, named);
  const std::map<std::string, Tensor> storages = read_storages(path, folder, named);
  const auto most = static_cast<std::int64_t>(fs::file_size(path)) * kSharing;
  TensorFile out;
  std::int64_t bytes = 0;
  for (const auto& [name, value] : named) {
    const Tensor tensor = storages.at(value->storage->text).as_strided(value->sizes, value->strides, value->integer);
    bytes += tensor.numel() * static_cast<std::int64_t>(tensor.element_size());
    if (bytes > most) refuse_archive(path, "its tensors are together many times larger than the file");
    if (!out.tensors.emplace(name, tensor).second) refuse_archive(path, "it has two tensors called '" + name + "'");
  }
  return out;
}

}  // namespace locus::engine
