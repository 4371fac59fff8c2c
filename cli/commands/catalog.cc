// locus catalog: what the engine can do.
#include <algorithm>

#include "cli/command.h"
#include "cli/render/listings.h"
#include "core/base/error.h"
#include "core/catalog/catalog.h"

namespace locus {
namespace {

struct CatalogOptions {
  ServerChoice server;
  std::string kind, id;
};

absl::StatusOr<Json> fetch(const ServerChoice& choice) {
  LOCUS_ASSIGN_OR_RETURN(const auto client, Client::connect(choice.server));
  LOCUS_ASSIGN_OR_RETURN(const v1::Catalog answer, client->get_catalog());
  return Json::parse(answer.json(), nullptr, false);
}

absl::Status unknown_kind(const Catalog& catalog, const std::string& kind) {
  std::vector<std::string> kinds;
  std::string list;
  for (const CatalogItem& item : catalog.items()) {
    if (std::find(kinds.begin(), kinds.end(), item.kind) != kinds.end()) continue;
    kinds.push_back(item.kind);
    list += (list.empty() ? "" : ", ") + item.kind;
  }
  const auto nearest = nearest_name(kind, kinds);
  return make_error(absl::StatusCode::kNotFound, ErrorReason::kUnknownItem,
                    "the catalog has no kind '" + kind + "'" +
                        (nearest ? "; did you mean '" + *nearest + "'?" : "; its kinds are: " + list));
}

int run(const CatalogOptions& options) {
  const bool json = options.server.json;
  const auto document = fetch(options.server);
  if (!document.ok()) return report_error(document.status(), json);
  if (options.kind.empty()) {
    print(json ? document->dump(1) + "\n" : render_catalog(*document));
    return kExitDone;
  }
  const auto catalog = Catalog::parse(*document);
  if (!catalog.ok()) return report_error(catalog.status(), json);
  Json items = Json::array();
  for (const Json& item : (*document)["items"]) {
    if (item.value("kind", "") == options.kind) items.push_back(item);
  }
  if (items.empty()) return report_error(unknown_kind(*catalog, options.kind), json);
  if (options.id.empty()) {
    print(json ? items.dump(1) + "\n" : render_catalog_kind(*document, options.kind));
    return kExitDone;
  }
  const auto item = catalog->get(options.kind, options.id, "");
  if (!item.ok()) return report_error(item.status(), json);
  for (const Json& one : items) {
    if (one.value("id", "") == (*item)->id) print(json ? one.dump(1) + "\n" : render_catalog_item(one));
  }
  return kExitDone;
}

}  // namespace

void add_catalog(CLI::App& app, int& status) {
  auto options = std::make_shared<CatalogOptions>();
  CLI::App* command = app.add_subcommand(
      "catalog", "Show what the engine can do: priors, datasets, recipes and their options");
  add_server_options(*command, options->server);
  command->add_option("kind", options->kind, "prior, backbone, dataset, task, recipe or stage");
  command->add_option("id", options->id, "One item, with its options");
  command->callback([options, &status] { status = run(*options); });
}

}  // namespace locus
