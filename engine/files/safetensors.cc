// A file is: 8 bytes of header length (little endian), the header as JSON, the tensors' bytes.
#include "engine/files/safetensors.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>

#include "engine/base/failure.h"

namespace locus::engine {
namespace {

namespace fs = std::filesystem;
static_assert(std::endian::native == std::endian::little,
              "safetensors are little endian; big-endian machines need swaps");

constexpr std::uint64_t kHeaderBytes = 100'000'000;
constexpr std::size_t kNameShown = 80;
constexpr int kHeaderDepth = 8;  // the format nests three deep

struct Type {
  std::string_view name;
  at::ScalarType type;
};
constexpr std::array<Type, 10> kTypes{{{"F64", at::kDouble},
                                       {"F32", at::kFloat},
                                       {"F16", at::kHalf},
                                       {"BF16", at::kBFloat16},
                                       {"I64", at::kLong},
                                       {"I32", at::kInt},
                                       {"I16", at::kShort},
                                       {"I8", at::kChar},
                                       {"U8", at::kByte},
                                       {"BOOL", at::kBool}}};

std::string_view type_name(at::ScalarType type) {
  for (const Type& known : kTypes) {
    if (known.type == type) return known.name;
  }
  throw std::invalid_argument(std::string("safetensors cannot hold ") + at::toString(type));
}

// A file that appears under its name only when it is complete.
class AtomicFile {
 public:
  explicit AtomicFile(const fs::path& path) : path_(path), temporary_(path.string() + ".partial") {
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor_ < 0) fail("cannot be created");
  }
  ~AtomicFile() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
      ::unlink(temporary_.c_str());
    }
  }
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t size) {
    const char* bytes = static_cast<const char*>(data);
    while (size > 0) {
      const ssize_t written = ::write(descriptor_, bytes, size);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("cannot be written");
      bytes += written;
      size -= static_cast<std::size_t>(written);
    }
  }

  void commit(bool durable) {
    if (durable && ::fsync(descriptor_) != 0) fail("cannot be synchronized to disk");
    const int closed = ::close(std::exchange(descriptor_, -1));
    if (closed != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot be put in place");
    if (!durable) return;
    const int folder = ::open(path_.parent_path().empty() ? "." : path_.parent_path().c_str(), O_RDONLY | O_CLOEXEC);
    if (folder >= 0) {
      ::fsync(folder);  // so that the name, too, survives a power cut
      ::close(folder);
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) {
    throw std::runtime_error(path_.string() + " " + what + ": " + std::strerror(errno));
  }
  fs::path path_;
  std::string temporary_;
  int descriptor_ = -1;
};

[[noreturn]] void refuse_file(const fs::path& path, const std::string& what) {
  throw DataError(path.string() + " is not a sound safetensors file: " + what);
}

// A name as it is shown: names come from the file, and may be anything.
std::string shown_name(const std::string& name) {
  std::string out = name.size() > kNameShown ? name.substr(0, kNameShown) + "..." : name;
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  }
  return "'" + out + "'";
}

// JSON objects with no key twice; nlohmann_json would keep the last one silently. Deep nesting ends the
// parse: every level would cost more than the byte that opens it.
Json parse_header(const fs::path& path, const std::string& text) {
  std::vector<std::set<std::string>> keys;
  std::string twice;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth > kHeaderDepth)
      refuse_file(path, "its header nests deeper than " + std::to_string(kHeaderDepth) + " levels");
    if (event == Json::parse_event_t::object_start) {
      keys.resize(static_cast<std::size_t>(depth) + 1);
      keys.back().clear();
    } else if (event == Json::parse_event_t::key) {
      keys.resize(static_cast<std::size_t>(depth));
      if (!keys.back().insert(value.get<std::string>()).second) twice = value.get<std::string>();
    }
    return true;
  };
  // nlohmann_json takes a null byte for the end: whatever came after it would be hidden.
  if (text.find('\0') != std::string::npos) refuse_file(path, "its header is not JSON");
  try {
    Json header = Json::parse(text, watch);
    if (!twice.empty()) refuse_file(path, shown_name(twice) + " appears twice in its header");
    if (!header.is_object()) refuse_file(path, "its header is not an object");
    return header;
  } catch (const Json::exception&) {
    refuse_file(path, "its header is not JSON");
  }
}

struct Entry {
  std::string name;
  at::ScalarType type;
  std::vector<std::int64_t> shape;
  std::uint64_t begin, end;
};

std::uint64_t natural(const fs::path& path, const Json& value, const std::string& name) {
  if (!value.is_number_unsigned())
    refuse_file(path, "tensor " + shown_name(name) + " has an extent or offset that is no natural number");
  return value.get<std::uint64_t>();
}

Entry parse_entry(const fs::path& path, const std::string& name, const Json& value) {
  if (!value.is_object() || !value.contains("dtype") || !value["dtype"].is_string() || !value.contains("shape") ||
      !value["shape"].is_array() || !value.contains("data_offsets") || !value["data_offsets"].is_array() ||
      value["data_offsets"].size() != 2) {
    refuse_file(path, "tensor " + shown_name(name) + " lacks dtype, shape or data_offsets");
  }
  const auto type_text = value["dtype"].get<std::string>();
  const auto* known = std::find_if(kTypes.begin(), kTypes.end(), [&](const Type& t) { return t.name == type_text; });
  if (known == kTypes.end())
    refuse_file(path, "tensor " + shown_name(name) + " has the unknown type " + shown_name(type_text));
  Entry entry{name,
              known->type,
              {},
              natural(path, value["data_offsets"][0], name),
              natural(path, value["data_offsets"][1], name)};
  if (value["shape"].size() > 16) refuse_file(path, "tensor " + shown_name(name) + " has more than 16 dimensions");
  std::uint64_t bytes = at::elementSize(entry.type);
  std::int64_t strides = 1;  // what tensors of extent 0 still need to be addressable
  for (const Json& extent : value["shape"]) {
    const std::uint64_t n = natural(path, extent, name);
    if (__builtin_mul_overflow(bytes, n, &bytes) ||
        __builtin_mul_overflow(strides, std::max<std::uint64_t>(n, 1), &strides)) {
      refuse_file(path, "tensor " + shown_name(name) + " has extents too large");
    }
    entry.shape.push_back(static_cast<std::int64_t>(n));
  }
  if (entry.end < entry.begin || entry.end - entry.begin != bytes) {
    refuse_file(path, "tensor " + shown_name(name) + " is given other bytes than its shape needs");
  }
  return entry;
}

std::map<std::string, std::string> parse_metadata(const fs::path& path, const Json& value) {
  std::map<std::string, std::string> out;
  if (!value.is_object()) refuse_file(path, "its __metadata__ is not an object");
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) refuse_file(path, "its __metadata__ holds " + shown_name(key) + ", which is not a string");
    out[key] = text.get<std::string>();
  }
  return out;
}

// Entries by offset, checked to tile 0..size exactly.
void check_tiling(const fs::path& path, std::vector<Entry>& entries, std::uint64_t size) {
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
  std::uint64_t end = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != end)
      refuse_file(path, "tensor " + shown_name(entry.name) + " leaves a hole or overlaps another");
    end = entry.end;
  }
  if (end != size) {
    refuse_file(
        path, "it holds " + std::to_string(size) + " bytes of data where its header describes " + std::to_string(end));
  }
}

}  // namespace

void write_safetensors(const fs::path& path, const TensorFile& file, bool durable) {
  Json header = Json::object();
  if (!file.metadata.empty()) header["__metadata__"] = file.metadata;
  // Widest elements first, so every tensor starts at a multiple of its element size.
  std::vector<std::pair<std::string, Tensor>> ordered;
  for (const auto& [name, tensor] : file.tensors) ordered.emplace_back(name, tensor.detach().cpu().contiguous());
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.second.element_size() > b.second.element_size(); });
  std::uint64_t offset = 0;
  for (const auto& [name, tensor] : ordered) {
    const std::uint64_t end = offset + tensor.nbytes();
    header[name] = {
        {"dtype", type_name(tensor.scalar_type())}, {"shape", tensor.sizes().vec()}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const std::uint64_t length = text.size();
  AtomicFile out(path);
  out.write(&length, sizeof length);
  out.write(text.data(), text.size());
  for (const auto& [name, tensor] : ordered) out.write(tensor.const_data_ptr(), tensor.nbytes());
  out.commit(durable);
}

TensorFile read_safetensors(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::error_code missing;
  const std::uint64_t size = fs::file_size(path, missing);
  if (!in || missing) throw DataError(path.string() + " is missing or cannot be read");
  std::uint64_t length = 0;
  if (size < sizeof length || !in.read(reinterpret_cast<char*>(&length), sizeof length))
    refuse_file(path, "it is too short");
  if (length > kHeaderBytes || length > size - sizeof length)
    refuse_file(path, "its header is longer than the file or 100 MB");
  std::string text(length, '\0');
  if (!in.read(text.data(), static_cast<std::streamsize>(length)))
    refuse_file(path, "it cannot be read to the end of its header");
  TensorFile out;
  std::vector<Entry> entries;
  const Json header = parse_header(path, text);
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") {
      out.metadata = parse_metadata(path, value);
    } else {
      entries.push_back(parse_entry(path, name, value));
    }
  }
  check_tiling(path, entries, size - sizeof length - length);
  for (const Entry& entry : entries) {
    Tensor tensor = at::empty(entry.shape, entry.type);
    if (!in.read(static_cast<char*>(tensor.mutable_data_ptr()),
                 static_cast<std::streamsize>(entry.end - entry.begin))) {
      refuse_file(path, "it cannot be read to its end");
    }
    if (entry.type == at::kBool && tensor.view(at::kByte).gt(1).any().item<bool>()) {
      refuse_file(path, "tensor " + shown_name(entry.name) + " holds bytes that are no booleans");
    }
    out.tensors.emplace(entry.name, std::move(tensor));
  }
  return out;
}

void take_tensor(std::map<std::string, Tensor>& tensors, const std::string& name, Tensor target) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) throw DataError("the checkpoint lacks the tensor '" + name + "'");
  const Tensor& value = found->second;
  if (value.sizes() != target.sizes() || value.scalar_type() != target.scalar_type()) {
    throw DataError("the checkpoint's tensor '" + name + "' is " + value.toString() + c10::str(value.sizes()) +
                    " where the model needs " + target.toString() + c10::str(target.sizes()));
  }
  at::NoGradGuard no_gradient;
  target.copy_(value);
  tensors.erase(found);
}

}  // namespace locus::engine
