// Formulas of the catalog over the options of an item (docs/formats/catalog.md, costs). Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/catalog/catalog.h"

namespace locus {

// A number or a boolean of that name among `options`, or whether one of them has a value: "pool.cls". A list is how
// many it holds.
std::optional<double> number_in(const Json& options, const std::string& name);

// A stage of the backbone, counted from 0; nothing outside of all.
using Stage = std::optional<std::size_t>;

// The formulas of one item over its own options, and over what else is known. Refers to the options, which outlive it.
// Thread-compatible.
class Formulas {
 public:
  using Lookup = std::function<std::optional<double>(const std::string& name, Stage stage)>;
  Formulas(const CatalogItem& item, const Json& options, std::size_t stages, Lookup beyond);

  // Nothing where there is no formula of that name, or it names what this model or dataset has not.
  std::optional<double> formula(const std::string& name, Stage stage = std::nullopt, int depth = 0) const;
  // Of an expression over the same words.
  std::optional<double> value(const std::string& text, Stage stage, int depth = 0) const;
  // Of a word: a formula, what it is in the stage, an option, or what else is known.
  std::optional<double> named(const std::string& name, Stage stage = std::nullopt, int depth = 0) const;

 private:
  std::optional<double> entry(const std::string& list, std::size_t place) const;

  const Json& options_;
  Json costs_, each_;
  std::size_t stages_;
  Lookup beyond_;
};

}  // namespace locus
