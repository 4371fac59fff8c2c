// One entry of the catalog, written where the thing itself is written, and the options a stage gives it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.h"

namespace locus::engine {

// Declares one option of an item (docs/formats/catalog.md). The setters return the option, to be chained.
class Option {
 public:
  static Option integer(std::string_view name, std::int64_t fallback, std::string_view help);
  static Option number(std::string_view name, double fallback, std::string_view help);
  static Option text(std::string_view name, std::string_view fallback, std::string_view help);
  static Option boolean(std::string_view name, bool fallback, std::string_view help);
  static Option required_text(std::string_view name, std::string_view help);  // without a default
  static Option list(std::string_view name, std::string_view element, Json fallback, std::string_view help);

  Option& minimum(Json value) { return set("minimum", std::move(value)); }
  Option& maximum(Json value) { return set("maximum", std::move(value)); }
  Option& above(Json value) { return set("exclusive_minimum", std::move(value)); }
  Option& choices(std::vector<std::string> values) { return set("choices", std::move(values)); }
  Option& unit(std::string_view value) { return set("unit", value); }
  Option& min_items(int value) { return set("min_items", value); }
  Option& unique() { return set("unique", true); }
  // Leaves the option out of the identity when it equals `value`.
  Option& neutral(Json value) { return set("neutral", std::move(value)); }
  // There is no default: a specification must say it.
  Option& required();
  // The option's value takes the place of this fact of the item ("classes", "splits.train").
  Option& fact(std::string_view path) { return set("fact", path); }
  // The option means something only while the option `other`, a string or a boolean ("true"), has one of `values`;
  // elsewhere Options refuses everything but the default.
  Option& when(std::string_view other, std::vector<std::string> values) {
    return set("when", {{"option", other}, {"values", std::move(values)}});
  }

  const Json& json() const { return json_; }

 private:
  Option(std::string_view name, std::string_view type, Json fallback, std::string_view help);
  Option& set(const char* key, Json value);
  Json json_;
};

// Builds an item's catalog entry.
class Item {
 public:
  Item(std::string_view kind, std::string_view id, int revision, std::string_view summary);

  Item& option(const Option& option);
  Item& constraint(Json rule);
  // States as data what is refused where it is made: settings at which `formula`, over the options, the costs and the
  // model's, is not 0 (docs/formats/catalog.md, refuses). `words` are those of the refusal behind the item's name,
  // `option` is what it is about, or empty. `each_stage`: asked of every stage of a backbone.
  Item& refuse(std::string_view formula, std::string_view words, std::string_view option = "", bool each_stage = false);
  // A published size: `size: <name>` beside the options gives these values to those that nobody writes. No option is
  // called "size", and no identity holds the name: it means its numbers.
  Item& preset(std::string_view name, Json options);
  Item& facts(Json facts);
  Item& set(const char* key, Json value);  // anything else the format knows: hooks, paper, layouts, ...

  const Json& json() const { return json_; }

 private:
  Json json_;
};

// The options a stage configuration gives an item, the absent ones filled from the catalog entry. Every
// getter throws std::invalid_argument naming the option when the entry declares none of that name or the
// value has another type.
class Options {
 public:
  // A size (Item::preset) gives what is not given beside it. Throws std::invalid_argument on a key the item does not
  // declare, on a size it does not have, and on a value other than the default where the option means nothing
  // (Option::when).
  Options(const Json& item, const Json& given);

  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  std::string text(std::string_view name) const;
  bool boolean(std::string_view name) const;
  std::vector<std::int64_t> integers(std::string_view name) const;
  std::vector<double> numbers(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;

  const Json& json() const { return values_; }

 private:
  const Json& value(std::string_view name) const;
  const Json& preset(const Json& item, const Json& size) const;
  std::string missing_condition(const Json& option) const;
  void check_meaning(const Json& option) const;
  std::string item_;
  Json values_ = Json::object();
};

}  // namespace locus::engine
