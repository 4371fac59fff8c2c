// Two tables that people have beside the flat folder. The 1-based numbers of the development kit are not among them: they need
// its meta.mat to become wnids.
#include "engine/data/stored/flat_labels.h"

#include <algorithm>
#include <sstream>

#include "core/base/json.h"
#include "engine/base/failure.h"
#include "engine/data/stored/file_reader.h"

namespace locus::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kDocumentMost = 64 << 20;   // bytes
using Table = std::map<std::string, std::string>;  // file name without ending -> wnid

std::string stem(const std::string& file) { return fs::path(file).stem().string(); }

Table of_json(const fs::path& file) {
  const Json read = Json::parse(read_text_file(file, kDocumentMost), nullptr, /*allow_exceptions=*/false);
  if (!read.is_object()) throw DataError(file.string() + " is no JSON object of files and their classes");
  Table out;
  for (const auto& [name, wnid] : read.items()) {
    if (!wnid.is_string()) throw DataError(file.string() + ": the class of " + name + " is no text");
    out[stem(name)] = wnid.get<std::string>();
  }
  return out;
}

// "ILSVRC2012_val_00048981,n03995372 85 1 499 272"
Table of_csv(const fs::path& file) {
  std::istringstream lines(read_text_file(file, kDocumentMost));
  Table out;
  std::string line;
  std::getline(lines, line);  // the names of the columns
  for (int number = 2; std::getline(lines, line); ++number) {
    const std::size_t comma = line.find(','), space = line.find(' ', comma == std::string::npos ? 0 : comma);
    if (comma == std::string::npos || comma + 1 >= line.size())
      throw DataError(file.string() + ", line " + std::to_string(number) + ": no image and class");
    out[line.substr(0, comma)] = line.substr(comma + 1, space == std::string::npos ? space : space - comma - 1);
  }
  return out;
}

Table table_of(const fs::path& root, const std::string& place) {
  for (const fs::path& folder : {root, root / place}) {
    if (const fs::path file = folder / "ILSVRC2012_val_labels.json"; fs::exists(file)) return of_json(file);
    if (const fs::path file = folder / "LOC_val_solution.csv"; fs::exists(file)) return of_csv(file);
  }
  throw DataError((root / place).string() +
                  " has no folders of classes, and there is no table of its labels: put ILSVRC2012_val_labels.json "
                  "({\"FILE\": \"wnid\"}) or Kaggle's LOC_val_solution.csv beside it, or sort the images into folders");
}

}  // namespace

std::vector<ListedImage> list_flat(const fs::path& root, const std::string& place,
                                   const std::vector<std::string>& classes, NameOrder order, Listing& listing) {
  const Table table = table_of(root, place);
  std::vector<ListedImage> found, out;
  list_images(root, place, 0, order, listing, found);
  for (ListedImage& image : found) {
    const auto row = table.find(stem(image.name));
    if (row == table.end()) throw DataError((root / image.name).string() + " is not in the table of labels");
    const auto at = std::find(classes.begin(), classes.end(), row->second);
    if (at == classes.end()) continue;
    image.label = at - classes.begin();
    out.push_back(std::move(image));
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.label < b.label; });
  return out;
}

}  // namespace locus::engine
