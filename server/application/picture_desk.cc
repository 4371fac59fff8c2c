// Checks requests, keeps answers, hands weights to the trainer.
#include "server/application/picture_desk.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>

#include "core/base/error.h"
#include "core/base/invalid.h"
#include "core/base/sha256.h"
#include "core/limits.h"
#include "server/application/chosen_weights.h"

namespace locus::server {
namespace {

namespace fs = std::filesystem;

constexpr int kRunning = 2, kWaiting = 2;
constexpr std::int64_t kKeptBytes = 64 << 20;  // of all documents together
constexpr std::int64_t kWeightsBytes = std::int64_t{2} << 30;
constexpr std::int64_t kPairsMost = 200'000;  // heads x patches^2 of a catalog prior's picture
constexpr std::size_t kListMost = 64, kImagesMost = 16;
constexpr const char *kMemoryMib = "8192", *kSeconds = "60";  // of one drawing

// "0,7" -> [0, 7]
absl::StatusOr<std::vector<std::int64_t>> numbers_of(const std::string& field, const std::string& text,
                                                     std::size_t most) {
  std::vector<std::int64_t> out;
  const char *at = text.data(), *end = at + text.size();
  while (at != end) {
    std::int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value < 0 || (next != end && *next != ',') || (next != end && next + 1 == end))
      return invalid(field, field + " is \"" + text.substr(0, 100) + "\"; give numbers from 0 with commas between");
    out.push_back(value);
    at = next == end ? end : next + 1;
  }
  if (out.size() > most)
    return invalid(field, field + " names " + std::to_string(out.size()) + "; at most " + std::to_string(most));
  return out;
}

struct Setting {
  const char* name;
  std::int64_t given, usual, most;
};

std::optional<std::string> contents(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// Gone at the end, whatever happens.
class TemporaryFiles {
 public:
  explicit TemporaryFiles(std::vector<fs::path> files) : files_(std::move(files)) {}
  ~TemporaryFiles() {
    std::error_code ignored;
    for (const fs::path& file : files_) fs::remove(file, ignored);
  }
  TemporaryFiles(const TemporaryFiles&) = delete;
  TemporaryFiles& operator=(const TemporaryFiles&) = delete;

 private:
  std::vector<fs::path> files_;
};

absl::Status no_folder(const fs::path& folder) {
  return make_error(absl::StatusCode::kInternal, ErrorReason::kStorageFailed,
                    "cannot write to " + folder.string() + ", where pictures are kept");
}

}  // namespace

PictureDesk::PictureDesk(ArtifactStore& artifacts, const Catalogs& catalogs, PictureProgram program, fs::path folder,
                         fs::path data_root)
    : artifacts_(artifacts),
      catalogs_(catalogs),
      program_(std::move(program)),
      data_root_(std::move(data_root)),
      folder_(std::move(folder)),
      own_folder_(folder_.empty()) {
  std::error_code ignored;
  if (own_folder_) {
    std::string name = (fs::temp_directory_path(ignored) / "locus-pictures-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) folder_ = name;
  }
  if (!folder_.empty()) fs::remove_all(folder_ / "work", ignored);  // what a crash left
}

PictureDesk::~PictureDesk() {
  std::error_code ignored;
  if (own_folder_ && !folder_.empty()) fs::remove_all(folder_, ignored);
}

absl::StatusOr<v1::Drawing> PictureDesk::draw(const v1::DrawPriorRequest& request) {
  const auto catalog = catalogs_.current();
  LOCUS_ASSIGN_OR_RETURN(const CatalogItem* item, catalog->get("prior", request.prior(), "prior"));
  if (item->origin.outside()) {
    return make_error(
        absl::StatusCode::kFailedPrecondition, ErrorReason::kUnknownPrior,
        "the code of " + item->id + " is that of the extension " + item->origin.name +
            ", which this server does not have; draw it where the code is, with `LOCUS_PLUGINS=FILE locus picture`",
        "prior", {{"prior", item->id}, {"extension", item->origin.name}});
  }
  if (request.options().size() > static_cast<std::size_t>(kChunkBytes))
    return invalid("options", "options are too long");
  const Json given = request.options().empty() ? Json::object() : Json::parse(request.options(), nullptr, false);
  if (!given.is_object())
    return invalid("options", "options is no JSON object; give {\"NAME\": VALUE, ...} as the catalog names them");
  LOCUS_ASSIGN_OR_RETURN(const Json options, catalog->resolve(*item, given, "options"));
  std::vector<Setting> settings = {{"rows", request.rows(), 6, 64},
                                   {"columns", request.columns(), 6, 64},
                                   {"heads", request.heads(), 4, 32},
                                   {"head_width", request.head_width(), 16, 128},
                                   {"layers", request.layers(), std::int64_t{request.layer()} + 1, 48},
                                   {"layer", request.layer(), 0, 47},
                                   {"seed", request.seed(), 0, INT64_MAX}};
  for (Setting& one : settings) {
    if (one.given < 0 || one.given > one.most)
      return invalid(one.name, std::string(one.name) + " is " + std::to_string(one.given) + "; at most " +
                                   std::to_string(one.most));
    if (one.given == 0) one.given = one.usual;
  }
  const auto value = [&](std::size_t i) { return settings[i].given; };
  const std::int64_t patches = value(0) * value(1);
  if (value(5) >= value(4))
    return invalid("layer", "layer counts from 0 and lies below layers, " + std::to_string(value(4)));
  if (value(2) * patches * patches > kPairsMost) {
    return make_error(absl::StatusCode::kResourceExhausted, ErrorReason::kLimitExceeded,
                      std::to_string(value(2)) + " heads over " + std::to_string(patches) +
                          " patches are more than can be shown; heads times patches squared may be " +
                          std::to_string(kPairsMost),
                      "rows");
  }
  const std::vector<std::string> arguments = {"picture",      item->id,
                                              "--options",    options.dump(),
                                              "--grid",       std::to_string(value(0)) + "x" + std::to_string(value(1)),
                                              "--heads",      std::to_string(value(2)),
                                              "--head-width", std::to_string(value(3)),
                                              "--layers",     std::to_string(value(4)),
                                              "--layer",      std::to_string(value(5)),
                                              "--seed",       std::to_string(value(6)),
                                              "--memory",     kMemoryMib,
                                              "--seconds",    kSeconds};
  v1::Drawing out;
  LOCUS_ASSIGN_OR_RETURN(*out.mutable_json(), drawn(arguments, [&] { return program_.run(arguments); }));
  return out;
}

absl::StatusOr<v1::Drawing> PictureDesk::draw(const v1::DrawTrialRequest& request, const v1::TrialDetail& trial) {
  const std::string kind = request.kind().empty() ? "trained-prior" : request.kind();
  if (kind != "trained-prior" && kind != "attention")
    return invalid("kind", "kind is \"" + kind.substr(0, 100) + "\"; give \"trained-prior\" or \"attention\"");
  const std::string split = request.split().empty() ? "test" : request.split();
  if (split != "train" && split != "validation" && split != "test")
    return invalid("split", "split is \"" + split.substr(0, 100) + "\"; give train, validation or test");
  if (request.step() < 0) return invalid("step", "step is negative; give that of a checkpoint, or 0 for the newest");
  if (request.stage() < 0) return invalid("stage", "stage is negative; give that of the network, counted from 0");
  if (request.step() != 0 && !request.checkpoint().empty())
    return invalid("checkpoint", "both step and checkpoint are given; give one of them");
  LOCUS_ASSIGN_OR_RETURN(const auto layers, numbers_of("layers", request.layers(), kListMost));
  LOCUS_ASSIGN_OR_RETURN(const auto queries, numbers_of("queries", request.queries(), kListMost));
  LOCUS_ASSIGN_OR_RETURN(const auto images, numbers_of("images", request.images(), kImagesMost));
  if (kind == "attention" && images.empty())
    return invalid("images", "attention is of images; give rows of the split, such as images=0,7");
  const std::string wish = request.step() != 0 ? std::to_string(request.step()) : request.checkpoint();
  LOCUS_ASSIGN_OR_RETURN(const ChosenWeights chosen, choose_weights(trial, wish));
  const Json configuration = Json::parse(chosen.stage->config_json(), nullptr, /*allow_exceptions=*/false);
  if (!configuration.is_object()) return absl::DataLossError("the stage's configuration is no JSON object");
  Json what = {{"kind", kind},
               {"configuration", configuration},
               {"weights", chosen.sha256},
               {"layers", layers},
               {"queries", queries},
               {"images", images},
               {"split", split}};
  if (request.stage() > 0) what["stage"] = request.stage();
  v1::Drawing out;
  out.set_step(chosen.step);
  out.set_sha256(chosen.sha256);
  LOCUS_ASSIGN_OR_RETURN(*out.mutable_json(), drawn(what, [&] { return run_trained(what, chosen.sha256); }));
  return out;
}

absl::StatusOr<std::string> PictureDesk::drawn(const Json& question,
                                               const std::function<absl::StatusOr<std::string>()>& draw) {
  std::error_code ignored;
  const std::string name =
      sha256_hex(canonical_json(Json::array({question, catalogs_.current()->digest(), program_.identity})));
  const fs::path file = folder_ / (name + ".json");
  const auto kept = [&]() -> std::optional<std::string> {
    auto found = contents(file);
    if (found) fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);
    return found;
  };
  if (auto found = kept()) return *std::move(found);
  {
    absl::MutexLock lock(&mutex_);
    if (waiting_ >= kWaiting && running_ >= kRunning) {
      return make_error(absl::StatusCode::kResourceExhausted, ErrorReason::kLimitExceeded,
                        "other pictures are being drawn; ask again in a moment", "", {{"retry_seconds", "2"}});
    }
    ++waiting_;
    mutex_.Await(absl::Condition(
        +[](int* running) { return *running < kRunning; }, &running_));
    --waiting_, ++running_;
  }
  absl::StatusOr<std::string> out;
  if (auto found = kept()) {  // somebody else may have asked for the same
    out = *std::move(found);
  } else {
    out = draw();
    if (out.ok()) keep(file, *out);
  }
  absl::MutexLock lock(&mutex_);
  --running_;
  return out;
}

absl::StatusOr<std::string> PictureDesk::run_trained(const Json& request, const std::string& weights) {
  std::int64_t number = 0;
  {
    absl::MutexLock lock(&mutex_);
    number = ++number_;
  }
  const fs::path work = folder_ / "work";
  const fs::path model = work / (std::to_string(number) + ".safetensors"),
                 asked = work / (std::to_string(number) + ".json");
  std::error_code error;
  fs::create_directories(work, error);
  const TemporaryFiles temporary({model, asked});
  Json whole = request;
  if (!weights.empty()) {
    LOCUS_RETURN_IF_ERROR(copy_blob(weights, model));
    whole["weights"] = model.string();
  }
  whole["data_root"] = data_root_.string();
  std::ofstream out(asked, std::ios::binary);
  out << whole.dump();
  if (!out.flush()) return no_folder(work);
  return program_.run({"picture", "--trained", asked.string(), "--memory", kMemoryMib, "--seconds", kSeconds});
}

absl::Status PictureDesk::copy_blob(const std::string& sha256, const fs::path& to) {
  LOCUS_ASSIGN_OR_RETURN(const std::int64_t size, artifacts_.size(sha256));
  if (size > kWeightsBytes) {
    return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kLimitExceeded,
                      "the weights have " + std::to_string(size) + " bytes; the server draws models of at most " +
                          std::to_string(kWeightsBytes) + "; draw it with `locus picture`");
  }
  std::ofstream out(to, std::ios::binary);
  for (std::int64_t at = 0; at < size;) {
    LOCUS_ASSIGN_OR_RETURN(const std::string bytes, artifacts_.read(sha256, at, kChunkBytes));
    if (bytes.empty()) return absl::DataLossError("the artifact ended before its size");
    out << bytes;
    at += static_cast<std::int64_t>(bytes.size());
  }
  return out.flush() ? absl::OkStatus() : no_folder(to.parent_path());
}

// A picture that cannot be kept is drawn again: no reason to refuse it.
void PictureDesk::keep(const fs::path& file, const std::string& document) {
  std::error_code error;
  fs::create_directories(folder_, error);
  fs::path draft = file;
  draft += ".new" + std::to_string(reinterpret_cast<std::uintptr_t>(&document));
  {
    std::ofstream out(draft, std::ios::binary);
    out << document;
    if (!out.flush()) {
      fs::remove(draft, error);
      return;
    }
  }
  fs::rename(draft, file, error);
  std::vector<std::pair<fs::file_time_type, fs::path>> all;
  std::int64_t bytes = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
    if (!entry.is_regular_file(error)) continue;
    bytes += static_cast<std::int64_t>(entry.file_size(error));
    all.emplace_back(entry.last_write_time(error), entry.path());
  }
  std::sort(all.begin(), all.end());
  for (auto oldest = all.begin(); bytes > kKeptBytes && oldest != all.end(); ++oldest) {
    if (oldest->second == file) continue;
    bytes -= static_cast<std::int64_t>(fs::file_size(oldest->second, error));
    fs::remove(oldest->second, error);
  }
}

}  // namespace locus::server
