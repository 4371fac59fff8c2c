// A map that can take back what a refused call changed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>

namespace locus {

// What to undo, newest last. Thread-compatible.
class Journal {
 public:
  void add(std::function<void()> undo) { undo_.push_back(std::move(undo)); }
  void keep() { undo_.clear(); }
  void roll_back() {
    for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo) (*undo)();
    undo_.clear();
  }

 private:
  std::vector<std::function<void()>> undo_;
};

// A map whose every change is noted in the journal.
template <class Key, class Row>
class Table {
 public:
  explicit Table(Journal& journal) : journal_(journal) {}

  const std::map<Key, Row>& rows() const { return rows_; }
  bool contains(const Key& key) const { return rows_.contains(key); }
  const Row* find(const Key& key) const {
    const auto at = rows_.find(key);
    return at == rows_.end() ? nullptr : &at->second;
  }
  void put(const Key& key, Row row) {
    const auto at = rows_.find(key);
    if (at == rows_.end()) {
      rows_.emplace(key, std::move(row));
      journal_.add([this, key] { rows_.erase(key); });
    } else {
      journal_.add([this, key, before = std::exchange(at->second, std::move(row))] { rows_[key] = before; });
    }
  }
  void erase(const Key& key) {
    const auto at = rows_.find(key);
    if (at == rows_.end()) return;
    journal_.add([this, key, before = std::move(at->second)] { rows_[key] = before; });
    rows_.erase(at);
  }
  std::int64_t next_id() const requires std::is_same_v<Key, std::int64_t> {
    return rows_.empty() ? 1 : rows_.rbegin()->first + 1;
  }

 private:
  Journal& journal_;
  std::map<Key, Row> rows_;
};

}  // namespace locus
