// Constraints between numbers: options of one item, or values derived from the whole model.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/catalog/catalog.h"

namespace locus {

// A name may stand for several numbers (the extents of an image); a constraint must hold for each of them.
using NamedNumbers = std::map<std::string, std::vector<double>>;

// Why `constraint` fails, as a sentence that names every value; nothing when it holds or names what is not
// there.
std::optional<std::string> violation(const Constraint& constraint, const NamedNumbers& numbers);

// Whether the condition holds for the options of an item, absent ones at their defaults.
bool holds(const Condition& when, const CatalogItem& item, const Json& options);

// The numeric options (and lists of numbers) of a resolved item.
NamedNumbers numbers_of(const Json& resolved);

}  // namespace locus
