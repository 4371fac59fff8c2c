// Walks folders.
#include "engine/data/stored/listing.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <stdexcept>

#include "engine/base/failure.h"

namespace locus::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRead[] = {".jpg", ".jpeg", ".png"};
constexpr std::string_view kNotRead[] = {".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp", ".gif"};

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }
bool digit(char c) { return c >= '0' && c <= '9'; }

template <typename Endings>
bool ends_as(std::string_view name, const Endings& endings) {
  return std::any_of(std::begin(endings), std::end(endings), [&](std::string_view ending) {
    return name.size() > ending.size() &&
           std::equal(ending.begin(), ending.end(), name.end() - static_cast<std::ptrdiff_t>(ending.size()),
                      [](char a, char b) { return a == lower(b); });
  });
}

// The digits that `text` begins with, without leading zeros; `text` loses them.
std::string_view take_number(std::string_view& text) {
  const auto end = static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), digit) - text.begin());
  std::string_view out = text.substr(0, end);
  text.remove_prefix(end);
  while (out.size() > 1 && out.front() == '0') out.remove_prefix(1);
  return out;
}

// Negative, 0 or positive.
int compare_naturally(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (digit(a.front()) && digit(b.front())) {
      const std::string_view left = take_number(a), right = take_number(b);
      if (left.size() != right.size()) return left.size() < right.size() ? -1 : 1;
      if (const int order = left.compare(right)) return order;
      continue;
    }
    if (digit(a.front()) != digit(b.front())) return digit(a.front()) ? -1 : 1;
    const auto left = static_cast<unsigned char>(lower(a.front())),
               right = static_cast<unsigned char>(lower(b.front()));
    if (left != right) return left < right ? -1 : 1;
    a.remove_prefix(1), b.remove_prefix(1);
  }
  return static_cast<int>(!a.empty()) - static_cast<int>(!b.empty());
}

[[noreturn]] void unreadable(const fs::path& folder, const std::string& why) {
  throw DataError("the folder " + folder.string() + " cannot be read: " + why + "; look at its permissions");
}

// Plain files and folders by name, links followed.
void look_into(const fs::path& folder, std::vector<std::string>& files, std::vector<std::string>& folders) {
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  if (error) unreadable(folder, error.message());
  for (const fs::directory_iterator end; entries != end;) {
    std::error_code ignored;
    (entries->is_directory(ignored) ? folders : files).push_back(entries->path().filename().string());
    entries.increment(error);
    if (error) unreadable(folder, error.message());
  }
}

void collect(const fs::path& root, const std::string& below, std::vector<std::pair<std::string, std::string>>& out) {
  std::vector<std::string> files, folders;
  look_into(root / below, files, folders);
  for (const std::string& name : files) out.emplace_back(below, name);
  for (const std::string& name : folders) collect(root, below + "/" + name, out);
}

}  // namespace

NameOrder parse_name_order(const std::string& name) {
  if (name == "bytes") return NameOrder::kBytes;
  if (name == "natural") return NameOrder::kNatural;
  throw std::invalid_argument("names are in the order bytes or natural, not '" + name + "'");
}

bool before(std::string_view a, std::string_view b, NameOrder order) {
  if (order == NameOrder::kNatural) {
    if (const int by_number = compare_naturally(a, b)) return by_number < 0;
  }
  return a < b;
}

std::vector<std::string> subfolders(const fs::path& folder, NameOrder order) {
  std::vector<std::string> files, out;
  look_into(folder, files, out);
  std::erase_if(out, [](const std::string& name) { return name.starts_with('.'); });
  std::sort(out.begin(), out.end(), [&](const auto& a, const auto& b) { return before(a, b, order); });
  return out;
}

bool names_image(std::string_view name) { return ends_as(name, kRead); }

void list_images(const fs::path& root, const std::string& below, std::int64_t label, NameOrder order, Listing& listing,
                 std::vector<ListedImage>& to) {
  std::vector<std::pair<std::string, std::string>> found;  // folder, file
  collect(root, below, found);
  if (order == NameOrder::kBytes) {
    std::sort(found.begin(), found.end());
  } else {
    std::sort(found.begin(), found.end(), [&](const auto& a, const auto& b) {
      return before(a.first + "/" + a.second, b.first + "/" + b.second, order);
    });
  }
  for (const auto& [folder, file] : found) {
    const std::string name = folder + "/" + file;
    if (names_image(file)) {
      to.push_back({name, label});
    } else if (ends_as(file, kNotRead)) {
      listing.problems.add((root / name).string() + " is of a kind that is not read: make it JPEG or PNG");
    } else {
      listing.passed_over.add((root / name).string());
    }
  }
}

std::vector<ListedImage> list_classes(const fs::path& root, std::span<const std::string> places,
                                      const std::vector<std::string>& classes, NameOrder order, bool all,
                                      Listing& listing) {
  std::vector<ListedImage> out;
  std::set<std::string> seen;
  const std::set<std::string> known(classes.begin(), classes.end());
  for (const std::string& place : places) {
    const std::vector<std::string> here = subfolders(root / place, order);
    seen.insert(here.begin(), here.end());
    const std::set<std::string> present(here.begin(), here.end());
    for (std::size_t label = 0; label < classes.size(); ++label) {
      if (!present.contains(classes[label])) continue;
      list_images(root, place + "/" + classes[label], static_cast<std::int64_t>(label), order, listing, out);
    }
    for (const std::string& name : here) {
      if (all && !known.contains(name))
        listing.misfits.add((root / place / name).string() + " is the folder of a class that the training part lacks");
    }
  }
  for (const std::string& name : classes) {
    if (!seen.contains(name))
      listing.misfits.add("the folder of class " + name + " is missing in " + (root / places.front()).string());
  }
  return out;
}

}  // namespace locus::engine
