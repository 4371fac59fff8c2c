// When a daemon ends by itself.
#include "worker/app/lifetime.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace locus {
namespace {

// What is idle is looked at this often, since work may end without a word: a tenth of what it may be.
constexpr Microseconds kLookLeast = 10'000, kLookMost = 5'000'000;

std::string for_people(Microseconds time) {
  const Microseconds seconds = time / 1'000'000;
  if (seconds >= 7200) return std::to_string(seconds / 3600) + " h";
  return seconds >= 120 ? std::to_string(seconds / 60) + " min" : std::to_string(seconds) + " s";
}

}  // namespace

std::optional<Microseconds> length_of_life(Microseconds lifetime, const char* job_end, Microseconds wall,
                                           Microseconds drain) {
  std::optional<Microseconds> out;
  if (lifetime > 0) out = lifetime;
  if (job_end == nullptr) return out;
  std::int64_t seconds = 0;
  const char* last = job_end + std::strlen(job_end);
  const auto [end, error] = std::from_chars(job_end, last, seconds);
  constexpr std::int64_t kFar = 1LL << 40;  // seconds; what is later is a way to say never
  if (error != std::errc() || end != last || seconds <= 0 || seconds > kFar) return out;
  const Microseconds left = std::max<Microseconds>(0, seconds * 1'000'000 - wall);
  const Microseconds life = std::max(left - drain, left / 2);
  return std::min(life, out.value_or(life));
}

std::string Lifetime::over() const {
  const Microseconds now = clock_.steady();
  if (rules_.length && now - born_ >= *rules_.length) return "its time of " + for_people(*rules_.length) + " is over";
  if (rules_.idle > 0 && now - worked_ >= rules_.idle) return "nothing to do for " + for_people(rules_.idle);
  return "";
}

std::optional<Microseconds> Lifetime::next_look() const {
  std::optional<Microseconds> next = left();
  if (rules_.idle > 0) {
    const Microseconds look = std::clamp(rules_.idle / 10, kLookLeast, kLookMost);
    next = std::min(look, next.value_or(look));
  }
  return next;
}

int Lifetime::poll_timeout() const {
  constexpr std::int64_t kDay = 86'400'000;
  const auto look = next_look();
  return look ? static_cast<int>(std::min(*look / 1000 + 1, kDay)) : -1;  // rounded up: too early is in vain
}

std::optional<Microseconds> Lifetime::left() const {
  if (!rules_.length) return std::nullopt;
  return std::max<Microseconds>(0, born_ + *rules_.length - clock_.steady());
}

}  // namespace locus
