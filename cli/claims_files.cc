// The papers' claims from their YAML files.
#include "cli/claims_files.h"

#include <algorithm>
#include <vector>

#include "cli/spec_file.h"
#include "cli/text_file.h"
#include "core/base/error.h"

namespace locus {
namespace {

constexpr std::size_t kMostBytes = 16 << 20;

}  // namespace

absl::StatusOr<Json> parse_claims_text(std::string_view text, const std::string& name) {
  LOCUS_ASSIGN_OR_RETURN(const SpecFile file, SpecFile::parse(text, name));
  const auto paper = parse_paper(file.json());
  if (paper.ok()) return file.json();
  auto detail = error_detail(paper.status());
  if (!detail) return paper.status();
  const std::string where = detail->field.empty() ? name + ":1" : file.where(detail->field);
  detail->metadata["where"] = where;
  return make_error(paper.status().code(), detail->reason, where + ": " + std::string(paper.status().message()),
                    detail->field, detail->metadata);
}

absl::StatusOr<Json> read_claims_folder(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.is_regular_file() && entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  if (error || files.empty()) {
    return make_error(absl::StatusCode::kNotFound, ErrorReason::kInvalidArgument,
                      "there are no claims in " + folder.string() + "; give the folder of their YAML files", "",
                      {{"path", folder.string()}});
  }
  std::sort(files.begin(), files.end());
  Json papers = Json::array();
  for (const auto& path : files) {
    LOCUS_ASSIGN_OR_RETURN(const std::string text, read_text(path.string(), "a file of claims", kMostBytes));
    LOCUS_ASSIGN_OR_RETURN(Json paper, parse_claims_text(text, path.filename().string()));
    papers.push_back(std::move(paper));
  }
  LOCUS_RETURN_IF_ERROR(parse_claims({{"version", 1}, {"papers", papers}}).status());
  return papers;
}

std::string claims_document(const Json& papers) {
  std::string out = "{\"version\":1,\"papers\":[";
  for (std::size_t i = 0; i < papers.size(); ++i) {
    Json head = papers[i];
    head.erase("tables");
    std::string text = head.dump();
    text.pop_back();
    out += (i == 0 ? "\n" : ",\n") + text + ",\"tables\":[";
    const Json& tables = papers[i]["tables"];
    for (std::size_t t = 0; t < tables.size(); ++t) out += (t == 0 ? "\n" : ",\n") + tables[t].dump();
    out += "\n]}";
  }
  return out + "\n]}\n";
}

}  // namespace locus
