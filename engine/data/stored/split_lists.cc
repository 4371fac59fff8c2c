// One space between path and label; nothing else is taken.
#include "engine/data/stored/split_lists.h"

#include <charconv>
#include <set>

#include "engine/base/failure.h"
#include "engine/data/stored/file_reader.h"

namespace locus::engine {
namespace {

constexpr std::int64_t kListMost = 64 << 20;  // bytes

}  // namespace

std::vector<ListedImage> read_split_list(const std::filesystem::path& folder, const std::string& part,
                                         std::int64_t classes) {
  const std::filesystem::path file = folder / (part + ".txt");
  const std::string text = read_text_file(file, kListMost);
  std::vector<ListedImage> out;
  std::set<std::string_view> seen;
  std::string_view rest = text;
  for (std::int64_t number = 1; !rest.empty(); ++number) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto refuse = [&](const std::string& why) {
      throw DataError(file.string() + ", line " + std::to_string(number) + ": " + why);
    };
    const std::size_t space = line.rfind(' ');
    std::int64_t label = -1;
    const char* end = line.data() + line.size();
    const char* digits = line.data() + (space == std::string_view::npos ? line.size() : space + 1);
    const auto [stop, error] = std::from_chars(digits, end, label);
    if (space == 0 || error != std::errc() || stop != end)
      refuse("'" + std::string(line.substr(0, 80)) + "' is not a path, a space and a label");
    if (label < 0 || label >= classes)
      refuse("the label " + std::to_string(label) + " is outside 0.." + std::to_string(classes - 1));
    const std::string_view path = line.substr(0, space);
    if (path.starts_with('/') || path.find("..") != std::string_view::npos)
      refuse("the path '" + std::string(path) + "' leads out of the folder");
    if (!seen.insert(path).second) refuse("'" + std::string(path) + "' is listed twice");
    out.push_back({std::string(path), label});
  }
  return out;
}

}  // namespace locus::engine
