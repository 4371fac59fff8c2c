// locus import: series of other programs, beside an experiment.
#include <algorithm>
#include <filesystem>

#include "cli/command.h"
#include "cli/render/foreign.h"
#include "cli/text_file.h"
#include "core/base/invalid.h"
#include "core/foreign/event_file.h"
#include "core/foreign/wide_table.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

constexpr char kTensorBoard[] = "tensorboard", kCsv[] = "csv";

struct ImportChoice {
  ServerChoice server;
  std::vector<std::string> files, renames;
  std::string experiment, source, format, drop;
  bool dry_run = false;
};

// What one run of another program left: its files, in the order in which they were written.
struct ForeignRun {
  std::string source, format;
  std::vector<fs::path> files;
};

absl::Status no_such(const std::string& path, const std::string& what) { return invalid("file", path + " " + what); }

bool is_event_file(const fs::path& path) { return path.filename().string().find("tfevents") != std::string::npos; }

// A run a folder that holds event files, by path.
absl::StatusOr<std::vector<ForeignRun>> runs_within(const fs::path& folder) {
  std::map<std::string, ForeignRun> found;
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(folder, error);
  for (fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error), end;
       at != end; at.increment(error)) {
    if (error) break;
    if (!at->is_regular_file(error) || !is_event_file(at->path())) continue;
    const std::string within = at->path().parent_path().lexically_relative(folder).string();
    ForeignRun& run = found[within];
    run.source = within == "." ? whole.filename().string() : (whole.filename() / within).string();
    run.format = kTensorBoard;
    run.files.push_back(at->path());
  }
  if (error) return no_such(folder.string(), "cannot be read: " + error.message());
  if (found.empty())
    return no_such(folder.string(),
                   "holds no event files of TensorBoard (a name with tfevents); name CSV files one by one");
  std::vector<ForeignRun> out;
  for (auto& [name, run] : found) {
    std::ranges::sort(run.files);
    out.push_back(std::move(run));
  }
  return out;
}

absl::StatusOr<std::vector<ForeignRun>> runs_of(const std::string& path, const std::string& format) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    if (format == kCsv) return no_such(path, "is a folder; name its CSV files one by one");
    return runs_within(path);
  }
  if (!fs::exists(path, error)) return no_such(path, "is not there; check the path");
  ForeignRun run{.source = path, .format = format, .files = {path}};
  if (run.format.empty() && is_event_file(path)) run.format = kTensorBoard;
  if (run.format.empty() && fs::path(path).extension() == ".csv") run.format = kCsv;
  if (run.format.empty())
    return no_such(path, "is neither called *.csv nor *tfevents*; say what it is with --format tensorboard or csv");
  return std::vector<ForeignRun>{std::move(run)};
}

absl::StatusOr<std::map<std::string, std::string>> renames_of(const std::vector<std::string>& given) {
  std::map<std::string, std::string> out;
  for (const std::string& one : given) {
    const std::size_t mark = one.find('=');
    if (mark == std::string::npos || mark == 0 || mark + 1 == one.size())
      return invalid("rename", "--rename wants NAME=NEW, as in eval/acc=validation/top1, not \"" + one + "\"");
    out[one.substr(0, mark)] = one.substr(mark + 1);
  }
  return out;
}

struct ReadRun {
  Gathered points;
  std::vector<std::string> remarks;
};

absl::StatusOr<ReadRun> read_run(const ForeignRun& run) {
  ReadRun out;
  for (const fs::path& file : run.files) {
    const bool events = run.format == kTensorBoard;
    LOCUS_ASSIGN_OR_RETURN(const std::string bytes,
                           read_text(file.string(), events ? "an event file" : "a table",
                                     static_cast<std::size_t>(events ? kEventFileBytes : kWideTableBytes)));
    EventFileEnd end;
    const absl::Status read = events ? read_event_file(bytes, &out.points, &end) : read_wide_table(bytes, &out.points);
    if (!read.ok()) return absl::Status(invalid("file", file.string() + ": " + std::string(read.message())));
    if (end.cut_off) out.remarks.push_back(file.string() + ": its last record is not whole and was left out");
  }
  if (out.points.left_out() > 0) {
    out.remarks.push_back(run.source + ": " + std::to_string(out.points.left_out()) +
                          " values that are no scalars were left out");
  }
  return out;
}

// What add_hparams() of PyTorch and tensorboardX repeats of a run, in a folder within the run's.
bool repeats_another(const ForeignRun& run, const Gathered& points, const std::vector<ForeignRun>& all) {
  if (!points.holds_settings()) return false;
  const fs::path parent = run.files.front().parent_path().parent_path();
  return std::ranges::any_of(all, [&](const ForeignRun& one) { return one.files.front().parent_path() == parent; });
}

absl::StatusOr<v1::ForeignImport> send(Client& client, const ImportChoice& choice, const ForeignRun& run,
                                       const std::vector<ForeignSeries>& series) {
  v1::ImportSeriesRequest request;
  request.set_experiment(choice.experiment);
  request.set_source(choice.source.empty() ? run.source : choice.source);
  request.set_format(run.format);
  for (const ForeignSeries& one : series) {
    auto* to = request.add_series();
    to->mutable_key()->set_metric(one.key.metric);
    to->mutable_key()->set_split(one.key.split);
    to->mutable_key()->set_labels(one.key.labels);
    to->mutable_step()->Add(one.step.begin(), one.step.end());
    to->mutable_time_us()->Add(one.time_us.begin(), one.time_us.end());
    to->mutable_value()->Add(one.value.begin(), one.value.end());
  }
  if (!choice.dry_run) return client.import_series(request);
  v1::ForeignImport out;
  out.set_source(request.source());
  out.set_format(request.format());
  *out.mutable_series() = std::move(*request.mutable_series());
  for (auto& one : *out.mutable_series()) one.set_points(one.step_size());
  return out;
}

// The digest that begins so.
absl::StatusOr<std::string> whole_digest(const v1::ListForeignSeriesResponse& known, const std::string& beginning) {
  std::string found;
  int count = 0;
  for (const v1::ForeignImport& one : known.imports()) {
    if (!one.digest().starts_with(beginning)) continue;
    found = one.digest();
    ++count;
  }
  if (count == 1) return found;
  return make_error(absl::StatusCode::kNotFound, ErrorReason::kSeriesNotFound,
                    std::to_string(count) + " imports have a digest that begins with \"" + beginning +
                        "\"; list them with locus import --experiment",
                    "digest");
}

absl::StatusOr<int> bring(Client& client, const ImportChoice& choice) {
  std::vector<ForeignRun> runs;
  for (const std::string& path : choice.files) {
    LOCUS_ASSIGN_OR_RETURN(auto some, runs_of(path, choice.format));
    std::ranges::move(some, std::back_inserter(runs));
  }
  if (runs.size() > 1 && !choice.source.empty())
    return invalid("source", "these are " + std::to_string(runs.size()) + " runs; --source names one");
  LOCUS_ASSIGN_OR_RETURN(const auto renamed, renames_of(choice.renames));
  v1::ListForeignSeriesResponse answer;
  for (const ForeignRun& run : runs) {
    LOCUS_ASSIGN_OR_RETURN(ReadRun read, read_run(run));
    if (repeats_another(run, read.points, runs)) continue;
    auto series = read.points.series(renamed);
    if (!series.ok()) return absl::Status(invalid("file", run.source + ": " + std::string(series.status().message())));
    LOCUS_ASSIGN_OR_RETURN(*answer.add_imports(), send(client, choice, run, *series));
    for (const std::string& remark : read.remarks) std::fprintf(stderr, "%s\n", remark.c_str());
  }
  choice.server.json ? print_json(answer) : print(render_imports(answer, choice.dry_run));
  return kExitDone;
}

absl::StatusOr<int> run(Client& client, const ImportChoice& choice) {
  if (!choice.drop.empty()) {
    v1::RemoveImportRequest request;
    request.set_experiment(choice.experiment);
    v1::ListForeignSeriesRequest list;
    list.set_experiment(choice.experiment);
    LOCUS_ASSIGN_OR_RETURN(const auto known, client.list_foreign_series(list));
    LOCUS_ASSIGN_OR_RETURN(const std::string digest, whole_digest(known, choice.drop));
    request.set_digest(digest);
    LOCUS_ASSIGN_OR_RETURN(const v1::ForeignImport gone, client.remove_import(request));
    choice.server.json ? print_json(gone) : print(gone.source() + " is gone from " + choice.experiment + "\n");
    return kExitDone;
  }
  if (!choice.files.empty()) return bring(client, choice);
  v1::ListForeignSeriesRequest request;
  request.set_experiment(choice.experiment);
  LOCUS_ASSIGN_OR_RETURN(const v1::ListForeignSeriesResponse answer, client.list_foreign_series(request));
  choice.server.json ? print_json(answer) : print(render_imports(answer, false));
  return kExitDone;
}

}  // namespace

void add_import(Program& app) {
  Command& command = add_command(
      app, {"import",
            kDataGroup,
            "Put series of other programs beside an experiment, to look at: TensorBoard's event files, CSV",
            "They are drawn dashed with the experiment's curves, marked foreign, and never ranked, compared or tested: "
            "nobody "
            "knows how they were made. A folder is searched for event files, a run a folder. A CSV file has a header, "
            "a column "
            "`step` and a column a series. A series called train/loss is drawn with loss of the split train. The same "
            "run again "
            "changes nothing. Without a file, lists what was imported (docs/import.md).",
            {{"locus import runs/ --experiment fashion-mnist-priors", "Every run within the folder"},
             {"locus import other.csv --experiment fashion-mnist-priors --rename acc=validation/top1", "A table"},
             {"locus import --experiment fashion-mnist-priors", "What there is"},
             {"locus import --experiment fashion-mnist-priors --drop 3fa9c21e", "Let go of one"}}});
  auto choice = std::make_shared<ImportChoice>();
  add_server_options(command, choice->server);
  command.add_option("files", choice->files, "Event files, folders that hold some, CSV files")->type_name("");
  command.add_option("--experiment", choice->experiment, "Beside which experiment")
      ->type_name("EXPERIMENT")
      ->required();
  command.add_option("--format", choice->format, "What the files are (default: by their names)")
      ->type_name("FORMAT")
      ->one_of({kTensorBoard, kCsv});
  command.add_option("--source", choice->source, "What the run is called (default: its file or folder)")
      ->type_name("TEXT");
  command.add_option("--rename", choice->renames, "Another name for a series; several times for several")
      ->type_name("NAME=NEW");
  command.add_flag("--dry-run", choice->dry_run, "Only say what would be imported");
  command.add_option("--drop", choice->drop, "Let go of the import with this digest, or its beginning")
      ->type_name("DIGEST");
  command.body = [choice] { return ask_server(choice->server, [&](Client& client) { return run(client, *choice); }); };
}

}  // namespace locus
