// LookHere: directed heads that see part of the grid.
#include <algorithm>

#include "tests/engine/priors/reference/reference_prior.h"

namespace locus::engine::test {
namespace {

// Whether an offset (key minus query, y downwards) lies in a direction.
bool lies(const std::string& direction, std::int64_t dy, std::int64_t dx) {
  const std::int64_t high = std::abs(dy), wide = std::abs(dx);
  if (direction == "up") return dy <= 0;
  if (direction == "down") return dy >= 0;
  if (direction == "left") return dx <= 0;
  if (direction == "right") return dx >= 0;
  if (direction == "^up") return dy <= 0 && high >= wide;  // triangles
  if (direction == "^down") return dy >= 0 && high >= wide;
  if (direction == "^left") return dx <= 0 && wide >= high;
  if (direction == "^right") return dx >= 0 && wide >= high;
  throw std::invalid_argument(direction);
}

// Directions of the four heads of a group; both must hold, or either ("diagonals").
std::vector<std::pair<std::string, std::string>> directions(const std::string& group) {
  if (group.ends_with("halves")) return {{"up", "up"}, {"down", "down"}, {"left", "left"}, {"right", "right"}};
  if (group.ends_with("corners")) return {{"up", "left"}, {"up", "right"}, {"down", "left"}, {"down", "right"}};
  if (group.ends_with("triangles"))
    return {{"^up", "^up"}, {"^down", "^down"}, {"^left", "^left"}, {"^right", "^right"}};
  if (group == "eighths1") return {{"^up", "left"}, {"^down", "left"}, {"^left", "up"}, {"^right", "up"}};
  if (group == "eighths2") return {{"^up", "right"}, {"^down", "right"}, {"^left", "down"}, {"^right", "down"}};
  if (group == "diagonals") return {{"^up", "^right"}, {"^up", "^left"}, {"^down", "^right"}, {"^down", "^left"}};
  return {};
}

// One head: its group, its number within the group's heads, and how many those are.
struct Head {
  std::string group;
  std::int64_t index, count;
};

class Lookhere final : public ReferencePrior {
 public:
  Array bias(const ReferenceContext& c) override {
    Array out({c.batch, c.heads, c.tokens(), c.tokens()});
    const std::vector<Head> heads = heads_of(c);
    const double slope = layer_slope(c) * global_slope(c);
    for (std::int64_t b = 0; b < c.batch; ++b)
      for (std::int64_t n = 0; n < c.heads; ++n)
        for (std::int64_t i = c.prefix; i < c.tokens(); ++i)
          for (std::int64_t j = c.prefix; j < c.tokens(); ++j)
            out(b, n, i, j) = entry(c, heads[static_cast<std::size_t>(n)], slope, i, j);
    return out;
  }

 private:
  static double entry(const ReferenceContext& c, const Head& head, double slope, std::int64_t i, std::int64_t j) {
    double value = 0;
    if (sees(c, head.group, head.index % 4, i, j)) {
      value = -slope * head_slope(head) * distance(c, head, i, j);
    } else if (c.text("hidden") == "inf") {
      value = -3.3895313892515355e38;
    } else if (c.text("hidden") == "max") {
      double most = 0;
      for (std::int64_t a = c.prefix; a < c.tokens(); ++a)
        for (std::int64_t z = c.prefix; z < c.tokens(); ++z) most = std::max(most, distance(c, head, a, z));
      value = -slope * head_slope(head) * most;
    }
    return c.text("rounding") == "bfloat16" ? rounded(value) : value;
  }

  // To 8 bits of mantissa, ties to even.
  static double rounded(double value) {
    int exponent = 0;
    const double mantissa = std::frexp(value, &exponent);
    return std::ldexp(std::nearbyint(std::ldexp(mantissa, 8)), exponent - 8);
  }

  static bool sees(const ReferenceContext& c, const std::string& group, std::int64_t which, std::int64_t i,
                   std::int64_t j) {
    const auto list = directions(group);
    if (list.empty()) return true;
    const std::int64_t dy = c.row(j) - c.row(i), dx = c.column(j) - c.column(i);
    const auto& [one, two] = list[static_cast<std::size_t>(which)];
    return group == "diagonals" ? lies(one, dy, dx) || lies(two, dy, dx) : lies(one, dy, dx) && lies(two, dy, dx);
  }

  static double distance(const ReferenceContext& c, const Head& head, std::int64_t i, std::int64_t j) {
    const std::string& group = head.group;
    if (group == "center") {
      return std::hypot(static_cast<double>(c.row(j)) - static_cast<double>(c.extent[0] - 1) / 2,
                        static_cast<double>(c.column(j)) - static_cast<double>(c.extent[1] - 1) / 2);
    }
    const bool mixed = group.starts_with("none") && group != "none";  // none1zero3
    if (group.starts_with("zero") || (mixed && head.index % 4 >= group[4] - '0')) return 0;
    const double d =
        std::hypot(static_cast<double>(c.row(j) - c.row(i)), static_cast<double>(c.column(j) - c.column(i)));
    const std::string power = c.text("distance");
    return power == "sqrt" ? std::sqrt(d) : power == "square" ? d * d : d;
  }

  static double head_slope(const Head& head) {
    static const double kUndirected[] = {0.25, 0.0625, 0.015625, 0.00390625};
    const bool undirected = head.group.starts_with("none") || head.group.starts_with("zero") || head.group == "center";
    if (!undirected) return std::pow(0.5, 1 + head.index / 4);
    return kUndirected[head.count < 4 ? head.index : head.index * 4 / head.count];
  }

  static double layer_slope(const ReferenceContext& c) {
    if (c.text("layer_slopes") == "constant-first" || c.layers == 1) return 1.5;
    return 1.5 + (0.5 - 1.5) * static_cast<double>(c.layer) / static_cast<double>(c.layers - 1);
  }
  static double global_slope(const ReferenceContext& c) {
    if (c.number("global_slope") > 0) return c.number("global_slope");
    return c.options.at("groups").empty() && fov_of(c) == "90" ? 2 : 1;
  }

  static std::string fov_of(const ReferenceContext& c) {
    const auto by_layer = c.options.at("layer_fov").get<std::vector<std::string>>();
    return by_layer.empty() ? c.text("fov") : by_layer[static_cast<std::size_t>(c.layer) % by_layer.size()];
  }

  static std::vector<Head> heads_of(const ReferenceContext& c) {
    std::vector<std::string> groups = c.options.at("groups").get<std::vector<std::string>>();
    if (groups.empty()) {
      const std::string fov = fov_of(c);
      if (c.heads >= 12 && fov == "90") groups = {"corners", "triangles", "none"};
      if (c.heads >= 12 && fov == "45") groups = {"eighths1", "eighths2", "none"};
      if (groups.empty()) groups = {fov == "90" ? "triangles" : fov == "45" ? "eighths1" : "halves"};
      if (groups.size() == 1 && c.heads > 4) groups.emplace_back("none");
    }
    // Fours are dealt out in turn; two that are left over go to the last group, which gets no fours then.
    std::vector<std::int64_t> sizes(groups.size(), 0);
    const bool pair = c.heads % 4 == 2;
    if (pair) sizes.back() = 2;
    for (std::int64_t dealt = 4, g = 0; dealt <= c.heads; dealt += 4, ++g)
      sizes[static_cast<std::size_t>(g) % (groups.size() - (pair ? 1 : 0))] += 4;
    std::vector<Head> heads;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      std::int64_t before = 0, count = sizes[g];
      for (std::size_t o = g; o-- > 0 && groups[o] == groups[g];) before += sizes[o], count += sizes[o];
      for (std::size_t o = g + 1; o < groups.size() && groups[o] == groups[g]; ++o) count += sizes[o];
      for (std::int64_t n = 0; n < sizes[g]; ++n) heads.push_back({groups[g], before + n, count});
    }
    return heads;
  }
};

}  // namespace

std::unique_ptr<ReferencePrior> reference_lookhere() { return std::make_unique<Lookhere>(); }

}  // namespace locus::engine::test
