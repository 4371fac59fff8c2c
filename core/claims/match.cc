// Finds the cells of an experiment that a claim is about.
#include "core/claims/match.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/catalog/facts.h"
#include "core/claims/measure.h"

namespace locus {
namespace {

// The sizes that papers name by a letter (Dosovitskiy et al. 2021, table 1; Touvron et al. 2021, table 1).
struct Size {
  const char* name;
  int dim, depth, heads;
};
constexpr Size kSizes[] = {
    {"-T", 192, 12, 3}, {"-S", 384, 12, 6}, {"-B", 768, 12, 12}, {"-L", 1024, 24, 16}, {"-H", 1280, 32, 16}};
constexpr const char* kPlainFamilies[] = {"ViT", "DeiT"};

// The option by which priors that compute from coordinates say what they do on another grid, and the choice
// that multiplies positions into the trained range.
constexpr const char* kOtherGrids = "other_grids";
constexpr const char* kInterpolate = "interpolate";

// The value of an option where the neutral one is left out, as configurations do.
Json option_of(const Json& options, const OptionSpec& spec) {
  const auto found = options.find(spec.name);
  if (found != options.end()) return *found;
  return spec.neutral.is_null() ? spec.default_value : spec.neutral;
}

Json option_of(const CatalogItem* item, const Json& options, const std::string& name) {
  if (item == nullptr) return nullptr;
  for (const OptionSpec& spec : item->options) {
    if (spec.name == name) return option_of(options, spec);
  }
  return nullptr;
}

bool agree(const OptionSpec& spec, Json a, Json b) {
  if (spec.unique && a.is_array() && b.is_array()) {  // a set
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
  }
  return a == b;
}

// "vit, 64 wide, 3 deep, 4 heads", or the paper's name for these sizes.
std::string model_of(const CatalogItem* item, const std::string& id, const Json& options) {
  const Json dim = option_of(item, options, "dim"), depth = option_of(item, options, "depth"),
             heads = option_of(item, options, "heads");
  if (!dim.is_number() || !depth.is_number() || !heads.is_number()) return id;
  for (const Size& size : kSizes) {
    if (dim == size.dim && depth == size.depth && heads == size.heads)
      return std::string(kPlainFamilies[0]) + size.name;
  }
  return id + " " + shown_setting(dim) + " wide, " + shown_setting(depth) + " deep, " + shown_setting(heads) + " heads";
}

// DeiT is the ViT of the same letter, trained otherwise.
std::string plain_family(const std::string& model) {
  for (const char* family : kPlainFamilies) {
    const std::string prefix = std::string(family) + "-";
    if (model.size() == prefix.size() + 1 && model.starts_with(prefix))
      return std::string(kPlainFamilies[0]) + model.substr(prefix.size() - 1);
  }
  return model;
}

// The options that keep the match from being exact; nothing when the combination is another.
std::optional<std::vector<SettingDifference>> compare_priors(const ClaimPriors& claimed, const Json& priors,
                                                             const Catalog& catalog) {
  if (!priors.is_array() || priors.size() != claimed.size()) return std::nullopt;
  std::vector<SettingDifference> out;
  for (const ClaimPrior& prior : claimed) {
    const CatalogItem* item = catalog.find("prior", prior.id);
    if (item == nullptr) return std::nullopt;
    const auto here =
        std::find_if(priors.begin(), priors.end(), [&](const Json& one) { return one.value("id", "") == item->id; });
    if (here == priors.end()) return std::nullopt;
    if (here->contains("stages"))
      out.push_back({item->id + ".stages", "the same in every stage", shown_setting((*here)["stages"]), false});
    const Json options = here->value("options", Json::object());
    for (const OptionSpec& spec : item->options) {
      if (spec.name == kOtherGrids) continue;  // the setting `interpolation`
      const Json value = option_of(options, spec);
      if (prior.stated.contains(spec.name)) {
        if (!agree(spec, prior.stated[spec.name], value)) return std::nullopt;
        continue;
      }
      const bool printed = prior.loosely.contains(spec.name);
      const bool coded = !printed && prior.code.contains(spec.name);
      const Json& said = printed ? prior.loosely : prior.code;
      const Json expected = printed || coded ? said[spec.name] : spec.default_value;
      if (!expected.is_null() && !agree(spec, expected, value))
        out.push_back({item->id + "." + spec.name, shown_setting(expected), shown_setting(value), coded});
    }
  }
  return out;
}

const Json& priors_of(const ExperimentCell& cell) {
  static const Json kNone;
  const auto found = cell.config.find("priors");
  return found == cell.config.end() ? kNone : *found;
}

std::optional<double> number(const ClaimSetting& setting, const char* name) {
  const auto found = setting.find(name);
  if (found == setting.end() || found->second.empty()) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(found->second.c_str(), &end);
  return *end == '\0' ? std::optional(value) : std::nullopt;
}

bool same(const std::string& name, const std::string& paper, const std::string& here) {
  return name == "model" ? plain_family(paper) == plain_family(here) : paper == here;
}

}  // namespace

ClaimSetting setting_of(const Json& config, const Catalog& catalog) {
  ClaimSetting out;
  const auto section = [&](const char* key, const char* kind) {
    const Json found = config.value(key, Json::object());
    const std::string id = found.value("id", "");
    return std::tuple(catalog.find(kind, id), id, found.value("options", Json::object()));
  };
  const auto put = [&](const char* name, const Json& value) {
    if (!value.is_null()) out[name] = shown_setting(value);
  };
  const auto [dataset, dataset_id, dataset_options] = section("dataset", "dataset");
  put("dataset", dataset_id);
  if (dataset != nullptr) put("resolution", native_resolution(dataset_extent(*dataset, dataset_options)));
  put("task", std::get<1>(section("task", "task")));
  const auto [model, model_id, model_options] = section("model", "backbone");
  put("model", model_of(model, model_id, model_options));
  put("patch", option_of(model, model_options, "patch"));
  put("pool", option_of(model, model_options, "pool"));
  const auto [recipe, recipe_id, recipe_options] = section("recipe", "recipe");
  put("epochs", option_of(recipe, recipe_options, "epochs"));
  put("batch", option_of(recipe, recipe_options, "batch"));
  put("lr", option_of(recipe, recipe_options, "lr"));
  put("weight-decay", option_of(recipe, recipe_options, "weight_decay"));
  put("layer-decay", option_of(recipe, recipe_options, "layer_decay"));
  put("precision", option_of(recipe, recipe_options, "precision"));
  put("warmup", option_of(recipe, recipe_options, "warmup_epochs"));
  put("drop-path", option_of(model, model_options, "drop_path"));
  const auto [task, task_id, task_options] = section("task", "task");
  put("label-smoothing", option_of(task, task_options, "label_smoothing"));
  if (const Json clip = option_of(recipe, recipe_options, "grad_clip"); clip.is_number())
    put("clip", clip == 0 ? Json("none") : clip);
  put("initialization", config.contains("init") ? Json("weights that were given") : Json("scratch"));
  const Json stage = config.value("stage", Json::object()).value("options", Json::object());
  put("selection", stage.value("keep_best", "").empty() ? "the last epoch" : "the epoch best on validation");
  for (const Section& part : catalog.sections()) {
    const auto [item, id, options] = section(part.member.c_str(), part.kind.c_str());
    if (item == nullptr) continue;
    put("resolution", native_resolution(given_extent(*item, options)));
    const Json said = item->facts.value("setting", Json::object());
    for (const auto& [name, value] : said.items()) put(name.c_str(), value);
  }
  return out;
}

Json spelled_out(const Json& priors, const Catalog& catalog) {
  if (!priors.is_array()) return priors;
  Json out = priors;
  for (std::size_t i = 0; i < priors.size(); ++i) {
    const CatalogItem* item = catalog.find("prior", priors[i].value("id", ""));
    if (item == nullptr) continue;
    const Json options = priors[i].value("options", Json::object());
    const Json parts = item->facts.value("stands_for", Json::array());
    for (const Json& part : parts) {
      const std::string name = part.value("option", "");
      const auto found = options.find(name);
      if (found == options.end() || *found != part.value("value", Json())) continue;
      out[i]["options"].erase(name);
      out.push_back({{"id", part.value("id", "")}, {"options", part.value("options", Json::object())}});
    }
  }
  return out;
}

bool interpolates(const Json& config, const Catalog& catalog, bool evaluated) {
  const Json priors = spelled_out(config.value("priors", Json::array()), catalog);
  return std::any_of(priors.begin(), priors.end(), [&](const Json& prior) {
    const CatalogItem* item = catalog.find("prior", prior.value("id", ""));
    const Json choice = option_of(item, prior.value("options", Json::object()), kOtherGrids);
    return choice == kInterpolate || (evaluated && !choice.is_null());
  });
}

std::vector<SettingDifference> compare_settings(const ClaimSetting& paper, const ClaimSetting& here, bool cost) {
  std::vector<SettingDifference> out;
  for (const SettingName& name : setting_names()) {
    const std::string key(name.name);
    const auto stated = paper.find(key);
    if (stated == paper.end() || (cost && !name.cost)) continue;
    if (key == "evaluated-at" || key == "interpolation" || (cost && key == "batch")) continue;
    const auto ours = here.find(key);
    if (ours == here.end())
      out.push_back({key, stated->second, ""});
    else if (!same(key, stated->second, ours->second))
      out.push_back({key, stated->second, ours->second});
  }
  return out;
}

ClaimMatcher::ClaimMatcher(const std::vector<ExperimentCell>& cells, const Catalog& catalog)
    : cells_(cells), catalog_(catalog) {
  for (std::size_t i = 0; i < cells.size(); ++i) combinations_[canonical_json(priors_of(cells[i]))].push_back(i);
}

const std::vector<ClaimMatcher::WithPriors>& ClaimMatcher::cells_with(const ClaimPriors& priors,
                                                                      const std::string& key) {
  const auto [known, fresh] = with_.try_emplace(key);
  if (!fresh) return known->second;
  for (const auto& [text, cells] : combinations_) {
    auto options = compare_priors(priors, spelled_out(priors_of(cells_[cells.front()]), catalog_), catalog_);
    if (!options) continue;
    const auto shared = std::make_shared<const std::vector<SettingDifference>>(*std::move(options));
    for (const std::size_t cell : cells) known->second.push_back({cell, shared});
  }
  std::sort(known->second.begin(), known->second.end(),
            [](const WithPriors& a, const WithPriors& b) { return a.cell < b.cell; });
  return known->second;
}

std::vector<ClaimedCell> ClaimMatcher::find(const ClaimValue& claim, const std::string& priors, bool cost) {
  std::vector<ClaimedCell> out;
  const auto task = claim.setting.find("task");
  if (claim.priors.empty() || (task == claim.setting.end() && !cost)) return out;
  const auto trained = number(claim.setting, "resolution"), evaluated = number(claim.setting, "evaluated-at");
  const bool elsewhere = claim.setting.contains("evaluated-at");
  if (elsewhere && (!trained || !evaluated)) return out;  // at which multiple is not said
  std::map<std::string, std::size_t> fewest;              // group -> options away from the paper's
  std::vector<std::size_t> away;
  for (const WithPriors& with : cells_with(claim.priors, priors)) {
    const ClaimSetting& here = cells_[with.cell].setting;
    const auto ours = here.find("task");
    if (task != claim.setting.end() && (ours == here.end() || ours->second != task->second)) continue;
    ClaimedCell one{.cell = with.cell, .differences = {}, .scale = {}};
    if (elsewhere && *trained != *evaluated) one.scale = *evaluated / *trained;
    if (const auto trained_here = number(here, "resolution"); one.scale && trained_here) {
      const std::string paper = shown_setting(*evaluated),
                        scaled = shown_setting(std::round(*trained_here * *one.scale * 1e6) / 1e6);
      if (paper != scaled) one.differences.push_back({"evaluated-at", paper, scaled});
    }
    const std::vector<SettingDifference> settings = compare_settings(claim.setting, here, cost);
    one.differences.insert(one.differences.end(), settings.begin(), settings.end());
    one.differences.insert(one.differences.end(), with.options->begin(), with.options->end());
    const auto [best, first] = fewest.emplace(cells_[with.cell].group, with.options->size());
    if (!first) best->second = std::min(best->second, with.options->size());
    away.push_back(with.options->size());
    out.push_back(std::move(one));
  }
  std::vector<ClaimedCell> nearest;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (away[i] == fewest[cells_[out[i].cell].group]) nearest.push_back(std::move(out[i]));
  }
  return nearest;
}

const std::vector<ClaimedCell>& ClaimMatcher::match(const ClaimValue& claim) {
  std::string priors;
  for (const ClaimPrior& prior : claim.priors)
    priors += prior.id + prior.stated.dump() + prior.loosely.dump() + prior.code.dump() + "\n";
  const Measure* measure = measure_of(claim.metric);
  const bool cost = measure != nullptr && measure->cost;
  const auto [known, fresh] = matched_.try_emplace({priors, claim.setting, cost});
  if (fresh) known->second = find(claim, priors, cost);
  return known->second;
}

std::vector<ClaimedCell> match_claim(const ClaimValue& claim, const std::vector<ExperimentCell>& cells,
                                     const Catalog& catalog) {
  return ClaimMatcher(cells, catalog).match(claim);
}

}  // namespace locus
