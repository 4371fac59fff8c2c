// Which cells of an experiment a claim is about, and in what their setting differs from the paper's. Pure.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/claims/claims.h"

namespace locus {

// A cell as its trials are configured.
struct ExperimentCell {
  std::int64_t ordinal = 0;
  std::string group;     // cells of one group differ in nothing but the prior
  Json config;           // canonical, of the stage that trains (core/experiment/plan/identity.cc)
  ClaimSetting setting;  // setting_of(config), worked out once for all claims
};

struct SettingDifference {
  std::string name, paper, here;  // "dataset", "imagenet-1k", "fashion-mnist"; here empty: not known of it
  bool from_code = false;         // the paper's side is known from its published code alone
};

struct ClaimedCell {
  std::size_t cell = 0;  // index into what was given
  // In what is said of the training. How it was evaluated, and the batch of a cost, only a result says.
  std::vector<SettingDifference> differences;
  std::optional<double> scale;  // evaluated at this many times the training resolution; nothing: at that itself
};

// A cell's setting, by the names of settings.def that are compared: from its configuration, and from what the
// catalog says of its items under facts.setting. What neither holds is absent.
ClaimSetting setting_of(const Json& config, const Catalog& catalog);

// The priors of a configuration, those of facts.stands_for as the priors they stand for: one spelling of every
// combination.
Json spelled_out(const Json& priors, const Catalog& catalog);

// Whether positions on another grid were multiplied into the trained range: because the evaluation did so
// (`evaluated`) with priors that can, or because a prior is set to.
bool interpolates(const Json& config, const Catalog& catalog, bool evaluated);

// The settings that differ, or that the paper states and `here` does not hold; by settings.def in its order.
// Those that results decide (evaluated-at, interpolation) are left out, and what does not matter to a cost.
std::vector<SettingDifference> compare_settings(const ClaimSetting& paper, const ClaimSetting& here, bool cost);

// Matches claims with the cells of one experiment. A paper has hundreds of claims about few combinations of
// priors, and an experiment many cells of few: every pair of combinations is compared once and remembered.
// Keeps references to both arguments. Not thread-safe.
class ClaimMatcher {
 public:
  ClaimMatcher(const std::vector<ExperimentCell>& cells, const Catalog& catalog);

  // The cells that are of the claim's task (any, where a cost names none) and have its combination of priors, in
  // whatever order and spelling: options it states agree. Of several in a group, those with the fewest other options away from the paper's. Empty for
  // a claim without priors. Valid as long as the matcher.
  const std::vector<ClaimedCell>& match(const ClaimValue& claim);

 private:
  struct WithPriors {
    std::size_t cell = 0;
    std::shared_ptr<const std::vector<SettingDifference>> options;  // away from the claim's
  };

  const std::vector<WithPriors>& cells_with(const ClaimPriors& priors, const std::string& key);
  std::vector<ClaimedCell> find(const ClaimValue& claim, const std::string& priors, bool cost);

  const std::vector<ExperimentCell>& cells_;
  const Catalog& catalog_;
  std::map<std::string, std::vector<std::size_t>> combinations_;  // cells by canonical priors
  std::map<std::string, std::vector<WithPriors>> with_;           // by a claim's priors
  std::map<std::tuple<std::string, ClaimSetting, bool>, std::vector<ClaimedCell>> matched_;
};

// One claim by itself.
std::vector<ClaimedCell> match_claim(const ClaimValue& claim, const std::vector<ExperimentCell>& cells,
                                     const Catalog& catalog);

// "dataset: imagenet-1k in the paper, fashion-mnist here".
std::string to_string(const SettingDifference& difference);

// Options of the claim's priors that are no part of their ids, as differences without our side: what print or
// code says of them.
std::vector<SettingDifference> claimed_options(const ClaimValue& claim);

// What was measured of a claim. NaN where undefined.
struct Measured {
  double mean = 0, half_width = 0;  // of the 95 % interval
  int n = 0;
  bool has_baseline = false;  // the experiment has the cell the paper compares with
  double difference = 0, difference_half_width = 0;
  int pairs = 0;
};

// "paper +4.17 over RoPE; here +0.60 (95 % +0.40 to +0.80), n = 5, other dataset and model, hardware not known
// here". A deviation is shown as ±, an interval by its ends.
std::string claim_sentence(const ClaimValue& claim, const Measured& measured,
                           const std::vector<SettingDifference>& differences);

}  // namespace locus
