// Archives of samples.
#include "engine/data/stored/tar_index.h"

#include "engine/base/failure.h"
#include "tests/fuzz/fuzz.h"

namespace locus::fuzz {
namespace {

constexpr std::size_t kBlock = 512, kSumAt = 148, kSumLength = 8;

// Every block a header whose sum is right: which of them are taken for headers, their sizes say.
std::string with_sums(std::string bytes) {
  for (std::size_t at = 0; at + kBlock <= bytes.size(); at += kBlock) {
    if (bytes.substr(at + 257, 5) != "ustar") continue;
    bytes.replace(at + kSumAt, kSumLength, kSumLength, ' ');
    unsigned sum = 0;
    for (std::size_t i = 0; i < kBlock; ++i) sum += static_cast<unsigned char>(bytes[at + i]);
    for (std::size_t digit = 6; digit-- > 0; sum /= 8) bytes[at + kSumAt + digit] = static_cast<char>('0' + sum % 8);
    bytes[at + kSumAt + 6] = '\0';
  }
  return bytes;
}

void index(const std::string& bytes) {
  const MemoryFile file(bytes);
  try {
    const engine::ReadFile open(file.path());
    for (const engine::TarMember& member : engine::index_tar(open, file.path())) {
      require(member.offset >= 0 && member.bytes >= 0 && member.offset + member.bytes <= open.size(),
              "a member lies within its archive");
    }
  } catch (const engine::DataError&) {
  }
}

}  // namespace

void tar(std::string_view bytes) {
  index(std::string(bytes));
  index(with_sums(std::string(bytes)));
}

}  // namespace locus::fuzz
