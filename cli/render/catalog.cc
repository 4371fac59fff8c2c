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

// The name, then what it takes and means, indented.
std::string render_option(const Json& option, int width) {
  std::string type = option.value("type", "");
  if (type == "list") type += " of " + option.value("element", "");
  type += option.contains("default") ? ", default " + option["default"].dump() : ", required";
  std::string out = printable(option.value("name", "")) + "\n" + wrap_text(printable(type), 4, width);
  const std::string range = range_of(option), unit = option.value("unit", "");
  if (!range.empty()) out += wrap_text("allowed: " + printable(range), 4, width);
  const std::string help = option.value("help", "") + (unit.empty() ? "" : " (" + unit + ")");
  return out + wrap_text(printable(help), 4, width);
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

std::string render_catalog_item(const Json& item, int width) {
  std::string out = item.value("kind", "") + " " + item.value("id", "") + " (revision " +
                    std::to_string(item.value("revision", 0)) + ")\n";
  for (const char* key : {"summary", "formula"}) {
    if (const std::string text = item.value(key, ""); !text.empty()) out += wrap_text(printable(text), 0, width);
  }
  if (const std::string paper = item.value("paper", ""); !paper.empty())
    out += wrap_text("paper: " + printable(paper), 0, width);
  if (const Json origin = item.value("origin", Json()); origin.is_object()) {
    out += "extension: " + origin.value("name", "") + ", a " + origin.value("by", "") + " of digest " +
           origin.value("digest", "") + "\n";
  }
  for (const char* key : {"aliases", "hooks", "provides", "excludes"}) {
    if (const std::string text = join(item.value(key, Json::array()), ", "); !text.empty())
      out += wrap_text(std::string(key) + ": " + printable(text), 0, width);
  }
  const Json facts = item.value("facts", Json::object()), defaults = facts.value("defaults", Json::object());
  for (const auto& [path, value] : defaults.items())
    out += wrap_text(printable(path) + " is " + value.dump() + " unless given", 0, width);
  const Json presets = item.value("presets", Json::object());
  for (const auto& [size, options] : presets.items())
    out += wrap_text("size " + printable(size) + ": " + printable(options.dump()), 0, width);
  for (const Json& option : item.value("options", Json::array())) out += "\n" + render_option(option, width);
  return out;
}

}  // namespace locus
