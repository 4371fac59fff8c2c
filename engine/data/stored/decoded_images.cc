// A file comes into being whole, under its name by one link; what is in it becomes so by the state of each image.
#include "engine/data/stored/decoded_images.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "core/base/fd.h"
#include "core/base/sha256.h"

namespace locus::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPage = 4096;  // the header's size, and what the states are filled up to
constexpr std::uint8_t kAbsent = 0, kWriting = 1, kThere = 2;

std::int64_t whole_pages(std::int64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// Where the pixels of each image begin in the file, and its end.
std::vector<std::int64_t> places(const std::vector<ImageSize>& sizes) {
  std::vector<std::int64_t> out = {kPage + whole_pages(static_cast<std::int64_t>(sizes.size()))};
  for (const ImageSize& size : sizes) out.push_back(out.back() + std::int64_t{3} * size.height * size.width);
  return out;
}

// What the file begins with; empty where this run of the machine has no name.
std::string header_of(const std::string& name, const std::vector<ImageSize>& sizes) {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string run;
  if (!std::getline(in, run) || run.empty()) return "";
  std::string all;
  for (const ImageSize& size : sizes) all += std::to_string(size.height) + " " + std::to_string(size.width) + "\n";
  return "locus decoded images 1\n" + sha256_hex(name) + "\n" + sha256_hex(all) + "\n" + run + "\n";
}

// The file mapped if it is one of that header and size; else null.
std::uint8_t* mapped(const fs::path& file, const std::string& header, std::int64_t bytes) {
  const Fd fd(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0 || info.st_size != bytes) return nullptr;
  void* const at =
      ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), /*offset=*/0);
  if (at == MAP_FAILED) return nullptr;
  if (std::memcmp(at, header.c_str(), header.size() + 1) == 0) return static_cast<std::uint8_t*>(at);
  ::munmap(at, static_cast<std::size_t>(bytes));
  return nullptr;
}

// The file made and mapped; null where it cannot be. Space is taken at once, since a full disk would end whoever writes to
// the mapping. Of several who make it the first one's serves; one of another header is replaced, never removed, so that
// nobody finds nothing in between.
std::uint8_t* made(const fs::path& file, const std::string& header, std::int64_t bytes) {
  std::string temporary = file.string() + ".XXXXXX";
  const Fd fd(::mkstemp(temporary.data()));
  if (!fd) return nullptr;
  std::uint8_t* at = nullptr;
  if (::posix_fallocate(fd.get(), 0, bytes) == 0 &&
      ::pwrite(fd.get(), header.data(), header.size(), 0) == static_cast<ssize_t>(header.size())) {
    static_cast<void>(::link(temporary.c_str(), file.c_str()));
    at = mapped(file, header, bytes);
    if (at == nullptr && ::rename(temporary.c_str(), file.c_str()) == 0) at = mapped(file, header, bytes);
  }
  ::unlink(temporary.c_str());
  return at;
}

// Removes files, those used longest ago first, until the rest takes `most` bytes at most.
void make_room(const fs::path& folder, std::int64_t most) {
  struct Used {
    fs::file_time_type when;
    fs::path path;
    std::int64_t bytes;
  };
  std::vector<Used> files;
  std::int64_t sum = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code gone;
    const auto bytes = static_cast<std::int64_t>(entry->file_size(gone));
    const auto when = gone ? fs::file_time_type() : entry->last_write_time(gone);
    if (gone) continue;
    files.push_back({when, entry->path(), bytes});
    sum += bytes;
  }
  std::sort(files.begin(), files.end(), [](const Used& a, const Used& b) { return a.when < b.when; });
  for (auto file = files.begin(); file != files.end() && sum > most; ++file) {
    if (fs::remove(file->path, error)) sum -= file->bytes;
  }
}

}  // namespace

std::shared_ptr<DecodedImages> DecodedImages::open(const fs::path& folder, const std::string& name,
                                                   const std::vector<ImageSize>& sizes, std::int64_t budget) {
  const std::int64_t bytes = places(sizes).back();
  const std::string header = header_of(name, sizes);
  if (bytes > budget || header.empty()) return nullptr;
  std::error_code error;
  fs::create_directories(folder, error);
  const fs::path file = folder / (sha256_hex(name) + ".pixels");
  std::uint8_t* at = mapped(file, header, bytes);
  if (at == nullptr) {
    make_room(folder, budget - bytes);
    at = made(file, header, bytes);
  }
  if (at == nullptr) return nullptr;
  ::utimensat(AT_FDCWD, file.c_str(), nullptr, 0);  // used now
  return std::shared_ptr<DecodedImages>(new DecodedImages(at, sizes));
}

DecodedImages::DecodedImages(std::uint8_t* mapped, std::vector<ImageSize> sizes)
    : mapped_(mapped), sizes_(std::move(sizes)), at_(places(sizes_)) {}

DecodedImages::~DecodedImages() { ::munmap(mapped_, static_cast<std::size_t>(at_.back())); }

std::uint8_t& DecodedImages::state(std::int64_t index) const {
  static_cast<void>(sizes_.at(static_cast<std::size_t>(index)));
  return mapped_[kPage + index];
}

std::uint8_t* DecodedImages::pixels(std::int64_t index) const {
  return mapped_ + at_.at(static_cast<std::size_t>(index));
}

bool DecodedImages::has(std::int64_t index) const {
  return std::atomic_ref(state(index)).load(std::memory_order_acquire) == kThere;
}

void DecodedImages::fill(std::int64_t index, const std::function<Image()>& decode) {
  const std::atomic_ref state_now(state(index));
  std::uint8_t expected = kAbsent;
  if (!state_now.compare_exchange_strong(expected, kWriting)) return;
  try {
    const Image image = decode();
    if (ImageSize{image.height, image.width} != sizes_[static_cast<std::size_t>(index)] || image.channels != 3)
      throw std::logic_error("an image was decoded to another size than was said");
    std::copy(image.pixels.begin(), image.pixels.end(), pixels(index));
  } catch (...) {
    state_now.store(kAbsent);
    throw;
  }
  state_now.store(kThere, std::memory_order_release);
}

Image DecodedImages::part(std::int64_t index, const Box& box) const {
  const ImageSize& size = sizes_.at(static_cast<std::size_t>(index));
  check_box(size, box);
  Image out = Image::blank(box.height, box.width, 3);
  const std::size_t row = std::size_t{3} * static_cast<std::size_t>(box.width);
  for (int y = 0; y < box.height; ++y) {
    const std::ptrdiff_t first = (std::ptrdiff_t{1} * (box.top + y) * size.width + box.left) * 3;
    std::copy_n(pixels(index) + first, row, out.row(y));
  }
  return out;
}

}  // namespace locus::engine
