// Specification files: YAML or JSON, read by one parser that remembers where everything stands.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/json.h"

namespace locus {

// A file of weights that a specification names by where it lies.
struct WeightsFile {
  std::string path, sha256;
};

// A parsed specification. Field paths are those the server answers with: "matrix.prior[2].violin.curves".
class SpecFile {
 public:
  // Reads `path`, or standard input for "-". INVALID_ARGUMENT with file and line when it cannot be read.
  static absl::StatusOr<SpecFile> read(const std::string& path);
  // `name` is what messages call the text. Scalars follow YAML 1.2's core schema; NaN and infinities become
  // the strings that carry them in JSON. Refused: a key given twice, several documents, unknown tags, aliases
  // that blow the document up.
  static absl::StatusOr<SpecFile> parse(std::string_view text, const std::string& name);

  // Applies "path=value", the value in YAML: "train.lr=1e-4", "replicates.seed=[0, 1]"; null takes the key
  // away.
  absl::Status set(const std::string& assignment);

  // Names the weights that models start from by their content: in section init, wherever it stands, `from: FILE` becomes
  // the `sha256` of the file, from the folder the program runs in. Reads each whole. Refused: a file that cannot be read,
  // one that is not what a `sha256` beside it says, and a list of shards, which is no single file.
  absl::Status name_weights();
  const std::vector<WeightsFile>& weights() const { return weights_; }  // those it named, each once

  const Json& json() const { return json_; }
  std::string text() const { return json_.dump(); }  // what travels to the server
  // Where a field stands, "FILE:LINE", or the nearest thing around it; empty for an empty path.
  std::string where(const std::string& field) const;

 private:
  absl::Status name_weights_below(Json& node, const std::string& path, bool within_init);
  absl::Status name_weights_of(Json& options, const std::string& path);

  Json json_;
  std::string name_;
  std::map<std::string, std::string> places_;
  std::vector<WeightsFile> weights_;
};

}  // namespace locus
