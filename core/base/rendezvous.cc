// Questions and their answers.
#include "core/base/rendezvous.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>

namespace locus {
namespace {

std::int64_t number_in(const std::string& bytes) {
  std::int64_t out = 0;
  const char* end = bytes.data() + bytes.size();
  const auto [rest, error] = std::from_chars(bytes.data(), end, out);
  if (error != std::errc() || rest != end) throw std::invalid_argument("no number to add to: " + to_hex(bytes));
  return out;
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  throw std::invalid_argument("no hex digit: " + std::string(1, c));
}

}  // namespace

std::string to_hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char byte : bytes) {
    out += kDigits[static_cast<unsigned char>(byte) >> 4];
    out += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return out;
}

std::string from_hex(std::string_view digits) {
  if (digits.size() % 2 != 0) throw std::invalid_argument("an odd number of hex digits");
  std::string out;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    out += static_cast<char>(16 * digit(digits[i]) + digit(digits[i + 1]));
  }
  return out;
}

std::vector<RendezvousBoard::Answer> RendezvousBoard::take(int rank, const Json& question) {
  const Json& ask = question.at("ask");
  std::vector<Answer> out;
  const auto tell = [&](int to, const std::string& attempt, const Json& number, Json said) {
    said.update({{"type", kFrameStored}, {"attempt", attempt}, {"ask", number}});
    out.push_back({to, std::move(said)});
  };
  if (const auto attempt = question.at("attempt").get<std::string>(); attempt != attempt_) {
    tell(rank, attempt, ask, {{"refused", "this is attempt " + attempt_ + ", and " + attempt + " is over"}});
    return out;
  }
  if (question.at("op") == "wait") {
    auto keys = question.at("keys").get<std::vector<std::string>>();
    if (has(keys)) {
      tell(rank, attempt_, ask, {{"values", values(keys)}});
    } else {
      waiting_.push_back({rank, ask, std::move(keys)});
    }
    return out;
  }
  tell(rank, attempt_, ask, answer(question));
  std::erase_if(waiting_, [&](const Waiting& one) {
    if (!has(one.keys)) return false;
    tell(one.rank, attempt_, one.ask, {{"values", values(one.keys)}});
    return true;
  });
  return out;
}

Json RendezvousBoard::answer(const Json& question) {
  const auto op = question.at("op").get<std::string>();
  if (op == "count") return {{"number", entries_.size()}};
  if (op == "check") return {{"number", has(question.at("keys").get<std::vector<std::string>>()) ? 1 : 0}};
  const auto key = question.at("key").get<std::string>();
  if (op == "set") return put(key, from_hex(question.at("value").get<std::string>()));
  const auto found = entries_.find(key);
  if (op == "add") {
    const std::int64_t sum =
        question.at("number").get<std::int64_t>() + (found == entries_.end() ? 0 : number_in(found->second));
    Json out = put(key, std::to_string(sum));
    if (!out.contains("refused")) out["number"] = sum;
    return out;
  }
  if (op != "remove") return {{"refused", "no such operation: " + op}};
  if (found == entries_.end()) return {{"number", 0}};
  bytes_ -= key.size() + found->second.size();
  entries_.erase(found);
  return {{"number", 1}};
}

Json RendezvousBoard::put(const std::string& key, std::string bytes) {
  const auto found = entries_.find(key);
  const std::size_t before = found == entries_.end() ? 0 : key.size() + found->second.size();
  const std::size_t after = bytes_ - before + key.size() + bytes.size();
  if (after > kMostBytes) return {{"refused", "more than " + std::to_string(kMostBytes) + " bytes in one attempt"}};
  bytes_ = after;
  entries_[key] = std::move(bytes);
  return Json::object();
}

bool RendezvousBoard::has(const std::vector<std::string>& keys) const {
  return std::all_of(keys.begin(), keys.end(), [&](const std::string& key) { return entries_.contains(key); });
}

Json RendezvousBoard::values(const std::vector<std::string>& keys) const {
  Json out = Json::array();
  for (const std::string& key : keys) out.push_back(to_hex(entries_.at(key)));
  return out;
}

}  // namespace locus
