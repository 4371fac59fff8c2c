// Gives the specification's values their meaning: catalog items with checked, completed options.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/catalog/catalog.h"
#include "core/experiment/plan/prior_stages.h"
#include "core/experiment/plan/specification.h"

namespace locus {

// An item named by a value, "violin" or {violin: {sigma: 0.1}}, its options as given.
struct Selection {
  const CatalogItem* item = nullptr;
  Json given = Json::object();
  std::string field;  // of the options
};

struct ResolvedPrior {
  const CatalogItem* item = nullptr;
  Json given, scientific;
  Json resolved;  // complete
  PriorStages stages;
  std::string field;

  // The complete options in a stage of the backbone; null where the prior is left out of it.
  const Json* options_in(std::size_t stage) const;
};

struct ResolvedPriors {
  std::vector<ResolvedPrior> list;
  std::string canonical;  // [{"id": ..., "options": ..., "stages": ...}] as in the stage configuration
};

struct ResolvedSection {
  const CatalogItem* item = nullptr;
  Json resolved;          // complete
  Json scientific;        // without neutral values
  std::string canonical;  // {"id": ..., "options": ...}, with the digest for a dataset; empty: it is left out of stages
};

// A factor's value in normal form.
struct NormalValue {
  Json assignment;   // as given, ids canonical
  std::string key;   // equal exactly for values that mean the same
  std::string ids;   // the same, options ignored; equal to `key` where there are none
  std::string text;  // for labels
};

// What holds for one cell: config paths to the settings that won.
using Effective = std::map<std::string_view, const Setting*>;

// Holds pointers into the catalog and the settings it was given: both outlive it. Thread-compatible.
class Resolver {
 public:
  explicit Resolver(const Catalog& catalog);

  // Remembered by the identity of the setting; the address must stay valid.
  absl::StatusOr<const ResolvedPriors*> priors(const Setting& setting);
  absl::StatusOr<const ResolvedSection*> section(const Section& section, const Effective& effective);
  absl::StatusOr<NormalValue> normal(const std::string& path, const Setting& setting);
  // The items of sections where nobody names one: id paths to ids.
  const Settings& initial() const { return initial_; }
  // What a dataset sets where the specification does not (facts.defaults): config paths to values. An option
  // that the chosen item lacks is passed over.
  const Settings& defaults_of(const CatalogItem& dataset);

  // What people call an item with these options: "violin (curves=hilbert,snake)" with every option that is not
  // at its default, those in `telling`, and what differs in single stages.
  std::string text(const CatalogItem& item, const Json& given, const std::set<std::string>& telling = {},
                   const Json& differs = Json::array()) const;

  const Catalog& catalog() const { return catalog_; }

 private:
  absl::StatusOr<Selection> select(const std::string& kind, const Json& value, const std::string& field) const;
  absl::StatusOr<ResolvedPrior> resolve_prior(const Json& value, const std::string& field) const;
  absl::StatusOr<ResolvedPriors> resolve_priors(const Setting& setting) const;
  absl::StatusOr<ResolvedSection> resolve_section(const Section& section, const Effective& effective) const;

  const Catalog& catalog_;
  Settings initial_;
  std::map<const Setting*, ResolvedPriors> priors_;
  std::map<const CatalogItem*, Settings> defaults_;
  std::map<std::vector<const void*>, ResolvedSection> sections_;
};

// Moves an error about "train.lr" to where train.lr was written, "matrix.train.lr[1]".
absl::Status relocate(const absl::Status& status, const Effective& effective);

// The images that the model of a cell is given.
struct ModelImages {
  Json extent;                                 // rows and columns; null where they vary or the catalog does not say
  const ResolvedSection* resized = nullptr;    // the section whose item gives them that extent; null: the dataset
  Json channels;                               // null where the catalog does not say
  std::optional<double> batch = std::nullopt;  // how many it is given at once in training; nothing where no recipe says
};
// Of a dataset and of what `sections` make of its images.
ModelImages model_images(const ResolvedSection& dataset, const std::vector<const ResolvedSection*>& sections);

// Numbers that constraints between items speak of: the model's options, head_width, extent and channels of the images, and
// `resized`, 1 where an item of another section than the dataset gives the extent; `maps`, how many maps of features the
// backbone can give, one of each stage or, of one stage, of each block, and `last_block`, the number of its last one, -1 where
// there are several stages; `batch`; those of one stage of the backbone, or of all.
std::map<std::string, std::vector<double>> derived_numbers(const ResolvedSection& model, const ModelImages& images,
                                                           std::optional<std::size_t> stage = std::nullopt);

// CONFLICTING_PRIORS for priors that exclude each other, CONSTRAINT_VIOLATED for requirements the rest does
// not meet.
absl::Status check_combination(const ResolvedPriors& priors, const std::string& field);
absl::Status check_together(const ResolvedPriors& priors, const ResolvedSection& model, const ResolvedSection& dataset,
                            const ModelImages& images);
absl::Status check_requirements(const CatalogItem& item, const Json& own, const ResolvedSection& model,
                                const ModelImages& images, const std::string& field,
                                std::optional<std::size_t> stage = std::nullopt);
// CONSTRAINT_VIOLATED where the task learns from what the dataset's samples do not bring (facts.target of the task,
// facts.targets of the dataset, a label each where they do not say), or where the item of a section serves other tasks
// (facts.tasks), or a stage is given options of maps (facts.of_maps) and the task makes none (facts.target). `field`: of the
// section, of the stage, or of the task.
absl::Status check_target(const CatalogItem& task, const CatalogItem& dataset, const std::string& field);
absl::Status check_map_options(const CatalogItem& stage, const Json& options, const CatalogItem& task,
                               const std::string& field);
absl::Status check_served(const CatalogItem& item, const CatalogItem& task, const std::string& field);
// CONSTRAINT_VIOLATED where the dataset's images (rank 2) differ in size and nothing gives them one, though some item of the
// catalog would.
absl::Status check_images(const ModelImages& images, const ResolvedSection& dataset, const Catalog& catalog);

}  // namespace locus
