// Reads a plugin's note out of its file, without the loader.
#include <elf.h>

#include <cstring>

#include "engine/plugin/load.h"

namespace locus::engine {
namespace {

// A struct of the file, if all of it lies within.
template <typename Part>
std::optional<Part> part_at(std::string_view bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(Part)) return std::nullopt;
  Part out;
  std::memcpy(&out, bytes.data() + offset, sizeof(Part));
  return out;
}

// The text that begins there, up to its zero.
std::string_view text_at(std::string_view bytes, std::uint64_t begin, std::uint64_t size, std::uint64_t offset) {
  if (begin > bytes.size() || size > bytes.size() - begin || offset > size) return {};
  const std::string_view table = bytes.substr(begin, size).substr(offset);
  const std::size_t end = table.find('\0');
  return end == table.npos ? std::string_view() : table.substr(0, end);
}

bool loads_here(const Elf64_Ehdr& head) {
  const bool elf = std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0;
  return elf && head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_ident[EI_DATA] == ELFDATA2LSB && head.e_type == ET_DYN &&
         head.e_shentsize == sizeof(Elf64_Shdr);
}

}  // namespace

std::optional<LocusPluginNote> plugin_note(std::string_view bytes) {
  const auto head = part_at<Elf64_Ehdr>(bytes, 0);
  if (!head || !loads_here(*head)) return std::nullopt;
  // Linkers write the table of sections last: a file without all of it was cut off, whatever it still holds.
  const std::uint64_t table = head->e_shnum * sizeof(Elf64_Shdr);
  if (head->e_shoff > bytes.size() || bytes.size() - head->e_shoff < table) return std::nullopt;
  const auto section = [&](std::uint64_t index) {
    return part_at<Elf64_Shdr>(bytes, head->e_shoff + index * sizeof(Elf64_Shdr));
  };
  const auto names = section(head->e_shstrndx);
  if (!names) return std::nullopt;
  for (std::uint64_t i = 0; i < head->e_shnum; ++i) {
    const auto one = section(i);
    if (!one) return std::nullopt;
    if (text_at(bytes, names->sh_offset, names->sh_size, one->sh_name) != LOCUS_PLUGIN_SECTION) continue;
    if (one->sh_type != SHT_PROGBITS || one->sh_size < sizeof(LocusPluginNote)) return std::nullopt;
    auto note = part_at<LocusPluginNote>(bytes, one->sh_offset);
    if (!note) return std::nullopt;
    // Whoever wrote the file: every text ends within its room.
    for (char* last : {&note->magic[sizeof(note->magic) - 1], &note->name[sizeof(note->name) - 1],
                       &note->version[sizeof(note->version) - 1], &note->interface[sizeof(note->interface) - 1],
                       &note->torch[sizeof(note->torch) - 1], &note->toolchain[sizeof(note->toolchain) - 1]})
      *last = '\0';
    return std::string_view(note->magic) == LOCUS_PLUGIN_MAGIC ? note : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace locus::engine
