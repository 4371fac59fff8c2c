// The items of one kind: what the kind's .def file lists, and what a program adds to that.
#pragma once

#include <algorithm>
#include <deque>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.h"
#include "core/base/nearest.h"

namespace locus::engine {

// `Entry` has a member `item` (engine/base/item.h) and a method id(). Not thread-safe: add before anything runs. An
// entry stays where it is for the life of the registry.
template <typename Entry>
class Registry {
 public:
  // `kind` is the catalog's word: "prior".
  Registry(std::string kind, std::initializer_list<Entry> entries) : kind_(std::move(kind)) {
    for (const Entry& entry : entries) add(entry);
  }

  const std::deque<Entry>& all() const { return entries_; }  // in the order they were added

  // By id or alias. Throws std::invalid_argument that names the nearest, or all there are, when there is none.
  const Entry& find(std::string_view id) const {
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return named(e, id); });
    if (found != entries_.end()) return *found;
    std::vector<std::string> known;
    for (const Entry& entry : entries_) {
      known.push_back(entry.id());
      for (const Json& alias : entry.item.json().at("aliases")) known.push_back(alias.get<std::string>());
    }
    const auto nearest = nearest_name(id, known);
    std::string list;
    for (const std::string& name : known) list += (list.empty() ? "; choose one of: " : ", ") + name;
    throw std::invalid_argument("there is no " + kind_ + " '" + std::string(id) + "'" +
                                (nearest ? "; did you mean '" + *nearest + "'?" : list));
  }

  // Throws std::logic_error when the entry is of another kind or its id or an alias is taken.
  void add(Entry entry) {
    const Json& json = entry.item.json();
    if (json.at("kind") != kind_) throw std::logic_error("'" + entry.id() + "' is no " + kind_);
    claim(entry.id());
    for (const Json& alias : json.at("aliases")) claim(alias.get<std::string>());
    entries_.push_back(std::move(entry));
  }

 private:
  static bool named(const Entry& entry, std::string_view id) {
    const Json& aliases = entry.item.json().at("aliases");
    return entry.id() == id || std::find(aliases.begin(), aliases.end(), id) != aliases.end();
  }
  void claim(const std::string& id) const {
    if (std::any_of(entries_.begin(), entries_.end(), [&](const Entry& e) { return named(e, id); }))
      throw std::logic_error("two entries of kind " + kind_ + " are called '" + id + "'");
  }

  std::string kind_;
  std::deque<Entry> entries_;
};

}  // namespace locus::engine
