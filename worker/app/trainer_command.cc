// The words that start a trainer.
#include "worker/app/trainer_command.h"

#include <algorithm>
#include <fstream>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/sha256.h"
#include "core/catalog/extension.h"
#include "core/log/log.h"
#include "core/process/spawn.h"
#include "worker/link/artifact_cache.h"

namespace locus {
namespace fs = std::filesystem;
namespace {

constexpr auto kAnswerWithin = std::chrono::minutes(2);  // CUDA takes its time on a cold machine

absl::Status no_trainer(const std::string& message, const std::string& trainer) {
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument, message, "trainer",
                    {{"trainer", trainer}});
}

// Into `folder` under its digest.
absl::StatusOr<fs::path> copied_plugin(const fs::path& plugin, const fs::path& folder) {
  const auto digest = file_sha256(plugin);
  if (!digest.ok()) {
    return make_error(absl::StatusCode::kNotFound, ErrorReason::kInvalidArgument,
                      "the plugin " + plugin.string() + " cannot be read: " + std::string(digest.status().message()),
                      "plugin", {{"plugin", plugin.string()}});
  }
  const fs::path copy = folder / (*digest + ".so");
  std::error_code error;
  fs::copy_file(plugin, copy, fs::copy_options::overwrite_existing, error);
  if (error) return file_error("copy the plugin to", copy, error.value());
  return copy;
}

// What the engine of this installation can do. The file first: the trainer beside it may have no torch that it runs with,
// where another one trains.
absl::StatusOr<Json> installed_catalog() {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path trainer = here / "locus-trainer", file = here.parent_path() / "share" / "locus" / "catalog.json";
  std::ifstream in(file);
  Json document = Json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (document.is_object()) return document;
  if (fs::exists(trainer, error)) return ask_trainer({{trainer.string()}, {}}, "catalog");
  return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kUnknownItem,
                    "the trainer uses items of Locus, and neither " + trainer.string() + " nor " + file.string() +
                        " is there to say what they are",
                    "trainer");
}

absl::StatusOr<Json> with_used_items(Json document) {
  const Json uses = document.value("uses", Json::array());
  if (uses.empty()) return document;
  LOCUS_ASSIGN_OR_RETURN(const Json ours, installed_catalog());
  const Json items = ours.value("items", Json::array());
  for (const Json& used : uses) {
    const auto found = std::find_if(items.begin(), items.end(), [&](const Json& item) {
      return used.is_string() && item.value("kind", "") + "/" + item.value("id", "") == used.get<std::string>();
    });
    if (found == items.end()) {
      return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kUnknownItem,
                        "the trainer uses " + used.dump() + ", which the catalog of Locus does not have", "trainer");
    }
    document["items"].push_back(*found);
  }
  return document;
}

}  // namespace

absl::StatusOr<TrainerCommand> trainer_command(const WorkerOptions& options) {
  TrainerCommand out{{options.trainer.string()}, {}};
  const fs::path folder = options.work / "plugins";
  std::error_code error;
  fs::remove_all(folder, error);
  if (options.plugins.empty()) return out;
  fs::create_directories(folder, error);
  if (error) return file_error("create", folder, error.value());
  for (const fs::path& plugin : options.plugins) {
    LOCUS_ASSIGN_OR_RETURN(const fs::path copy, copied_plugin(plugin, folder));
    out.words.insert(out.words.end(), {"--plugin", copy.string()});
    out.code.push_back(copy);
  }
  return out;
}

absl::StatusOr<Json> ask_trainer(const TrainerCommand& command, const std::string& question) {
  const std::string& trainer = command.words.front();
  if (!fs::exists(trainer)) {
    return no_trainer("no trainer at " + trainer + ": build it (it needs LibTorch), or name one with --trainer",
                      trainer);
  }
  std::vector<std::string> words = command.words;
  words.push_back(question);
  LOCUS_ASSIGN_OR_RETURN(const std::string answer, run_and_capture(words, kAnswerWithin));
  Json json = Json::parse(answer, nullptr, false);
  if (!json.is_object()) {
    return no_trainer("`" + trainer + " " + question + "` did not print a JSON object: is it a locus-trainer?",
                      trainer);
  }
  return json;
}

absl::StatusOr<TrainerCatalog> trainer_catalog(const TrainerCommand& command) {
  LOCUS_ASSIGN_OR_RETURN(const Json document, ask_trainer(command, "catalog"));
  LOCUS_ASSIGN_OR_RETURN(const Json whole, with_used_items(document));
  LOCUS_ASSIGN_OR_RETURN(Catalog catalog, Catalog::parse(whole));
  return TrainerCatalog{std::move(catalog), sha256_hex(canonical_json(document))};
}

void announce_catalog(const TrainerCatalog& catalog, Microseconds loaded_us, v1::RegisterWorkerRequest& announcement) {
  announcement.set_catalog_digest(catalog.digest);
  for (const auto& [item, revision] : catalog.catalog.revisions()) (*announcement.mutable_revisions())[item] = revision;
  for (const Extension& one : extensions_of(catalog.catalog.document())) {
    log_info("brings the extension {} of digest {} to the catalog", one.name, one.digest);
    v1::CatalogExtension& announced = *announcement.add_extensions();
    announced.set_name(one.name);
    announced.set_by(one.by);
    announced.set_digest(one.digest);
    announced.set_items_json(canonical_json(one.items));
    announced.set_loaded_us(loaded_us);
  }
}

}  // namespace locus
