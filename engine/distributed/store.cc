// Calls of c10d as questions to the board.
#include "engine/distributed/store.h"

#include "core/base/rendezvous.h"
#include "engine/base/stage_aborted.h"

namespace locus::engine {

LocusStore::LocusStore(Rendezvous& rendezvous, std::string prefix, std::chrono::milliseconds timeout)
    : LocusStore(std::make_shared<Way>(rendezvous), std::move(prefix), timeout) {}

LocusStore::LocusStore(std::shared_ptr<Way> way, std::string prefix, std::chrono::milliseconds timeout)
    : c10d::Store(timeout), way_(std::move(way)), prefix_(std::move(prefix)) {}

c10::intrusive_ptr<c10d::Store> LocusStore::clone() {
  return c10::intrusive_ptr<LocusStore>::unsafe_steal_from_new(new LocusStore(way_, prefix_, timeout_));
}

Json LocusStore::ask(Json question, std::chrono::milliseconds timeout) const {
  const std::lock_guard lock(way_->mutex);
  try {
    return way_->rendezvous.ask(std::move(question), timeout);
  } catch (const StageAborted&) {
    way_->aborted = std::current_exception();
    throw;
  }
}

void LocusStore::throw_abort() const {
  const std::lock_guard lock(way_->mutex);
  if (way_->aborted) std::rethrow_exception(way_->aborted);
}

Json LocusStore::keyed(const char* op, const std::string& key) const { return {{"op", op}, {"key", prefix_ + key}}; }

Json LocusStore::keyed(const char* op, const std::vector<std::string>& keys) const {
  Json named = Json::array();
  for (const std::string& key : keys) named.push_back(prefix_ + key);
  return {{"op", op}, {"keys", std::move(named)}};
}

void LocusStore::set(const std::string& key, const std::vector<std::uint8_t>& value) {
  Json question = keyed("set", key);
  question["value"] = to_hex({reinterpret_cast<const char*>(value.data()), value.size()});
  ask(std::move(question), timeout_);
}

std::vector<std::uint8_t> LocusStore::get(const std::string& key) {
  const Json answer = ask(keyed("wait", std::vector{key}), timeout_);
  const std::string bytes = from_hex(answer.at("values").at(0).get<std::string>());
  return {bytes.begin(), bytes.end()};
}

std::int64_t LocusStore::add(const std::string& key, std::int64_t value) {
  Json question = keyed("add", key);
  question["number"] = value;
  return ask(std::move(question), timeout_).at("number").get<std::int64_t>();
}

bool LocusStore::deleteKey(const std::string& key) { return ask(keyed("remove", key), timeout_).at("number") == 1; }

bool LocusStore::check(const std::vector<std::string>& keys) {
  return ask(keyed("check", keys), timeout_).at("number") == 1;
}

// Of the whole attempt: nobody counts but who asks for the keys of all.
std::int64_t LocusStore::getNumKeys() { return ask({{"op", "count"}}, timeout_).at("number").get<std::int64_t>(); }

void LocusStore::wait(const std::vector<std::string>& keys) { wait(keys, timeout_); }

void LocusStore::wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) {
  ask(keyed("wait", keys), timeout);
}

}  // namespace locus::engine
