// Headers of 512 bytes (POSIX.1-1988 ustar, POSIX.1-2001 pax, GNU tar manual "Basic Tar Format").
#include "engine/data/stored/tar_index.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

#include "engine/base/failure.h"

namespace locus::engine {
namespace {

constexpr std::int64_t kTarBlock = 512;
constexpr std::int64_t kExtensionMost = 1 << 20;  // bytes of a long name or of PAX records

class Indexer {
 public:
  Indexer(const ReadFile& file, const std::filesystem::path& path) : file_(file), path_(path) {}

  std::vector<TarMember> run() {
    while (at_ + kTarBlock <= file_.size()) {
      const std::vector<std::byte> block = file_.read(at_, kTarBlock);
      header_ = {reinterpret_cast<const char*>(block.data()), block.size()};
      if (std::all_of(header_.begin(), header_.end(), [](char c) { return c == 0; })) return std::move(out_);
      member();
    }
    if (file_.size() == 0) broken("is empty");
    // Written without its two final blocks of zeros: accepted at the end of a member, as tar does.
    if (at_ != file_.size()) broken("ends inside a header");
    return std::move(out_);
  }

 private:
  [[noreturn]] void broken(const std::string& what) const {
    throw DataError("the archive " + path_.string() + ", byte " + std::to_string(at_) + ": " + what +
                    "; copy or make it again");
  }

  std::string text(std::size_t first, std::size_t length) const {
    const std::string_view field = header_.substr(first, length);
    return std::string(field.substr(0, std::min(field.find('\0'), field.size())));
  }

  // Octal digits, or base 256 where the first bit is set (GNU).
  std::int64_t number(std::size_t first, std::size_t length) const {
    const std::string_view field = header_.substr(first, length);
    if ((static_cast<unsigned char>(field.front()) & 0x80) != 0) {
      std::uint64_t value = static_cast<unsigned char>(field.front()) & 0x7f;
      for (const char c : field.substr(1)) {
        if (value >> 54 != 0) broken("a number is too large");
        value = value << 8 | static_cast<unsigned char>(c);
      }
      return static_cast<std::int64_t>(value);
    }
    std::int64_t value = 0;
    bool digits = false;
    for (const char c : field) {
      if (c == ' ' && !digits) continue;
      if (c == ' ' || c == '\0') break;
      if (c < '0' || c > '7')
        broken("no number where a tar header has one: it is compressed, damaged or no tar archive");
      value = value * 8 + (c - '0');
      digits = true;
    }
    return value;
  }

  void check_sum() const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < header_.size(); ++i)
      sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(header_[i]);
    if (sum != number(148, 8)) broken("the sum of a header is wrong: it is compressed, damaged or no tar archive");
  }

  std::string content(std::int64_t bytes) const {
    if (bytes > kExtensionMost) broken("a name or record of " + std::to_string(bytes) + " bytes");
    const std::vector<std::byte> read = file_.read(at_ + kTarBlock, bytes);
    return {reinterpret_cast<const char*>(read.data()), read.size()};
  }

  // "LENGTH KEY=VALUE\n", LENGTH in bytes of the whole record.
  std::map<std::string, std::string> records(const std::string& all) const {
    std::map<std::string, std::string> out;
    std::string_view rest = all;
    while (!rest.empty()) {
      std::size_t length = 0;
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
      const auto digits = static_cast<std::size_t>(end - rest.data());
      if (error != std::errc() || length <= digits + 1 || length > rest.size() || *end != ' ' ||
          rest[length - 1] != '\n')
        broken("a PAX record is damaged");
      const std::string_view record = rest.substr(digits + 1, length - digits - 2);
      const std::size_t equals = record.find('=');
      if (equals == std::string_view::npos) broken("a PAX record is damaged");
      out[std::string(record.substr(0, equals))] = record.substr(equals + 1);
      rest.remove_prefix(length);
    }
    return out;
  }

  void extend(const std::string& all) {
    for (const auto& [key, value] : records(all)) {
      if (key.starts_with("GNU.sparse")) broken("a sparse member, which is not read");
      if (key == "path") name_ = value;
      if (key == "size") {
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), size_);
        if (error != std::errc() || end != value.data() + value.size() || size_ < 0) broken("a PAX size is no number");
      }
    }
  }

  std::string plain_name() const {
    const std::string name = text(0, 100),
                      prefix = header_.substr(257, 6) == std::string_view("ustar\0", 6) ? text(345, 155) : "";
    return prefix.empty() ? name : prefix + "/" + name;
  }

  void member() {
    check_sum();
    const char type = header_[156];
    std::int64_t bytes = number(124, 12);
    const bool extension = type == 'L' || type == 'K' || type == 'x' || type == 'g';
    if (!extension && size_ >= 0) bytes = size_;
    if (bytes < 0 || bytes > file_.size() - at_ - kTarBlock)
      broken("a member of " + std::to_string(bytes) + " bytes goes beyond the end: it is truncated");
    if (type == 'L') {
      const std::string name = content(bytes);
      name_ = name.substr(0, std::min(name.find('\0'), name.size()));
    } else if (type == 'x') {
      extend(content(bytes));
    } else if (type == 'S') {
      broken("a sparse member, which is not read");
    } else if (!extension) {
      if (type == '0' || type == '\0' || type == '7')
        out_.push_back({name_.empty() ? plain_name() : name_, at_ + kTarBlock, bytes});
      name_.clear();
      size_ = -1;
    }
    at_ += kTarBlock + (bytes + kTarBlock - 1) / kTarBlock * kTarBlock;
    // The last member may lack its padding.
    if (at_ > file_.size()) at_ = file_.size();
  }

  const ReadFile& file_;
  const std::filesystem::path& path_;
  std::int64_t at_ = 0;
  std::string_view header_;
  std::string name_;        // of the next member, by an extension before it
  std::int64_t size_ = -1;  // likewise
  std::vector<TarMember> out_;
};

}  // namespace

std::vector<TarMember> index_tar(const ReadFile& file, const std::filesystem::path& path) {
  return Indexer(file, path).run();
}

}  // namespace locus::engine
