// The catalog as data (docs/formats/catalog.md): what items exist, which options they take, what excludes what.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/json.h"

namespace locus {

// Holds while the option `option` of the same item, a string or a boolean ("true"), has one of `values`; always without an
// option.
struct Condition {
  std::string option;
  std::vector<std::string> values;
};

struct OptionSpec {
  std::string name, type, element, unit, help;  // type: integer number string boolean list
  Json default_value, neutral;                  // null when absent
  bool required = false, unique = false;
  std::vector<std::string> choices;
  std::optional<double> minimum, maximum, exclusive_minimum;
  int min_items = 0;
  Condition when;    // elsewhere the option means nothing and keeps its default
  std::string fact;  // the fact of the item whose place the value takes: "classes", "splits.train"; or empty
};

struct Constraint {  // normalized from the JSON's rules
  std::string rule, left, right, help;
  double factor = 0;  // of multiple-of; what at-least asks for
  Condition when;
};

struct ConditionalExclusion {
  Condition when;
  std::vector<std::string> excludes;
  std::string help;
};

// Settings that an item refuses: where the formula is not 0.
struct RefusedSetting {
  std::string formula;
  std::string words;        // why, and what to do; "{rows}" stands for the value of a formula
  std::string option;       // that it is about, or empty
  bool each_stage = false;  // of a backbone: asked of every stage
};

// Whose item it is; empty: this tree's.
struct Origin {
  std::string name, by, digest;  // as of Extension (core/catalog/extension.h)
  bool outside() const { return !name.empty(); }
};
inline constexpr char kPluginOrigin[] = "plugin";      // run by the engine, which loads it
inline constexpr char kTrainingOrigin[] = "training";  // run by a program of its own in the trainer's place

struct CatalogItem {
  std::string kind, id, summary, paper, formula;
  std::vector<std::string> aliases, hooks, provides, excludes;
  int revision = 1;
  std::vector<OptionSpec> options;
  std::map<std::string, Json>
      presets;  // published sizes: of each the options it gives where nobody writes them, checked
  std::vector<Constraint> constraints, requirements;
  std::vector<ConditionalExclusion> exclusions;
  std::vector<RefusedSetting> refusals;
  std::vector<int> layout_ranks;
  Json facts = Json::object();
  Origin origin;

  bool has_option(std::string_view name) const;
};

// A part of a specification that chooses one item and its options: `model`, an item of kind backbone. Those of
// sections.def are in every specification and come first, in this order; a catalog declares further ones.
struct Section {
  std::string key;      // of the specification: "model"
  std::string kind;     // of its items: "backbone"
  std::string id_path;  // "model.backbone"; equal to `key` where one value holds id and options: {id: {options}}
  std::string member;   // of the stage configuration: "model"
  std::string initial;  // the item where none is named; empty: one must be
  std::string neutral;  // the item that is left out of the stage configuration, as if nobody knew the section; or empty
  std::string help;
};
// The key, beside the options of an item with presets, that names one of them; no option of such an item is called that.
inline constexpr char kSizeKey[] = "size";

enum SectionPlace : std::size_t { kDatasetSection, kTaskSection, kModelSection, kTrainSection, kSectionsOfEvery };
const std::vector<Section>& sections_of_every();  // those of sections.def; thread-safe

// Immutable after parse; thread-safe.
class Catalog {
 public:
  // INVALID_ARGUMENT when the document breaks docs/formats/catalog.md, duplicates included.
  static absl::StatusOr<Catalog> parse(const Json& document);

  const Json& document() const { return document_; }
  const std::string& digest() const { return digest_; }  // SHA-256 of the document's RFC 8785 form
  const std::vector<CatalogItem>& items() const { return items_; }
  const std::vector<Section>& sections() const { return sections_; }
  const CatalogItem* find(std::string_view kind, std::string_view id_or_alias) const;
  // The item, or UNKNOWN_PRIOR / UNKNOWN_ITEM naming the nearest known id.
  absl::StatusOr<const CatalogItem*> get(std::string_view kind, std::string_view id, const std::string& field) const;
  // `given` checked (unknown keys with the nearest name, types, ranges, choices, constraints) and completed: by the preset
  // that its `size` names, where the item has presets, then with defaults. The size itself is not in the answer.
  absl::StatusOr<Json> resolve(const CatalogItem& item, const Json& given, const std::string& field) const;
  // `resolved` without the options at their neutral value: what is hashed.
  Json scientific(const CatalogItem& item, const Json& resolved) const;
  std::map<std::string, int> revisions() const;  // "prior/violin" -> 1

 private:
  Json document_;
  std::string digest_;
  std::vector<CatalogItem> items_;
  std::vector<Section> sections_;
};

}  // namespace locus
