// Looks at names and sizes; reads what was remembered.
#include "engine/data/copies.h"

#include "core/base/data_copies.h"

namespace locus::engine {
namespace {

namespace fs = std::filesystem;

std::string folder_of(const Json& item) {
  const Json stored = item.at("facts").value("stored", Json::object());
  return stored.value("folder", item.at("id").get<std::string>());
}

std::string how_to_get(const Json& facts, const fs::path& folder) {
  if (facts.contains("stored")) return facts.at("stored").value("get", "");
  if (const std::string package = facts.value("package", ""); !package.empty())
    return "install it with 'apt install " + package + "'";
  const Json archive = facts.value("archive", Json());
  if (!archive.is_object()) return "";
  return "get " + archive.value("name", "") + " from " + archive.value("url", "") + " and unpack it into " +
         folder.string();
}

// The first file or place that is not there, or has another size; empty: all is there.
std::string lacking(const Json& facts, const fs::path& folder) {
  std::error_code error;
  for (const Json& place : facts.value("stored", Json::object()).value("places", Json::array())) {
    const fs::path path = folder / place.get<std::string>();
    if (!fs::exists(path, error)) return path.string() + " is missing";
  }
  const Json manifest = facts.value("manifest", Json::object());
  for (const auto& [name, file] : manifest.items()) {
    const auto size = fs::file_size(folder / name, error);
    if (error) return (folder / name).string() + " is missing";
    if (size != file.at("bytes").get<std::uintmax_t>()) return (folder / name).string() + " has another size";
  }
  if (!fs::is_directory(folder, error)) return folder.string() + " is missing";
  return "";
}

// Demanded options that nobody gave: 0 or "", which nothing has.
Json completed(const Json& item, Json options) {
  for (const Json& option : item.at("options")) {
    const std::string name = option.at("name").get<std::string>();
    if (!option.value("required", false) || options.contains(name)) continue;
    options[name] = option.at("type") == "string" ? Json("") : Json(0);
  }
  return options;
}

}  // namespace

Json copies_under(const DataPlace& place) {
  const std::vector<DataCopy> known = known_copies(place.cache);
  const std::string below = (fs::absolute(place.root).lexically_normal() / "").string();
  Json out = Json::array();
  for (const DatasetItem& dataset : dataset_items()) {
    const Json& item = dataset.item.json();
    const Json& facts = item.at("facts");
    const fs::path folder = place.root / folder_of(item);
    Json entry = {{"id", item.at("id")}, {"folder", folder.string()}, {"copies", Json::array()}};
    const std::string lacks = lacking(facts, folder);
    entry["held"] = lacks.empty();
    if (!lacks.empty()) {
      const std::string get = how_to_get(facts, folder);
      entry["lacks"] = lacks + (get.empty() ? "" : "; " + get);
    }
    for (const DataCopy& copy : known) {
      if (copy.dataset != dataset.id() || !copy.folder.string().starts_with(below) || !unchanged(copy)) continue;
      entry["copies"].push_back({{"folder", copy.folder.string()},
                                 {"digest", copy.digest},
                                 {"classes", copy.classes},
                                 {"images", copy.images}});
      entry["held"] = true;
    }
    out.push_back(std::move(entry));
  }
  return out;
}

Json examine_copy(const std::string& id, const Json& options, const DataPlace& place, const DataProgress& progress) {
  const DatasetItem& item = dataset_item(id);
  const Json& json = item.item.json();
  const auto dataset = item.open(place, Options(json, completed(json, options)));
  const CopyReport found = dataset->examine(progress);
  const Json& facts = json.at("facts");
  const bool listed = found.digest.empty();  // its files are in the catalog
  return {{"id", item.id()},
          {"folder", (place.root / folder_of(json)).string()},
          {"digest", listed ? facts.at("digest").get<std::string>() : found.digest},
          {"classes", listed ? facts.at("classes").get<std::int64_t>() : found.classes},
          {"images", found.images},
          {"bytes", found.bytes},
          {"problems", found.problems},
          {"problem_count", found.problem_count},
          {"passed_over", found.passed_over},
          {"passed_over_count", found.passed_over_count},
          {"turned", found.turned},
          {"differs", found.differs}};
}

}  // namespace locus::engine
