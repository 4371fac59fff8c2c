// Containers whose copies share what neither has changed: folds of long logs are copied for every question, and changed in a few places.
// Thread-compatible, as their copies are among one another.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

namespace locus {

// What `shared` points to, for this holder alone: copied first where others hold it; made where there is nothing.
template <class T>
T& owned(std::shared_ptr<T>& shared) {
  if (!shared) {
    shared = std::make_shared<T>();
  } else if (shared.use_count() > 1) {
    shared = std::make_shared<T>(*shared);
  } else {
    std::atomic_thread_fence(std::memory_order_acquire);  // what other holders read before they let go
  }
  return *shared;
}

// A vector in pieces. Read like a vector; changed by edit().
template <class T>
class Pieces {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;
    Iterator() = default;
    Iterator(const Pieces* of, std::size_t at) : of_(of), at_(at) {}
    reference operator*() const { return (*of_)[at_]; }
    pointer operator->() const { return &(*of_)[at_]; }
    Iterator& operator++() { return ++at_, *this; }
    Iterator operator++(int) { return {of_, at_++}; }
    bool operator==(const Iterator&) const = default;

   private:
    const Pieces* of_ = nullptr;
    std::size_t at_ = 0;
  };

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](std::size_t i) const { return (*pieces_[i / kPiece])[i % kPiece]; }
  // std::out_of_range beyond the end.
  const T& at(std::size_t i) const {
    if (i >= size_) throw std::out_of_range("an index beyond the end");
    return (*this)[i];
  }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size_}; }

  T& edit(std::size_t i) { return owned(pieces_[i / kPiece])[i % kPiece]; }
  void push_back(T value) {
    if (size_ % kPiece == 0) pieces_.emplace_back();
    std::vector<T>& last = owned(pieces_.back());
    last.reserve(kPiece);
    last.push_back(std::move(value));
    ++size_;
  }
  void clear() { *this = Pieces(); }

 private:
  static constexpr std::size_t kPiece = 64;
  std::vector<std::shared_ptr<std::vector<T>>> pieces_;  // all but the last are full
  std::size_t size_ = 0;
};

// A map in pieces, of integers.
template <class T>
class Shelves {
 public:
  // Null where there is none.
  const T* find(std::int64_t key) const {
    const auto& shelf = shelves_[place(key)];
    if (!shelf) return nullptr;
    const auto found = shelf->find(key);
    return found == shelf->end() ? nullptr : &found->second;
  }
  bool contains(std::int64_t key) const { return find(key) != nullptr; }
  T& edit(std::int64_t key) { return owned(shelves_[place(key)])[key]; }
  // Whether it was there.
  bool erase(std::int64_t key) { return contains(key) && owned(shelves_[place(key)]).erase(key) > 0; }
  void clear() { *this = Shelves(); }

 private:
  static constexpr std::size_t kShelves = 1024;
  static std::size_t place(std::int64_t key) { return static_cast<std::uint64_t>(key) % kShelves; }
  std::vector<std::shared_ptr<std::unordered_map<std::int64_t, T>>> shelves_{kShelves};
};

}  // namespace locus
