// Draws from Philox blocks: key from (seed, purpose, name), counter from (index, element, attempt).
#include "engine/base/random.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/base/sha256.h"
#include "engine/base/draws.h"

namespace locus::engine {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kLn2 = 0.69314718055994530942;
constexpr int kMostAttempts = 255;

struct Words {
  std::uint64_t first, second;
};

// Element in the low 56 bits, attempt above, index in the upper half of the counter.
Words words(PhiloxKey key, std::uint64_t index, std::uint64_t element, std::uint32_t attempt = 0) {
  const PhiloxCounter block =
      philox4x32({static_cast<std::uint32_t>(element), static_cast<std::uint32_t>(element >> 32) | attempt << 24,
                  static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32)},
                 key);
  return {block[0] | std::uint64_t{block[1]} << 32, block[2] | std::uint64_t{block[3]} << 32};
}

double unit(std::uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }                 // [0, 1)
double positive_unit(std::uint64_t word) { return static_cast<double>((word >> 11) + 1) * 0x1p-53; }  // (0, 1]

// Natural logarithm by ln(m 2^e) = e ln 2 + 2 artanh((m-1)/(m+1)), m in [1/sqrt 2, sqrt 2]. The C library's
// own picks an implementation by processor, and those differ in the last bit.
double natural_log(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < 0.70710678118654752440) {
    mantissa *= 2;
    --exponent;
  }
  const double z = (mantissa - 1) / (mantissa + 1);
  const double square = z * z;
  double sum = 0;
  for (int k = 25; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return exponent * kLn2 + 2 * z * sum;
}

// e^x for x <= 0 by e^x = 2^k e^r, r in [-ln 2 / 2, ln 2 / 2], and a Taylor series; for the same reason.
double exponential(double x) {
  const double k = std::nearbyint(x / kLn2), r = x - k * kLn2;
  double sum = 1;
  for (int i = 18; i >= 1; --i) sum = 1 + r / i * sum;
  return std::ldexp(sum, static_cast<int>(std::max(k, -2000.0)));
}

// cos(2 pi u) for u in [0, 1), folded into [0, 1/8] of a turn and summed as a Taylor series.
double cosine_of_turn(double u) {
  if (u > 0.5) u = 1 - u;
  const bool negative = u > 0.25;
  if (negative) u = 0.5 - u;
  const bool sine = u > 0.125;
  const double angle = 2 * kPi * (sine ? 0.25 - u : u);
  const double square = angle * angle;
  double sum = 1;
  for (int k = sine ? 17 : 16; k >= 2; k -= 2) sum = 1 - square / (k * (k - 1)) * sum;
  const double value = sine ? angle * sum : sum;
  return negative ? -value : value;
}

double standard_normal(Words w) {
  return std::sqrt(-2 * natural_log(positive_unit(w.first))) * cosine_of_turn(unit(w.second));
}

template <typename Draw>
at::Tensor filled(at::IntArrayRef shape, Draw draw) {
  at::Tensor out = at::empty(shape, at::kFloat);
  float* values = out.mutable_data_ptr<float>();
  const std::int64_t count = out.numel();
  for (std::int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(draw(static_cast<std::uint64_t>(i)));
  return out;
}

void append_field(std::string& text, std::string_view field) {
  text += std::to_string(field.size());
  text += ':';
  text += field;
}

PhiloxKey key_of(std::uint64_t seed, std::string_view purpose, std::string_view name) {
  std::string text = "locus-random-1:";
  append_field(text, std::to_string(seed));
  append_field(text, purpose);
  append_field(text, name);
  Sha256 hash;
  hash.update(std::string_view(text));
  const auto digest = hash.digest();
  PhiloxKey out{};
  for (std::size_t i = 0; i < 8; ++i) out[i / 4] |= static_cast<std::uint32_t>(digest[i]) << (8 * (i % 4));
  return out;
}

// What a key is made from.
struct StreamName {
  std::uint64_t seed;
  std::string purpose, name;
};
struct StreamView {
  std::uint64_t seed;
  std::string_view purpose, name;
};
StreamView view_of(const StreamName& stream) { return {stream.seed, stream.purpose, stream.name}; }
StreamView view_of(const StreamView& stream) { return stream; }

struct StreamHash {
  using is_transparent = void;
  std::size_t operator()(const auto& stream) const {
    const StreamView view = view_of(stream);
    const std::hash<std::string_view> hash;
    return static_cast<std::size_t>(view.seed) + 31 * hash(view.purpose) + 1009 * hash(view.name);
  }
};
struct StreamEqual {
  using is_transparent = void;
  bool operator()(const auto& one, const auto& other) const {
    const StreamView a = view_of(one), b = view_of(other);
    return a.seed == b.seed && a.purpose == b.purpose && a.name == b.name;
  }
};

// The same, remembered: an image takes some twenty draws by names that all images share, and a digest costs more than the
// numbers it is for. Of each thread its own, so that none waits for another.
PhiloxKey remembered_key(std::uint64_t seed, std::string_view purpose, std::string_view name) {
  constexpr std::size_t kMostKeys = 4096;
  thread_local std::unordered_map<StreamName, PhiloxKey, StreamHash, StreamEqual> keys;
  if (const auto found = keys.find(StreamView{seed, purpose, name}); found != keys.end()) return found->second;
  if (keys.size() >= kMostKeys) keys.clear();
  const PhiloxKey out = key_of(seed, purpose, name);
  keys.emplace(StreamName{seed, std::string(purpose), std::string(name)}, out);
  return out;
}

}  // namespace

PhiloxKey RandomStreams::key(std::string_view purpose, std::string_view name) const {
  return key_of(seed_, purpose, name);
}

double draw_unit(const RandomStreams& random, std::string_view purpose, std::string_view name, const DrawPlace& place) {
  return unit(words(remembered_key(random.seed(), purpose, name), place.index, place.element, place.attempt).first);
}

double draw_normal(const RandomStreams& random, std::string_view purpose, std::string_view name,
                   const DrawPlace& place) {
  return standard_normal(
      words(remembered_key(random.seed(), purpose, name), place.index, place.element, place.attempt));
}

// With x = u^(1/a) and y = v^(1/a) for u and v uniform, x / (x + y) given x + y <= 1 is Beta(a, a) (Johnk 1964).
double draw_beta(const RandomStreams& random, std::string_view purpose, std::string_view name, const DrawPlace& place,
                 double a) {
  if (!(a > 0)) throw std::invalid_argument("draw_beta needs a > 0, not " + std::to_string(a));
  const PhiloxKey k = key_of(random.seed(), purpose, name);
  if (a == 1) return unit(words(k, place.index, place.element, place.attempt).first);
  for (std::uint32_t attempt = place.attempt; attempt <= kMostAttempts; ++attempt) {
    const Words w = words(k, place.index, place.element, attempt);
    const double x = exponential(natural_log(positive_unit(w.first)) / a),
                 y = exponential(natural_log(positive_unit(w.second)) / a);
    if (x + y > 0 && x + y <= 1) return x / (x + y);
  }
  return 0.5;
}

at::Tensor draw_normals(const RandomStreams& random, std::string_view purpose, std::string_view name,
                        std::uint64_t index, std::uint64_t first, at::IntArrayRef shape) {
  const PhiloxKey k = remembered_key(random.seed(), purpose, name);
  return filled(shape, [&](std::uint64_t i) { return standard_normal(words(k, index, first + i)); });
}

at::Tensor RandomStreams::uniform(std::string_view purpose, std::string_view name, std::uint64_t index,
                                  at::IntArrayRef shape, double low, double high) const {
  const PhiloxKey k = key(purpose, name);
  const auto below = std::nextafter(static_cast<float>(high), static_cast<float>(low));
  return watched(purpose, name, filled(shape, [&](std::uint64_t i) {
                   const auto value = static_cast<float>(low + (high - low) * unit(words(k, index, i).first));
                   return value < static_cast<float>(high) ? value : below;  // rounding to float may reach the open end
                 }));
}

at::Tensor RandomStreams::normal(std::string_view purpose, std::string_view name, std::uint64_t index,
                                 at::IntArrayRef shape, double mean, double deviation) const {
  const PhiloxKey k = key(purpose, name);
  return watched(purpose, name, filled(shape, [&](std::uint64_t i) {
                   return mean + deviation * standard_normal(words(k, index, i));
                 }));
}

at::Tensor RandomStreams::watched(std::string_view purpose, std::string_view name, at::Tensor drawn) const {
  return watch_ ? watch_(purpose, name, std::move(drawn)) : drawn;
}

at::Tensor RandomStreams::truncated_normal(std::string_view purpose, std::string_view name, std::uint64_t index,
                                           at::IntArrayRef shape, double mean, double deviation, double low,
                                           double high) const {
  if (!(low < high) || !(deviation > 0)) {
    throw std::invalid_argument("truncated_normal needs low < high and deviation > 0");
  }
  const PhiloxKey k = key(purpose, name);
  return filled(shape, [&](std::uint64_t i) {
    for (std::uint32_t attempt = 0; attempt <= kMostAttempts; ++attempt) {
      const double value = mean + deviation * standard_normal(words(k, index, i, attempt));
      if (value >= low && value <= high) return value;
    }
    throw std::invalid_argument("truncated_normal: the interval lies too far out in the tail");
  });
}

at::Tensor RandomStreams::permutation(std::string_view purpose, std::string_view name, std::uint64_t index,
                                      std::int64_t size) const {
  return permutation_begin(purpose, name, index, size, size);
}

at::Tensor RandomStreams::permutation_begin(std::string_view purpose, std::string_view name, std::uint64_t index,
                                            std::int64_t size, std::int64_t count) const {
  const PhiloxKey k = key(purpose, name);
  std::vector<std::pair<std::uint64_t, std::int64_t>> order(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < size; ++i) {
    order[static_cast<std::size_t>(i)] = {words(k, index, static_cast<std::uint64_t>(i)).first, i};
  }
  if (count < size) {  // pairs are all different: which come first does not depend on how they are found
    std::nth_element(order.begin(), order.begin() + count, order.end());
    order.resize(static_cast<std::size_t>(count));
  }
  std::sort(order.begin(), order.end());
  at::Tensor out = at::empty({count}, at::kLong);
  auto* values = out.mutable_data_ptr<std::int64_t>();
  for (const auto& [word, element] : order) *values++ = element;
  return out;
}

}  // namespace locus::engine
