// Evaluates the formulas of a backbone, its priors and its adapters (facts.costs) over their options and the dataset's
// facts.
#include "core/experiment/plan/cost.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "core/catalog/facts.h"
#include "core/experiment/plan/decoder_cost.h"
#include "core/experiment/plan/formulas.h"

namespace locus {
namespace {

constexpr double kNumberBytes = 4;         // float32
constexpr double kCopiesOfParameters = 4;  // weights, gradients, two moments of AdamW
constexpr double kLabelBytes = 8;          // of an image in memory, beside a byte a pixel and channel
constexpr char kStageNumber = '@';         // in the name of a linear map
constexpr char kTarget[] = "target";       // the fact of tasks that learn from maps
constexpr char kDecoder[] = "decoder";     // the kind of what makes maps
constexpr char kEachMap[] = "each_map";    // the formula of what adapts linear maps

// Of images of that extent.
Json facts_of(const ResolvedSection& dataset, const Json& extent) {
  const Json facts = dataset_facts(*dataset.item, dataset.resolved);
  Json out = Json::object();
  if (extent.size() == 2) out["height"] = extent[0], out["width"] = extent[1];
  for (const char* name : {"channels", "classes", "rank"}) {
    if (facts.contains(name)) out[name] = facts[name];
  }
  return out;
}

// Where the prefix tokens are, which one prior decides and others' tables go by.
struct Prefix {
  double at_stem = 0;  // how many the stem has
  double blocks = 0;   // how many blocks have them
};

// The only stage a prior acts in, nothing where it acts in all: without hooks in blocks the last one has its loss, or the
// first one embeds (docs/formats/catalog.md, The stage configuration).
Stage only_stage(const CatalogItem& prior, std::size_t stages) {
  const auto has = [&](const char* hook) {
    return std::find(prior.hooks.begin(), prior.hooks.end(), hook) != prior.hooks.end();
  };
  const auto elsewhere = static_cast<std::size_t>(has("embed") + has("pattern") + has("loss"));
  if (prior.hooks.size() > elsewhere) return std::nullopt;
  return has("loss") ? stages - 1 : 0;
}

// Whether one of an adapter's targets, shell patterns whose star stands for any text, names that linear map.
bool targets(const Json& options, const std::string& name) {
  const Json patterns = options.value("targets", Json::array({"*"}));
  return std::any_of(patterns.begin(), patterns.end(), [&](const Json& pattern) {
    return ::fnmatch(pattern.get<std::string>().c_str(), name.c_str(), 0) == 0;
  });
}

// How many of a backbone's linear maps of that name are meant: "#" in it counts up from 0.
double adapted_count(const Json& options, const std::string& name, std::int64_t count) {
  const std::size_t number = name.find('#');
  if (number == std::string::npos) return targets(options, name) ? static_cast<double>(count) : 0;
  double out = 0;
  for (std::int64_t i = 0; i < count; ++i)
    out += targets(options, std::string(name).replace(number, 1, std::to_string(i)));
  return out;
}

// What makes maps for a task that learns from them, and says what that costs; null where there is none.
const ResolvedSection* decoder_of(const Configuration& cell) {
  if (cell.task() == nullptr || !cell.task()->item->facts.contains(kTarget)) return nullptr;
  for (std::size_t i = kSectionsOfEvery; i < cell.sections.size(); ++i) {
    const ResolvedSection* section = cell.sections[i];
    if (section != nullptr && section->item != nullptr && section->item->kind == kDecoder) return section;
  }
  return nullptr;
}

std::optional<double> nothing_beyond(const std::string&, Stage) { return std::nullopt; }

class Network {
 public:
  explicit Network(const Configuration& cell)
      : facts_(facts_of(*cell.dataset(), cell.images.extent)),
        axial_(backbone_stages(*cell.model()->item, cell.model()->resolved), 0.0),
        backbone_(cell.model()->item),
        model_(*cell.model()->item, cell.model()->resolved, axial_.size(),
               [this](const std::string& name, Stage stage) { return beside_model(name, stage); }) {
    for (std::size_t i = kSectionsOfEvery; i < cell.sections.size(); ++i) {
      const ResolvedSection* section = cell.sections[i];
      if (section != nullptr && section->item != nullptr &&
          section->item->facts.value("costs", Json::object()).contains(kEachMap))
        adapters_.push_back(section);
    }
    if (const ResolvedSection* decoder = decoder_of(cell)) {
      const double outputs = cell.task()->item->facts.value("outputs", facts_.value("classes", 0.0));
      decoder_.emplace(
          *decoder, outputs, axial_.size(),
          [this](const std::string& name, Stage stage) { return model_.named(name, stage); }, cell.images);
      facts_["classes"] = 0;  // no head of the backbone's own
    }
    if (cell.priors == nullptr) return;
    for (const ResolvedPrior& prior : cell.priors->list) add(prior);
    place_prefix();
    for (const Counted& prior : priors_) {
      for (const auto& [stage, formulas] : prior.stages)
        axial_[stage] = std::max(axial_[stage], formulas.formula("axial", stage).value_or(0));
    }
  }
  Network(const Network&) = delete;  // the formulas refer to it
  Network& operator=(const Network&) = delete;

  std::optional<double> activations() const {
    const auto own = model_.formula("activations");
    return own && decoder_ ? *own + decoder_->formula("activations").value_or(0) : own;
  }

  // Of a forward pass over one image; nothing where a prior takes parts of the blocks away.
  std::optional<double> flops() const {
    const auto replaces = [](const Counted& prior) { return prior.sum("replaced").value_or(0) != 0; };
    if (std::any_of(priors_.begin(), priors_.end(), replaces)) return std::nullopt;
    const auto own = model_.formula("flops"), more = decoder_ ? decoder_->formula("flops") : 0;
    return own && more ? std::optional(*own + *more) : std::nullopt;
  }

  void count(CellCost& out) const {
    const auto bare = model_.formula("parameters");
    double own = 0, replaced = 0;
    for (const Counted& prior : priors_) {
      const auto count = prior.sum("parameters");
      if (!count) out.uncounted.push_back(prior.id);
      own += count.value_or(0);
      replaced += prior.sum("replaced").value_or(0);
      out.training_parameters += prior.sum("training_only").value_or(0);
    }
    if (out.uncounted.empty()) out.prior_parameters = own;
    if (bare) out.parameters = *bare - replaced + own;
    if (decoder_) {
      const auto beside = decoder_->formula("parameters");
      if (!beside) out.uncounted.emplace_back(kDecoder);
      if (bare) out.parameters += beside.value_or(0);
      out.training_parameters += decoder_->formula("training_only").value_or(0);
    }
    for (const ResolvedSection* adapter : adapters_) {
      // Which maps are left where a prior takes parts of the backbone away, no formula says.
      const auto beside = replaced == 0 ? adapter_parameters(*adapter) : std::nullopt;
      if (!beside) out.uncounted.push_back(adapter->item->id);
      const bool kept = Formulas(*adapter->item, adapter->resolved, 1, nothing_beyond).formula("kept").value_or(1) != 0;
      if (bare) (kept ? out.parameters : out.training_parameters) += beside.value_or(0);
    }
  }

 private:
  struct Counted {
    std::string id;
    std::map<std::size_t, Formulas> stages;  // that it acts in, under its options there

    // Over the stages; nothing where a formula is missing or cannot be computed.
    std::optional<double> sum(const std::string& name) const {
      double out = 0;
      for (const auto& [stage, formulas] : stages) {
        const auto value = formulas.formula(name, stage);
        if (!value) return std::nullopt;
        out += *value;
      }
      return out;
    }
  };

  void add(const ResolvedPrior& prior) {
    Counted& counted = priors_.emplace_back();
    counted.id = prior.item->id;
    const Stage only = only_stage(*prior.item, axial_.size());
    for (std::size_t s = 0; s < axial_.size(); ++s) {
      const Json* options = prior.options_in(s);
      if (options == nullptr || only.value_or(s) != s) continue;
      counted.stages.try_emplace(s, *prior.item, *options, axial_.size(),
                                 [this](const std::string& name, Stage stage) { return shared(name, stage); });
    }
  }
  std::optional<double> beside_model(const std::string& name, Stage stage) const {
    if (name == "axial") return axial_[stage.value_or(0)];
    if (name == "stem_prefix") return prefix_.at_stem;
    if (name == "prefixed") return prefix_.blocks;
    return number_in(facts_, name);
  }
  // Beside all linear maps that the adapter's targets name; nothing where the backbone does not list its maps.
  std::optional<double> adapter_parameters(const ResolvedSection& adapter) const {
    const auto maps = backbone_->facts.find("linear_maps");
    if (maps == backbone_->facts.end() || !maps->is_array()) return std::nullopt;
    double out = 0;
    for (const Json& map : *maps) {
      const std::string name = map.value("name", "");
      const std::size_t number = name.find(kStageNumber);
      for (std::size_t s = 0; s < (number == std::string::npos ? 1 : axial_.size()); ++s) {
        const Stage stage = number == std::string::npos ? Stage() : s;
        const auto of_map = [&](const std::string& word, Stage) { return map_number(map, word, stage); };
        const auto count = map_number(map, "count", stage);
        const auto each = Formulas(*adapter.item, adapter.resolved, 1, of_map).formula(kEachMap);
        if (!count || !each) return std::nullopt;
        const std::string there = stage ? std::string(name).replace(number, 1, std::to_string(s)) : name;
        out += *each * adapted_count(adapter.resolved, there, std::llround(*count));
      }
    }
    return out;
  }
  // What a linear map says under that name, in a stage: a number, or a formula over what the backbone knows. It is there
  // once and is one map unless it says otherwise.
  std::optional<double> map_number(const Json& map, const std::string& name, Stage stage) const {
    const auto found = map.find(name);
    if (found == map.end()) return name == "count" || name == "joint" ? std::optional<double>(1) : std::nullopt;
    if (found->is_number()) return found->get<double>();
    return found->is_string() ? model_.value(found->get<std::string>(), stage) : std::nullopt;
  }
  std::optional<double> shared(const std::string& name, Stage stage) const {
    if (name == "blocks_before") {
      double sum = 0;
      for (std::size_t s = 0; s < stage.value_or(0); ++s) sum += model_.named("depth", s).value_or(0);
      return sum;
    }
    return model_.named(name, stage);
  }
  void place_prefix() {
    const double tokens = model_.named("prefix").value_or(0), depth = model_.named("depth").value_or(0);
    double from = 0;
    for (const Counted& prior : priors_) {
      for (const auto& [stage, formulas] : prior.stages)
        from = std::max(from, formulas.formula("prefix_from", stage).value_or(0));
    }
    from = std::min(from, depth - 1);
    prefix_ = {from > 0 ? 0 : tokens, tokens > 0 ? depth - from : 0};
  }

  Json facts_;
  std::vector<double> axial_;  // 1 for a stage in which attention runs along the axes, else 0
  const CatalogItem* backbone_;
  Formulas model_;
  std::optional<DecoderCost> decoder_;
  std::vector<const ResolvedSection*> adapters_;
  std::deque<Counted> priors_;
  Prefix prefix_;
};

// Of the training images, which are kept as bytes where they are used; none of those that are read from files as they are
// needed (facts.stored, or facts.resident false), or that have no size in common.
double resident_bytes(const ResolvedSection& dataset) {
  const Json known = dataset_facts(*dataset.item, dataset.resolved);
  if (!known.value("resident", !known.contains("stored"))) return 0;
  const Json facts = facts_of(dataset, dataset_extent(*dataset.item, dataset.resolved));
  double pixels = 1;
  for (const char* side : {"height", "width", "channels"}) pixels *= facts.value(side, 0.0);
  const auto images = static_cast<double>(images_of_split(*dataset.item, dataset.resolved, "train"));
  return pixels > 0 ? images * (pixels + kLabelBytes) : 0;
}

}  // namespace

double batch_at_once(const Json& recipe) {
  return std::ceil(recipe.value("batch", 1.0) / recipe.value("accumulate", 1.0));
}

CellCost cost_of(const Configuration& cell) {
  CellCost out;
  const Network network(cell);
  network.count(out);
  out.data_bytes = resident_bytes(*cell.dataset());
  out.flops = network.flops().value_or(-1);
  const auto activations = network.activations();
  const Json& recipe = cell.recipe()->resolved;
  const double batch = batch_at_once(recipe);
  if (out.parameters < 0 || !activations) return out;
  const double trained = out.parameters + out.training_parameters;
  out.memory_bytes = kNumberBytes * (kCopiesOfParameters * trained + batch * *activations) + out.data_bytes;
  return out;
}

}  // namespace locus
