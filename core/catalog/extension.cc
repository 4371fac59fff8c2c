// Taking extensions out of catalogs and putting them in.
#include "core/catalog/extension.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/base/ids.h"

namespace locus {
namespace {

constexpr std::size_t kDigestLength = 64;  // of SHA-256, in hex

absl::Status refused_extension(const Extension& extension, const std::string& why,
                               absl::StatusCode code = absl::StatusCode::kInvalidArgument,
                               ErrorReason reason = ErrorReason::kInvalidArgument) {
  return make_error(code, reason, "the extension '" + extension.name + "' cannot be taken: " + why, "extensions",
                    {{"extension", extension.name}, {"digest", extension.digest}});
}

bool lower_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

absl::Status check_head(const Extension& extension) {
  if (!valid_name(extension.name)) {
    return refused_extension(extension,
                             "its name is to be lower-case letters, digits and dashes, at most 63, a letter first");
  }
  if (extension.by != kPluginOrigin && extension.by != kTrainingOrigin)
    return refused_extension(extension, "it is run by '" + extension.by + "'; known are plugin and training");
  if (extension.digest.size() != kDigestLength || !std::ranges::all_of(extension.digest, lower_hex))
    return refused_extension(extension, "its digest is no SHA-256 in lower-case hex");
  if (!extension.items.is_array() || extension.items.empty())
    return refused_extension(extension, "it brings no items; its code registers at least one");
  return absl::OkStatus();
}

// The names under which an item is found; empty for what is no item.
std::set<std::string> names_of(const Json& item) {
  std::set<std::string> out;
  if (!item.is_object() || !item.value("kind", Json()).is_string() || !item.value("id", Json()).is_string()) return out;
  const std::string kind = item.at("kind").get<std::string>() + "/";
  out.insert(kind + item.at("id").get<std::string>());
  const Json aliases = item.value("aliases", Json::array());
  for (const Json& alias : aliases) {
    if (alias.is_string()) out.insert(kind + alias.get<std::string>());
  }
  return out;
}

// What of an extension enters the catalog: items whose names a newer one has stay out.
absl::StatusOr<Json> entering(const Extension& extension, const Catalog& base, std::set<std::string>& taken) {
  LOCUS_RETURN_IF_ERROR(check_head(extension));
  Json out = Json::array();
  std::set<std::string> own;
  for (const Json& item : extension.items) {
    const std::set<std::string> names = names_of(item);
    if (names.empty()) return refused_extension(extension, "one of its items has no kind or no id");
    for (const std::string& name : names) {
      const std::size_t cut = name.find('/');
      if (base.find(name.substr(0, cut), name.substr(cut + 1)) != nullptr) {
        return refused_extension(extension,
                                 "the catalog has a " + name.substr(0, cut) + " '" + name.substr(cut + 1) +
                                     "' of its own; give yours another id",
                                 absl::StatusCode::kFailedPrecondition, ErrorReason::kCatalogMismatch);
      }
    }
    const bool hidden = std::ranges::any_of(names, [&](const auto& name) { return taken.contains(name); });
    own.insert(names.begin(), names.end());
    if (hidden) continue;
    Json entered = item;
    entered["origin"] = {{"name", extension.name}, {"by", extension.by}, {"digest", extension.digest}};
    out.push_back(std::move(entered));
  }
  taken.merge(own);
  return out;
}

}  // namespace

std::vector<Extension> extensions_of(const Json& document) {
  std::map<std::string, Extension> out;
  const Json items = document.is_object() ? document.value("items", Json::array()) : Json::array();
  for (const Json& item : items) {
    const auto origin = item.is_object() ? item.find("origin") : item.end();
    if (origin == item.end() || !origin->is_object()) continue;
    Extension& one = out[origin->value("name", "")];
    one.name = origin->value("name", "");
    one.by = origin->value("by", "");
    one.digest = origin->value("digest", "");
    Json bare = item;
    bare.erase("origin");
    one.items.push_back(std::move(bare));
  }
  std::vector<Extension> list;
  for (auto& [name, extension] : out) list.push_back(std::move(extension));
  return list;
}

absl::StatusOr<Catalog> with_extensions(const Catalog& base, std::span<const Extension> newest_first) {
  if (newest_first.empty()) return base;
  std::set<std::string> taken;
  std::map<std::string, Json> entered;  // by extension
  for (const Extension& extension : newest_first) {
    if (entered.contains(extension.name)) return refused_extension(extension, "its name is given twice");
    LOCUS_ASSIGN_OR_RETURN(entered[extension.name], entering(extension, base, taken));
  }
  Json document = base.document();
  for (auto& [name, items] : entered) {
    for (Json& item : items) document["items"].push_back(std::move(item));
  }
  auto catalog = Catalog::parse(document);
  if (catalog.ok()) return catalog;
  // The base was read before, so it is one of these: find out whose item it is.
  for (const Extension& extension : newest_first) {
    Json alone = base.document();
    for (const Json& item : extension.items) alone["items"].push_back(item);
    if (const auto wrong = Catalog::parse(alone); !wrong.ok())
      return refused_extension(extension, std::string(wrong.status().message()));
  }
  return catalog;
}

}  // namespace locus
