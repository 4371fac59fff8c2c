// locus catalog: what the engine can do.
#include <algorithm>

#include "cli/command.h"
#include "cli/render/listings.h"
#include "core/base/error.h"
#include "core/base/nearest.h"
#include "core/catalog/catalog.h"

namespace locus {
namespace {

constexpr int kWidest = 100;  // columns: longer lines are hard to read

struct CatalogOptions {
  ServerChoice server;
  std::string kind, id;
};

absl::Status unknown_kind(const Catalog& catalog, const std::string& kind) {
  std::vector<std::string> kinds;
  std::string list;
  for (const CatalogItem& item : catalog.items()) {
    if (std::find(kinds.begin(), kinds.end(), item.kind) != kinds.end()) continue;
    kinds.push_back(item.kind);
    list += (list.empty() ? "" : ", ") + item.kind;
  }
  for (const std::string& one : kinds) {
    if (const CatalogItem* item = catalog.find(one, kind)) {
      return make_error(absl::StatusCode::kNotFound, ErrorReason::kUnknownItem,
                        "the catalog has no kind '" + kind + "', but a " + one + " of that name; write locus catalog " +
                            one + " " + item->id);
    }
  }
  const auto nearest = nearest_name(kind, kinds);
  return make_error(absl::StatusCode::kNotFound, ErrorReason::kUnknownItem,
                    "the catalog has no kind '" + kind + "'" +
                        (nearest ? "; did you mean '" + *nearest + "'?" : "; its kinds are: " + list));
}

absl::StatusOr<int> run(Client& client, const CatalogOptions& options) {
  const bool json = options.server.json;
  LOCUS_ASSIGN_OR_RETURN(const v1::Catalog answer, client.get_catalog());
  const Json document = Json::parse(answer.json(), nullptr, false);
  LOCUS_ASSIGN_OR_RETURN(const Catalog catalog, Catalog::parse(document));
  if (options.kind.empty()) {
    print(json ? document.dump(1) + "\n" : render_catalog(document));
    return kExitDone;
  }
  Json items = Json::array();
  for (const Json& item : document["items"]) {
    if (item.value("kind", "") == options.kind) items.push_back(item);
  }
  if (items.empty()) return unknown_kind(catalog, options.kind);
  if (options.id.empty()) {
    print(json ? items.dump(1) + "\n" : render_catalog_kind(document, options.kind));
    return kExitDone;
  }
  LOCUS_ASSIGN_OR_RETURN(const CatalogItem* item, catalog.get(options.kind, options.id, ""));
  for (const Json& one : items) {
    if (one.value("id", "") != item->id) continue;
    print(json ? one.dump(1) + "\n" : render_catalog_item(one, std::min(terminal().width, kWidest)));
  }
  return kExitDone;
}

}  // namespace

void add_catalog(Program& app) {
  Command& command =
      add_command(app, {"catalog",
                        kDataGroup,
                        "Show what the engine can do: priors, datasets, recipes and their options",
                        "The server validates and plans with this catalog; workers run only what they have "
                        "at the same revision.",
                        {{"locus catalog", "Everything, by kind"},
                         {"locus catalog prior violin", "What a prior does, its options, its paper"}}});
  auto options = std::make_shared<CatalogOptions>();
  add_server_options(command, options->server);
  command.add_option("kind", options->kind, "prior, backbone, dataset, task, recipe or stage")->type_name("");
  command.add_option("id", options->id, "One item, with its options")->type_name("");
  command.body = [options] {
    return ask_server(options->server, [&](Client& client) { return run(client, *options); });
  };
}

}  // namespace locus
