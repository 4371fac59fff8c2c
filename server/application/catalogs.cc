// Merges what workers bring into the catalog.
#include "server/application/catalogs.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/json_document.h"
#include "core/base/utf8.h"
#include "core/catalog/extension.h"
#include "core/log/log.h"

namespace locus::server {
namespace {

constexpr int kExtensionsMost = 16;                 // of a worker
constexpr std::size_t kExtensionBytes = 256 << 10;  // of the items of one

absl::StatusOr<Extension> extension_of(const ExtensionRow& row) {
  LOCUS_ASSIGN_OR_RETURN(Json items, parse_json(row.items_json, ErrorReason::kInvalidArgument, "extensions"));
  return Extension{row.name, row.by, row.digest, std::move(items)};
}

// The newest first; of two that were loaded at once the one whose name comes first.
absl::StatusOr<Catalog> merged(const Catalog& base, std::vector<ExtensionRow> rows) {
  std::ranges::stable_sort(rows, std::ranges::greater(), &ExtensionRow::loaded_us);
  std::vector<Extension> all;
  for (const ExtensionRow& row : rows) {
    LOCUS_ASSIGN_OR_RETURN(all.emplace_back(), extension_of(row));
  }
  return with_extensions(base, all);
}

absl::StatusOr<ExtensionRow> row_of(const v1::CatalogExtension& announced) {
  if (announced.items_json().size() > kExtensionBytes) {
    return make_error(absl::StatusCode::kResourceExhausted, ErrorReason::kLimitExceeded,
                      "the items of an extension have " + std::to_string(announced.items_json().size()) +
                          " bytes; at most " + std::to_string(kExtensionBytes) + " are taken",
                      "extensions");
  }
  LOCUS_ASSIGN_OR_RETURN(const Json items,
                         parse_json(announced.items_json(), ErrorReason::kInvalidArgument, "extensions"));
  return ExtensionRow{announced.name(), announced.by(), announced.digest(), canonical_json(items),
                      announced.loaded_us()};
}

absl::Status unknown_extension(const std::string& name, const std::vector<ExtensionRow>& rows) {
  std::string known;
  for (const ExtensionRow& row : rows) known += (known.empty() ? "; there are " : ", ") + row.name;
  return make_error(absl::StatusCode::kNotFound, ErrorReason::kUnknownItem,
                    "no worker has brought an extension \"" + valid_utf8(name.substr(0, 63)) + "\"" + known, "name");
}

}  // namespace

Catalogs::Catalogs(Catalog base, Store& store, Clock& clock)
    : base_(std::move(base)), store_(store), clock_(clock), current_(std::make_shared<const Catalog>(base_)) {}

std::shared_ptr<const Catalog> Catalogs::current() const {
  absl::MutexLock lock(&mutex_);
  return current_;
}

absl::Status Catalogs::adopt(const std::vector<ExtensionRow>& rows, std::vector<Mutation> mutations) {
  LOCUS_ASSIGN_OR_RETURN(Catalog catalog, merged(base_, rows));
  mutations.push_back(PutCatalog{catalog.digest(), canonical_json(catalog.document())});
  LOCUS_RETURN_IF_ERROR(store_.apply(mutations, clock_.wall()));
  absl::MutexLock lock(&mutex_);
  current_ = std::make_shared<const Catalog>(std::move(catalog));
  return absl::OkStatus();
}

absl::Status Catalogs::open() {
  absl::MutexLock lock(&learning_);
  LOCUS_ASSIGN_OR_RETURN(const auto stored, store_.extensions());
  std::vector<ExtensionRow> fitting;
  for (const ExtensionRow& row : stored) {
    const auto taken = merged(base_, {row});
    if (taken.ok()) {
      fitting.push_back(row);
    } else {
      log_warning("{}", std::string(taken.status().message()));
    }
  }
  return adopt(fitting, {});
}

absl::Status Catalogs::learn(const v1::RegisterWorkerRequest& announced) {
  if (announced.extensions().empty()) return absl::OkStatus();
  if (announced.extensions_size() > kExtensionsMost) {
    return make_error(absl::StatusCode::kResourceExhausted, ErrorReason::kLimitExceeded,
                      "a worker may bring at most " + std::to_string(kExtensionsMost) + " extensions", "extensions");
  }
  absl::MutexLock lock(&learning_);
  LOCUS_ASSIGN_OR_RETURN(auto rows, store_.extensions());
  std::vector<Mutation> mutations;
  for (const auto& extension : announced.extensions()) {
    LOCUS_ASSIGN_OR_RETURN(const ExtensionRow row, row_of(extension));
    LOCUS_RETURN_IF_ERROR(merged(base_, {row}).status());  // an older one is judged, too: it says what it runs
    const auto known = std::ranges::find(rows, row.name, &ExtensionRow::name);
    if (known != rows.end() && known->loaded_us >= row.loaded_us) continue;  // another worker has loaded it since
    mutations.push_back(PutExtension{row});
    if (known == rows.end()) {
      rows.push_back(row);
      continue;
    }
    if (known->digest != row.digest)
      log_info("the extension {} is another one from now on: {} instead of {}", row.name, row.digest, known->digest);
    *known = row;
  }
  if (mutations.empty()) return absl::OkStatus();
  std::erase_if(rows, [&](const ExtensionRow& row) { return !merged(base_, {row}).ok(); });
  return adopt(rows, std::move(mutations));
}

absl::StatusOr<ExtensionRow> Catalogs::forget(const std::string& name, const Mutation& deed) {
  absl::MutexLock lock(&learning_);
  LOCUS_ASSIGN_OR_RETURN(auto rows, store_.extensions());
  const auto found = std::ranges::find(rows, name, &ExtensionRow::name);
  if (found == rows.end()) return unknown_extension(name, rows);
  const ExtensionRow gone = *found;
  rows.erase(found);
  std::erase_if(rows, [&](const ExtensionRow& row) { return !merged(base_, {row}).ok(); });
  LOCUS_RETURN_IF_ERROR(adopt(rows, {RemoveExtension{name}, deed}));
  log_info("the extension {} of code {} is forgotten", gone.name, gone.digest);
  return gone;
}

}  // namespace locus::server
