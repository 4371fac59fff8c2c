// The specification as written, its structure checked but not yet its meaning. Of the catalog it needs the sections.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/mistakes.h"
#include "core/catalog/catalog.h"
#include "core/experiment/model.h"
#include "core/search/search.h"

namespace locus {

// A value at a config path, with the place it was written at: "matrix.prior[2]".
struct Setting {
  Json value;
  std::string label;  // given by the user, may be empty
  std::string field;
  bool fallback = false;  // nobody wrote it: a default that another choice brings
};

// Config paths to values: "prior", "dataset", "task", "model.backbone", "model.dim", "train.lr", ...
using Settings = std::map<std::string, Setting>;

struct Factor {
  std::string path;
  std::string field;
  std::vector<Setting> values;
};
using Axis = std::vector<Factor>;  // one factor of the matrix, or a zip group of equally long ones

struct Override {
  Settings where, set;
  std::string field;
};

struct StageRequest {
  std::string kind;
  Json options = Json::object();
  std::string field;  // of the options
  std::string role;   // the kind; "evaluate-2" for its second mention
};

struct MetricRequest {
  std::optional<std::string> name, reports, selects_on, direction, reduce, unit;
  std::int64_t top_seeds = 0;  // over_seeds: {top: 3}
};

// The section `search`, what it leaves to the rest of the specification not yet filled in.
struct SearchRequest {
  Search search;
  struct Geometric {
    std::int64_t least = 1, eta = 3;
  };
  std::optional<Geometric> geometric;                   // rungs: {least: 1, eta: 3}
  bool rungs = false, proposals = false, most = false;  // whether they are written
  bool whole = false;                                   // nothing in it was refused
  // What a client proposes, where it does: a value for each path of the space, checked against it already.
  std::vector<std::vector<Json>> given;
  // Proposals drawn for a group, and the first proposal with the same values, which may be itself.
  struct Drawn {
    std::vector<std::vector<Json>> values;
    std::vector<std::int64_t> first;
  };
  std::vector<Drawn> drawn;  // of each group that does not share, or one for all
};

struct Specification {
  std::string name, owner, description;
  int priority = 0;
  ServiceClass service_class = ServiceClass::kNormal;
  std::string placement;           // placement_text(); empty: anywhere
  std::int64_t stage_seconds = 0;  // 0: no limit
  double memory_gib = 1024;        // the most a training may be estimated to need
  Settings fixed;                  // everything outside the matrix
  std::vector<Axis> axes;
  std::vector<Settings> include, exclude;
  std::vector<Override> overrides;
  std::vector<std::int64_t> seeds = {0};
  std::vector<StageRequest> stages;  // beyond train
  std::optional<Settings> baseline;
  MetricRequest metric;
  std::optional<SearchRequest> search;
  bool judges = false;                             // something is chosen by its metric: its split must have images
  std::vector<std::string> matched;                // factors that alone may differ
  const std::vector<Section>* sections = nullptr;  // of the catalog, never null after parsing
  // Config paths of which something could not be read, so that nothing follows from what is missing there; ""
  // stands for all of them.
  std::set<std::string> unread;

  bool knows_all_of(const std::string& path) const { return !unread.contains("") && !unread.contains(path); }
};

// What could be read, every mistake noted: INVALID_ARGUMENT with reason and field path. Nothing when the
// document is no mapping or of another version.
std::optional<Specification> parse_specification(const Json& document, const std::vector<Section>& sections,
                                                 Mistakes& mistakes);

// INVALID_ARGUMENT with `reason`; what every refusal of a specification is.
absl::Status refuse(ErrorReason reason, std::string message, std::string field,
                    std::map<std::string, std::string> metadata = {});

}  // namespace locus
