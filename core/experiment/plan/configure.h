// From drafts of cells to configurations: what holds in each, resolved and checked.
#pragma once

#include <optional>
#include <vector>

#include "core/experiment/plan/contract.h"
#include "core/experiment/plan/expansion.h"
#include "core/experiment/plan/identity.h"

namespace locus {

struct Configured {
  std::vector<Configuration> cells;   // of the drafts, in order
  std::vector<CellCost> costs;        // of these
  std::vector<ResolvedStage> stages;  // of every cell
  MetricContract metric;
  std::vector<std::string> warnings;
};

// Notes every mistake, and is empty where there was one. `surveyed`: the drafts are from survey(), so values
// that only break a rule together are left alone, for they may never meet.
std::optional<Configured> configure(const Specification& spec, const std::vector<CellDraft>& drafts, bool surveyed,
                                    Resolver& resolver, Mistakes& mistakes);

// The settings that win in a cell: defaults, then what is fixed, then the assignment, then overrides.
Effective effective_settings(const Specification& spec, const CellDraft& cell, const Resolver& resolver);
// Adds what a dataset sets where the specification says nothing (facts.defaults), be it an option or an item.
void add_defaults_of(const CatalogItem& dataset, Resolver& resolver, Effective& settings);

}  // namespace locus
