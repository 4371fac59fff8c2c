// Specification files and changes to them from the command line.
#include "cli/spec_file.h"

#include <algorithm>

#include "cli/text_file.h"
#include "cli/yaml.h"
#include "core/base/error.h"
#include "core/base/utf8.h"
#include "core/limits.h"

namespace locus {
namespace {

absl::Status invalid(const std::string& message, const std::string& where = "") {
  return make_error(
      absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidSpecification, message, "",
      where.empty() ? std::map<std::string, std::string>() : std::map<std::string, std::string>{{"where", where}});
}

// A step down into a document: a key or an index.
struct Step {
  std::string key;
  std::size_t index = 0;
  bool indexed = false;
};

// "zip[0].train.lr" -> zip, [0], train.lr. Below matrix, baseline and the entries of lists that hold factors,
// a key is a whole config path, dots included.
absl::StatusOr<std::vector<Step>> parse_path(const std::string& path) {
  std::vector<Step> steps;
  const auto bad = [&path] {
    return invalid("'" + path +
                   "' is not a path into the specification; write it as in train.lr, matrix.prior or "
                   "stages[0].evaluate");
  };
  for (std::size_t at = 0; at < path.size();) {
    if (path[at] == '[') {
      const std::size_t close = path.find(']', at);
      const std::string digits = close == std::string::npos ? "" : path.substr(at + 1, close - at - 1);
      if (digits.empty() || digits.size() > 6 || digits.find_first_not_of("0123456789") != std::string::npos)
        return bad();
      steps.push_back({"", std::stoul(digits), true});
      at = close + 1;
      if (at < path.size() && path[at] == '.') ++at;
      continue;
    }
    const std::string& top = steps.empty() ? "" : steps.front().key;
    const bool holds_paths = top == "matrix" || top == "baseline" || top == "zip" || top == "include" ||
                             top == "exclude" || (top == "overrides" && steps.size() >= 3);
    const std::size_t end = std::min(path.find_first_of(holds_paths ? "[" : ".[", at), path.size());
    if (end == at || end - at > kYamlKeyBytes) return bad();
    steps.push_back({path.substr(at, end - at), 0, false});
    at = end;
    if (at < path.size() && path[at] == '.') ++at;
    if (at == path.size() && path.back() == '.') return bad();
  }
  if (steps.empty() || steps.front().indexed) return bad();
  return steps;
}

}  // namespace

absl::StatusOr<SpecFile> SpecFile::read(const std::string& path) {
  LOCUS_ASSIGN_OR_RETURN(const std::string text, read_text(path, "a specification", kSpecBytes));
  return parse(text, path == "-" ? "<stdin>" : path);
}

absl::StatusOr<SpecFile> SpecFile::parse(std::string_view text, const std::string& name) {
  SpecFile out;
  out.name_ = name;
  auto document = parse_yaml(text);
  if (!document.ok()) {
    const auto detail = error_detail(document.status());
    const std::string line = detail ? detail->metadata.at("line") : "1";
    return invalid(std::string(document.status().message()), name + ":" + line);
  }
  if (!document->json.is_object()) {
    return invalid(document->json.is_null() ? "the specification is empty; see examples/ for some that run"
                                            : "a specification is a mapping of keys, as in name: my-comparison",
                   name + ":1");
  }
  out.json_ = std::move(document->json);
  for (const auto& [path, line] : document->lines) out.places_[path] = name + ":" + std::to_string(line);
  return out;
}

absl::Status SpecFile::set(const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    return invalid("'" + assignment + "' is not path=value, as in train.lr=1e-4", "--set");
  }
  const std::string path = assignment.substr(0, equals);
  if (first_not_utf8(path)) return invalid("the path " + valid_utf8(path) + " is not UTF-8; write it anew", "--set");
  LOCUS_ASSIGN_OR_RETURN(const std::vector<Step> steps, parse_path(path));
  auto value = parse_yaml(assignment.substr(equals + 1));
  if (!value.ok()) return invalid(std::string(value.status().message()), "--set " + assignment);
  Json* at = &json_;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    const bool last = i + 1 == steps.size();
    if (step.indexed) {
      if (!at->is_array() || step.index >= at->size()) {
        return invalid("the specification has no " + path + "; lists can be replaced as a whole",
                       "--set " + assignment);
      }
      at = &(*at)[step.index];
      continue;
    }
    if (at->is_null()) *at = Json::object();
    if (!at->is_object())
      return invalid("the specification holds no mapping on the way to " + path, "--set " + assignment);
    if (last && value->json.is_null()) {
      at->erase(step.key);
      return absl::OkStatus();
    }
    at = &(*at)[step.key];
  }
  *at = std::move(value->json);
  std::erase_if(places_, [&path](const auto& place) {
    return place.first.starts_with(path) &&
           (place.first.size() == path.size() || place.first[path.size()] == '.' || place.first[path.size()] == '[');
  });
  places_[path] = "--set " + assignment;
  return absl::OkStatus();
}

std::string SpecFile::where(const std::string& field) const {
  for (std::string path = field; !path.empty();) {
    if (const auto found = places_.find(path); found != places_.end()) return found->second;
    const std::size_t cut = path.find_last_of(".[");
    if (cut == std::string::npos) break;
    path.resize(cut);
  }
  return field.empty() ? "" : name_;
}

}  // namespace locus
