// Superblock, root group, and the messages of an array's header.
#include "engine/hdf5/structure.h"

#include <algorithm>
#include <cstring>

#include "engine/hdf5/hdf5.h"

namespace locus::engine {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::size_t kAddress = 8;  // bytes of addresses and of lengths, as every 64-bit writer has them

[[noreturn]] void damaged(const std::string& how) { throw Hdf5Error("is damaged: " + how); }

[[noreturn]] void unread(const std::string& what) {
  throw Hdf5Error("has " + what + ", which is not read here; write it anew with h5py and libver='earliest'");
}

// ---- the root group ----

// The address of the root group's header.
std::uint64_t root_of(Bytes file) {
  constexpr unsigned char kSignature[] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  if (file.size() < sizeof kSignature || std::memcmp(file.data(), kSignature, sizeof kSignature) != 0)
    throw Hdf5Error("is no HDF5 file, or a damaged one");
  Hdf5Cursor at(file.subspan(sizeof kSignature));
  const std::uint64_t version = at.number(1);
  if (version > 1) unread("a superblock of version " + std::to_string(version));
  at.take(4);  // versions of what is not used
  if (at.number(1) != kAddress || at.number(1) != kAddress) unread("addresses that have not 64 bits");
  at.take(version == 0 ? 9 : 13);  // sizes of nodes, which hold their own counts
  if (at.number(kAddress) != 0) unread("a block of the user's own before the file");
  at.take(3 * kAddress + kAddress);  // free space, the end, a driver, and the root's name
  return at.number(kAddress);
}

struct Message {
  std::uint64_t type = 0;
  bool shared = false;
  Bytes body;
};

// All messages of the object header at `address`.
std::vector<Message> messages_of(Bytes file, std::uint64_t address) {
  Hdf5Cursor header(hdf5_rest(file, address));
  if (const std::uint64_t version = header.number(1); version != 1) {
    if (version == 'O') unread("headers of the second version");
    damaged("a header is none");
  }
  header.take(1);
  const std::uint64_t count = header.number(2);
  header.take(4);
  const std::uint64_t size = header.number(4);
  header.take(4);
  std::vector<Bytes> blocks = {header.take(size)};
  std::vector<Message> out;
  for (std::size_t block = 0; block < blocks.size() && out.size() < count; ++block) {
    Hdf5Cursor at(blocks[block]);
    while (!at.empty() && out.size() < count) {
      Message message;
      message.type = at.number(2);
      const std::uint64_t bytes = at.number(2);
      message.shared = (at.number(1) & 2) != 0;
      at.take(3);
      message.body = at.take(bytes);
      constexpr std::uint64_t kContinued = 0x10;
      if (message.type == kContinued) {
        Hdf5Cursor to(message.body);
        const std::uint64_t there = to.number(kAddress);
        blocks.push_back(hdf5_part(file, there, to.number(kAddress)));
      }
      out.push_back(message);
    }
  }
  return out;
}

const Message* message_of(const std::vector<Message>& messages, std::uint64_t type) {
  const auto found = std::find_if(messages.begin(), messages.end(), [&](const Message& m) { return m.type == type; });
  if (found == messages.end()) return nullptr;
  if (found->shared) unread("a header that says elsewhere what its array is");
  return &*found;
}

std::string name_in_heap(Bytes names, std::uint64_t offset) {
  const Bytes rest = hdf5_rest(names, offset);
  const auto end = std::find(rest.begin(), rest.end(), std::byte{0});
  if (end == rest.end()) damaged("a name does not end");
  return std::string(reinterpret_cast<const char*>(rest.data()), static_cast<std::size_t>(end - rest.begin()));
}

// The header of `name` among the symbols of one node.
std::optional<std::uint64_t> symbol_in(Bytes file, std::uint64_t node, Bytes names, const std::string& name) {
  Hdf5Cursor at(hdf5_rest(file, node));
  at.expect("SNOD");
  at.take(2);
  for (std::uint64_t left = at.number(2); left > 0; --left) {
    const std::uint64_t offset = at.number(kAddress), header = at.number(kAddress), kind = at.number(4);
    at.take(4 + 16);
    constexpr std::uint64_t kLink = 2;  // to a name elsewhere
    if (kind != kLink && name_in_heap(names, offset) == name) return header;
  }
  return std::nullopt;
}

// The header of the array `name` in the root group. Groups are trees of nodes of symbols; each node is looked at once at most.
std::uint64_t header_of(Bytes file, const std::string& name) {
  constexpr std::uint64_t kSymbols = 0x11;
  const std::vector<Message> messages = messages_of(file, root_of(file));
  const Message* symbols = message_of(messages, kSymbols);
  if (symbols == nullptr) unread("a root group without a table of symbols");
  Hdf5Cursor table(symbols->body);
  std::vector<std::uint64_t> nodes = {table.number(kAddress)};
  Hdf5Cursor heap(hdf5_rest(file, table.number(kAddress)));
  heap.expect("HEAP");
  heap.take(4);
  const std::uint64_t size = heap.number(kAddress);
  heap.take(kAddress);
  const Bytes names = hdf5_part(file, heap.number(kAddress), size);
  const std::size_t most = file.size() / 24;  // as many nodes as have room
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Hdf5Cursor at(hdf5_rest(file, nodes[i]));
    at.expect("TREE");
    if (at.number(1) != 0) damaged("the index of the group is another's");
    const bool leaf = at.number(1) == 0;
    std::uint64_t left = at.number(2);
    at.take(2 * kAddress);
    for (; left > 0; --left) {
      at.take(kAddress);  // the first name
      const std::uint64_t child = at.number(kAddress);
      if (!leaf) nodes.push_back(child);
      if (nodes.size() > most) damaged("the index of the group goes in circles");
      if (!leaf) continue;
      if (const auto found = symbol_in(file, child, names, name)) return *found;
    }
  }
  throw Hdf5Error("has no array '" + name + "'");
}

// ---- an array's header ----

std::vector<std::int64_t> shape_in(Bytes body) {
  Hdf5Cursor at(body);
  const std::uint64_t version = at.number(1), rank = at.number(1);
  if (version < 1 || version > 2) unread("a space of version " + std::to_string(version));
  at.take(version == 1 ? 6 : 2);
  std::vector<std::int64_t> out;
  for (std::uint64_t axis = 0; axis < rank; ++axis) {
    const std::uint64_t extent = at.number(8);
    if (extent > (std::uint64_t{1} << 62)) damaged("an extent is beyond all numbers");
    out.push_back(static_cast<std::int64_t>(extent));
  }
  return out;
}

bool is_ieee(Hdf5Cursor fields, std::uint64_t sign, std::size_t bytes) {
  const std::uint64_t offset = fields.number(2), precision = fields.number(2), exponent = fields.number(1),
                      exponent_bits = fields.number(1), mantissa = fields.number(1), mantissa_bits = fields.number(1),
                      bias = fields.number(4), bits = 8 * bytes;
  const std::uint64_t wanted = bytes == 2 ? 5 : bytes == 4 ? 8 : 11;
  return offset == 0 && precision == bits && sign == bits - 1 && exponent_bits == wanted && mantissa == 0 &&
         mantissa_bits == bits - 1 - wanted && exponent == mantissa_bits && bias == (1u << (wanted - 1)) - 1;
}

Hdf5Type type_in(const Message& message, const std::string& name) {
  Hdf5Cursor at(message.body);
  const std::uint64_t kind = at.number(1) & 15, bits = at.number(1), sign = at.number(1);
  at.take(1);
  Hdf5Type out;
  const std::uint64_t bytes = at.number(4);
  if (kind > 1) throw Hdf5Error("has no numbers in its array '" + name + "'");
  const bool whole = kind == 0;
  const bool known = bytes == 2 || bytes == 4 || bytes == 8 || (whole && bytes == 1);
  if (!known) unread("numbers of " + std::to_string(bytes) + " bytes");
  out.bytes = static_cast<std::size_t>(bytes);
  out.big_endian = (bits & 1) != 0;
  if (!whole) {
    if ((bits & 64) != 0 || !is_ieee(at, sign, out.bytes)) unread("floats that are not those of IEEE 754");
    return out;
  }
  if (at.number(2) != 0 || at.number(2) != 8 * bytes) unread("whole numbers with unused bits");
  out.kind = (bits & 8) != 0 ? Hdf5Type::kSigned : Hdf5Type::kUnsigned;
  return out;
}

std::vector<Hdf5Filter> filters_in(Bytes body) {
  Hdf5Cursor at(body);
  const std::uint64_t version = at.number(1), count = at.number(1);
  if (version < 1 || version > 2) unread("filters of version " + std::to_string(version));
  if (version == 1) at.take(6);
  std::vector<Hdf5Filter> out;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t id = at.number(2);
    const std::uint64_t name = version == 1 || id >= 256 ? at.number(2) : 0;
    at.take(2);
    const std::uint64_t values = at.number(2);
    at.take(version == 1 ? (name + 7) / 8 * 8 : name);
    at.take(4 * values + (version == 1 && values % 2 == 1 ? 4 : 0));
    if (id != 1 && id != 2) unread("the filter " + std::to_string(id));
    const Hdf5Filter filter = id == 1 ? Hdf5Filter::kDeflate : Hdf5Filter::kShuffle;
    if (std::find(out.begin(), out.end(), filter) != out.end()) unread("the same filter twice");
    out.push_back(filter);
  }
  return out;
}

// What stands where nothing was written; empty: zero.
std::vector<std::byte> fill_in(Bytes body, std::size_t bytes) {
  Hdf5Cursor at(body);
  const std::uint64_t version = at.number(1);
  if (version == 3) {
    if ((at.number(1) & 32) == 0) return {};
  } else {
    at.take(2);
    if (at.number(1) == 0 && version == 2) return {};
  }
  const std::uint64_t size = at.number(4);
  if (size != bytes) return {};
  const Bytes value = at.take(size);
  return {value.begin(), value.end()};
}

void place(Bytes file, Bytes body, Hdf5Location& out) {
  Hdf5Cursor at(body);
  if (const std::uint64_t version = at.number(1); version != 3)
    unread("a layout of version " + std::to_string(version));
  switch (at.number(1)) {
    case 0:
      out.values = at.take(at.number(2));
      return;
    case 1: {
      const std::uint64_t address = at.number(kAddress), size = at.number(kAddress);
      if (address != kHdf5Nowhere) out.values = hdf5_part(file, address, size);
      return;
    }
    case 2: {
      if (at.number(1) != out.shape.size() + 1) damaged("its chunks have other axes than the array");
      out.index = at.number(kAddress);
      for (std::size_t axis = 0; axis < out.shape.size(); ++axis)
        out.chunk.push_back(static_cast<std::int64_t>(at.number(4)));
      if (at.number(4) != out.type.bytes) damaged("its chunks have other numbers than the array");
      return;
    }
    default:
      unread("a layout in several files");
  }
}

}  // namespace

std::uint64_t Hdf5Cursor::number(std::size_t bytes) {
  std::uint64_t out = 0;
  const auto taken = take(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out |= std::to_integer<std::uint64_t>(taken[i]) << (8 * i);
  return out;
}

std::span<const std::byte> Hdf5Cursor::take(std::uint64_t bytes) {
  const auto out = hdf5_part(rest_, 0, bytes);
  rest_ = rest_.subspan(out.size());
  return out;
}

void Hdf5Cursor::expect(const char* signature) {
  const auto taken = take(std::strlen(signature));
  if (std::memcmp(taken.data(), signature, taken.size()) != 0)
    damaged("there is no " + std::string(signature) + " where one should be");
}

std::span<const std::byte> hdf5_part(std::span<const std::byte> file, std::uint64_t at, std::uint64_t size) {
  if (at > file.size() || size > file.size() - at) damaged("it ends before what it refers to");
  return file.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(size));
}

std::span<const std::byte> hdf5_rest(std::span<const std::byte> file, std::uint64_t at) {
  return hdf5_part(file, at, at > file.size() ? 0 : file.size() - at);
}

Hdf5Location find_hdf5_array(std::span<const std::byte> file, const std::string& name) {
  constexpr std::uint64_t kSpace = 0x01, kType = 0x03, kFill = 0x05, kElsewhere = 0x07, kLayout = 0x08, kFilters = 0x0b;
  const std::vector<Message> messages = messages_of(file, header_of(file, name));
  if (message_of(messages, kElsewhere) != nullptr) unread("an array in other files");
  const Message *space = message_of(messages, kSpace), *type = message_of(messages, kType),
                *layout = message_of(messages, kLayout);
  if (space == nullptr || type == nullptr || layout == nullptr) throw Hdf5Error("has no array '" + name + "'");
  Hdf5Location out;
  out.type = type_in(*type, name);
  out.shape = shape_in(space->body);
  if (const Message* filters = message_of(messages, kFilters)) out.filters = filters_in(filters->body);
  if (const Message* fill = message_of(messages, kFill)) out.fill = fill_in(fill->body, out.type.bytes);
  place(file, layout->body, out);
  return out;
}

}  // namespace locus::engine
