// Words of a search, and its proposals by index.
#include "core/search/search.h"

#include <algorithm>
#include <cmath>

#include "core/base/sha256.h"

namespace locus {
namespace {

constexpr int kHexOfSeed = 16;  // digits of a digest that make 64 bits

// How many values a dimension of a grid has.
std::int64_t grid_values(const Dimension& dimension) {
  if (dimension.kind == Dimension::Kind::kChoice) return static_cast<std::int64_t>(dimension.choices.size());
  return static_cast<std::int64_t>(dimension.high - dimension.low) + 1;
}

// The first path varies slowest, as in a matrix.
std::vector<Json> grid_point(const std::vector<Dimension>& space, std::uint64_t index) {
  std::vector<Json> out(space.size());
  for (std::size_t j = space.size(); j-- > 0;) {
    const auto values = static_cast<std::uint64_t>(grid_values(space[j]));
    const std::uint64_t at = index % values;
    index /= values;
    out[j] = space[j].kind == Dimension::Kind::kChoice
                 ? space[j].choices.at(at)
                 : Json(static_cast<std::int64_t>(space[j].low) + static_cast<std::int64_t>(at));
  }
  return out;
}

}  // namespace

const char* to_string(Proposer proposer) {
  switch (proposer) {
    case Proposer::kGrid:
      return "grid";
    case Proposer::kRandom:
      return "random";
    case Proposer::kSobol:
      return "sobol";
    case Proposer::kExternal:
      break;
  }
  return "external";
}

const char* to_string(AdvanceRule rule) {
  switch (rule) {
    case AdvanceRule::kNone:
      return "none";
    case AdvanceRule::kHalve:
      return "halve";
    case AdvanceRule::kAsha:
      return "asha";
    case AdvanceRule::kHyperband:
      return "hyperband";
    case AdvanceRule::kRace:
      break;
  }
  return "race";
}

const char* to_string(SearchResource resource) { return resource == SearchResource::kEpochs ? "epochs" : "seeds"; }

const char* to_string(SearchUnit unit) { return unit == SearchUnit::kCell ? "cell" : "trial"; }

const char* to_string(SearchHorizon horizon) { return horizon == SearchHorizon::kFull ? "full" : "rung"; }

const char* to_string(RaceRule rule) {
  switch (rule) {
    case RaceRule::kKimNelson:
      return "kn";
    case RaceRule::kHalving:
      return "halving";
    case RaceRule::kTTest:
      return "t-race";
    case RaceRule::kFriedman:
      break;
  }
  return "f-race";
}

std::vector<Json> proposal(const Search& search, std::uint64_t group_seed, std::uint64_t index) {
  if (search.proposer == Proposer::kGrid) return grid_point(search.space, index);
  const Drawing drawing = search.proposer == Proposer::kSobol ? Drawing::kSobol : Drawing::kRandom;
  const std::vector<double> u = draws(drawing, group_seed, search.space.size(), index);
  std::vector<Json> out;
  for (std::size_t j = 0; j < u.size(); ++j) out.push_back(value_at(search.space[j], u[j]));
  return out;
}

std::uint64_t group_seed(std::uint64_t seed, const std::string& group) {
  const std::string digest = sha256_hex(group);
  return mix(mix(seed) ^ std::stoull(digest.substr(0, kHexOfSeed), nullptr, 16));
}

std::int64_t grid_size(const std::vector<Dimension>& space, std::int64_t most) {
  std::int64_t out = 1;
  for (const Dimension& dimension : space) {
    if (__builtin_mul_overflow(out, grid_values(dimension), &out) || out > most) return most;
  }
  return out;
}

std::optional<std::string> outside(const Dimension& dimension, const Json& value) {
  const auto shown = [&] { return value.dump(-1, ' ', false, Json::error_handler_t::replace); };
  if (dimension.kind == Dimension::Kind::kChoice) {
    const auto& choices = dimension.choices;
    if (std::find(choices.begin(), choices.end(), value) != choices.end()) return std::nullopt;
    return shown() + " is none of " + choices.dump();
  }
  if (!value.is_number()) return shown() + " is no number";
  const double number = value.get<double>();
  if (!std::isfinite(number)) return "it is not finite";
  if (dimension.kind == Dimension::Kind::kInteger && number != std::floor(number)) return shown() + " is no integer";
  if (number < dimension.low) return shown() + " is below " + Json(dimension.low).dump();
  if (number > dimension.high) return shown() + " is above " + Json(dimension.high).dump();
  return std::nullopt;
}

}  // namespace locus
