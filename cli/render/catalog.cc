// The catalog as text.
#include <algorithm>

#include "cli/render/listings.h"
#include "cli/render/text_table.h"

namespace locus {
namespace {

std::string join(const Json& list, const std::string& separator) {
  std::string out;
  for (const Json& element : list) {
    if (!out.empty()) out += separator;
    out += element.is_string() ? element.get<std::string>() : element.dump();
  }
  return out;
}

std::string range_of(const Json& option) {
  if (option.contains("choices")) return join(option["choices"], " | ");
  std::string out;
  if (option.contains("exclusive_minimum")) out = "> " + option["exclusive_minimum"].dump();
  if (option.contains("minimum")) out += (out.empty() ? "" : ", ") + (">= " + option["minimum"].dump());
  if (option.contains("maximum")) out += (out.empty() ? "" : ", ") + ("<= " + option["maximum"].dump());
  return out;
}

}  // namespace

std::string render_catalog(const Json& catalog) {
  std::vector<std::string> kinds;
  for (const Json& item : catalog.value("items", Json::array())) {
    const std::string kind = item.value("kind", "");
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  }
  std::string out;
  for (const std::string& kind : kinds) out += (out.empty() ? "" : "\n") + render_catalog_kind(catalog, kind);
  return out;
}

std::string render_catalog_kind(const Json& catalog, const std::string& kind) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& item : catalog.value("items", Json::array())) {
    if (item.value("kind", "") != kind) continue;
    rows.push_back({item.value("id", ""), join(item.value("aliases", Json::array()), ", "),
                    join(item.value("hooks", Json::array()), ", "), item.value("summary", "")});
  }
  return render_text_table({{kind}, {"also"}, {"hooks"}, {"what it is"}}, rows);
}

std::string render_catalog_item(const Json& item) {
  std::string out = item.value("kind", "") + " " + item.value("id", "") + " (revision " +
                    std::to_string(item.value("revision", 0)) + ")\n";
  for (const char* key : {"summary", "formula"}) {
    if (const std::string text = item.value(key, ""); !text.empty()) out += printable(text) + "\n";
  }
  if (const std::string paper = item.value("paper", ""); !paper.empty())
    out += "paper: " + printable(paper) + "\n";
  for (const char* key : {"aliases", "hooks", "provides", "excludes"}) {
    if (const std::string text = join(item.value(key, Json::array()), ", "); !text.empty())
      out += std::string(key) + ": " + printable(text) + "\n";
  }
  std::vector<std::vector<std::string>> rows;
  for (const Json& option : item.value("options", Json::array())) {
    std::string type = option.value("type", "");
    if (type == "list") type += " of " + option.value("element", "");
    rows.push_back({option.value("name", ""), type,
                    option.contains("default") ? option["default"].dump() : "required", range_of(option),
                    option.value("unit", ""), option.value("help", "")});
  }
  if (!rows.empty())
    out +=
        "\n" + render_text_table({{"option"}, {"type"}, {"default"}, {"allowed"}, {"unit"}, {"help"}}, rows);
  return out;
}

}  // namespace locus
