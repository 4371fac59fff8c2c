// M from ranks along curves that are walked here once more.
#include <algorithm>

#include "tests/engine/priors/reference/box_walks.h"
#include "tests/engine/priors/reference/reference_prior.h"

namespace locus::engine::test {
namespace {

using Cell = std::pair<std::int64_t, std::int64_t>;  // row, column

std::vector<Cell> snake(std::int64_t rows, std::int64_t columns) {
  std::vector<Cell> path;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) path.push_back({r, r % 2 ? columns - 1 - c : c});
  }
  return path;
}

std::vector<Cell> zigzag(std::int64_t rows, std::int64_t columns) {
  std::vector<Cell> path = snake(rows, columns);
  std::sort(path.begin(), path.end(), [](const Cell& a, const Cell& b) {
    const std::int64_t da = a.first + a.second, db = b.first + b.second;
    if (da != db) return da < db;
    return da % 2 == 0 ? a.first > b.first : a.second > b.second;
  });
  return path;
}

std::vector<Cell> morton(std::int64_t rows, std::int64_t columns) {
  const auto key = [](const Cell& cell) {
    std::int64_t out = 0;
    for (int bit = 0; bit < 16; ++bit)
      out += (cell.second >> bit & 1) * (std::int64_t{1} << 2 * bit) +
             (cell.first >> bit & 1) * (std::int64_t{2} << 2 * bit);
    return out;
  };
  std::vector<Cell> path = snake(rows, columns);
  std::sort(path.begin(), path.end(), [&](const Cell& a, const Cell& b) { return key(a) < key(b); });
  return path;
}

// The generalized Hilbert curve of section 3.16: cell p, major and minor vectors (rows, columns).
void hilbert(Cell p, Cell a, Cell b, std::vector<Cell>& path) {
  const auto length = [](Cell v) { return std::abs(v.first) + std::abs(v.second); };
  const auto unit = [](Cell v) {
    const auto sign = [](std::int64_t s) { return std::int64_t{s > 0} - std::int64_t{s < 0}; };
    return Cell{sign(v.first), sign(v.second)};
  };
  const auto plus = [](Cell u, Cell v, std::int64_t s = 1) {
    return Cell{u.first + s * v.first, u.second + s * v.second};
  };
  const auto half = [](Cell v) {
    const auto floor2 = [](std::int64_t s) { return s >= 0 ? s / 2 : -((-s + 1) / 2); };
    return Cell{floor2(v.first), floor2(v.second)};
  };
  const std::int64_t w = length(a), h = length(b);
  if (h == 1 || w == 1) {
    const Cell step = unit(h == 1 ? a : b);
    for (std::int64_t i = 0; i < (h == 1 ? w : h); ++i) path.push_back(plus(p, step, i));
    return;
  }
  Cell a2 = half(a), b2 = half(b);
  if (2 * w > 3 * h) {
    if (length(a2) % 2 && w > 2) a2 = plus(a2, unit(a));
    hilbert(p, a2, b, path);
    hilbert(plus(p, a2), plus(a, a2, -1), b, path);
    return;
  }
  if (length(b2) % 2 && h > 2) b2 = plus(b2, unit(b));
  hilbert(p, b2, a2, path);
  hilbert(plus(p, b2), a, plus(b, b2, -1), path);
  const Cell start = plus(plus(p, plus(a, unit(a), -1)), plus(b2, unit(b2), -1));
  hilbert(start, {-b2.first, -b2.second}, {a2.first - a.first, a2.second - a.second}, path);
}

std::vector<Cell> walk(const std::string& curve, std::int64_t rows, std::int64_t columns) {
  if (curve == "snake") return snake(rows, columns);
  if (curve == "zigzag") return zigzag(rows, columns);
  if (curve == "peano") return morton(rows, columns);
  std::vector<Cell> path;
  hilbert({0, 0}, {0, columns}, {rows, 0}, path);
  return path;
}

// Rank of every patch, row-major.
std::vector<std::int64_t> ranks(const std::string& name, std::int64_t rows, std::int64_t columns) {
  const std::size_t cut = name.find("-transposed");
  const bool transposed = cut != std::string::npos;
  const auto path = transposed ? walk(name.substr(0, cut), columns, rows) : walk(name, rows, columns);
  std::vector<std::int64_t> out(path.size());
  for (std::size_t r = 0; r < path.size(); ++r) {
    const auto [row, column] = transposed ? Cell{path[r].second, path[r].first} : path[r];
    out[static_cast<std::size_t>(row * columns + column)] = static_cast<std::int64_t>(r);
  }
  return out;
}

class Violin final : public ReferencePrior {
 public:
  Array scale(const ReferenceContext& c) override {
    if (!c.text("apply").starts_with("mul-logits")) return {};
    Array m = mask(c);
    if (c.text("apply") == "mul-logits-res") {
      for (Real& entry : m.data()) entry += 1.0;
    }
    return m;
  }
  bool scales_biases(const ReferenceContext& c) override { return c.text("bias_order") == "before"; }
  Array bias(const ReferenceContext& c) override { return c.text("apply") == "add-logits" ? mask(c) : Array(); }
  void probabilities(const ReferenceContext& c, Array& p) override {
    if (!c.text("apply").ends_with("probs")) return;
    const Array m = mask(c);
    for (std::size_t i = 0; i < p.data().size(); ++i)
      p.data()[i] = c.text("apply") == "mul-probs" ? p.data()[i] * m.data()[i] : p.data()[i] + m.data()[i];
  }

 private:
  // alpha M
  static Array mask(const ReferenceContext& c) {
    const std::vector<std::vector<std::int64_t>> rows = distances(c);
    const std::vector<Real> learned = c.text("distance") == "learned-order" ? soft_ranks(c) : std::vector<Real>();
    Array out({c.batch, c.heads, c.tokens(), c.tokens()});
    for (std::int64_t n = 0; n < c.heads; ++n) {
      const Real alpha = c.own("alpha")(n);
      for (std::int64_t i = 0; i < c.tokens(); ++i) {
        for (std::int64_t j = 0; j < c.tokens(); ++j) {
          Real m = c.text("prefix") == "learned" && c.has_own("prefix") ? c.own("prefix")(n) : Real(1.0);
          if (c.patch(i) && c.patch(j)) {
            m = learned.empty() ? entry(c, rows, n, i - c.prefix, j - c.prefix)
                                : exp(log_lambda(c, 0, n) * stretch(c) *
                                      abs(learned[at(i - c.prefix)] - learned[at(j - c.prefix)]));
          }
          for (std::int64_t b = 0; b < c.batch; ++b) out(b, n, i, j) = alpha * m;
        }
      }
    }
    return out;
  }

  static Real entry(const ReferenceContext& c, const std::vector<std::vector<std::int64_t>>& rows, std::int64_t n,
                    std::int64_t i, std::int64_t j) {
    const bool manhattan = c.text("distance") == "manhattan";
    Real m = manhattan ? 1.0 : 0.0;
    for (std::size_t axis = 0; manhattan && axis < c.extent.size(); ++axis) {
      const auto apart = static_cast<double>(std::abs(c.at(i + c.prefix, axis) - c.at(j + c.prefix, axis)));
      m *= power(c, c.flag("separate_axes") ? static_cast<std::int64_t>(axis) : 0, n, apart);
    }
    if (manhattan) return m;
    if (c.text("cross_frame") == "one" && frame(c, i) != frame(c, j)) return 1.0;
    for (std::size_t curve = 0; curve < rows.size(); ++curve) {
      const std::int64_t e =
          std::abs(rows[curve][static_cast<std::size_t>(i)] - rows[curve][static_cast<std::size_t>(j)]);
      const auto at = static_cast<std::int64_t>(curve);
      const Real weight = c.has_own("weights") ? c.own("weights")(at, n) : Real(1 / static_cast<double>(rows.size()));
      m += weight * power(c, at, n, static_cast<double>(e) * stretch(c));
    }
    return m;
  }

  static double stretch(const ReferenceContext& c) {
    if (c.text("ranks") != "scaled") return 1;
    const auto counted = [&](const std::vector<std::int64_t>& extent) {  // patches that one curve goes through
      double product = 1;
      for (std::size_t axis = per_frame(c) ? extent.size() - 2 : 0; axis < extent.size(); ++axis)
        product *= static_cast<double>(extent[axis]);
      return product;
    };
    return counted(c.reference_extent) / counted(c.extent);
  }

  static bool per_frame(const ReferenceContext& c) { return c.text("video") == "per-frame"; }
  static std::int64_t frame(const ReferenceContext& c, std::int64_t patch) {
    return c.extent.size() == 3 ? c.at(patch + c.prefix, 0) : 0;
  }

  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  // ln lambda
  static Real log_lambda(const ReferenceContext& c, std::int64_t row, std::int64_t n) {
    if (c.text("lambda") == "fixed") return -c.own("rate")(row, n).value();
    return log_sigmoid(c.own("a")(row, n));
  }

  // z of a patch, linear between those of the reference grid around it (half-pixel centers).
  static Real place(const ReferenceContext& c, std::int64_t patch) {
    ReferenceContext trained = c;
    trained.extent = c.reference_extent;
    Real sum = 0.0;
    for (std::int64_t r = c.prefix; r < trained.tokens(); ++r) {
      double weight = 1;
      for (std::size_t axis = 0; axis < c.extent.size(); ++axis) {
        const auto from = static_cast<double>(c.reference_extent[axis]);
        const double at = static_cast<double>(c.at(patch + c.prefix, axis)) + 0.5;
        const double s = std::clamp(at * from / static_cast<double>(c.extent[axis]) - 0.5, 0.0, from - 1);
        weight *= std::max(0.0, 1 - std::abs(s - static_cast<double>(trained.at(r, axis))));
      }
      if (weight > 0) sum += c.parameter("place")(r - c.prefix) * weight;
    }
    return sum;
  }

  static std::vector<Real> soft_ranks(const ReferenceContext& c) {
    std::vector<Real> z, ranks;
    for (std::int64_t p = 0; p < c.patches(); ++p) z.push_back(place(c, p));
    for (const Real& own : z) {
      Real rank = 0.0;
      for (const Real& other : z) rank += sigmoid((own - other) * static_cast<double>(c.patches()));
      ranks.push_back(rank);
    }
    return ranks;
  }

  // lambda^e
  static Real power(const ReferenceContext& c, std::int64_t row, std::int64_t n, double e) {
    return exp(log_lambda(c, row, n) * e);
  }

  static std::vector<std::vector<std::int64_t>> distances(const ReferenceContext& c) {
    std::vector<std::vector<std::int64_t>> rows;
    const std::string distance = c.text("distance");
    if (distance == "curves") {
      for (const Json& name : c.options.at("curves")) {
        if (per_frame(c)) {
          const std::vector<std::int64_t> own = ranks(name, c.extent[c.extent.size() - 2], c.extent.back());
          rows.emplace_back();
          for (std::int64_t p = 0; p < c.patches(); ++p) rows.back().push_back(own[at(p) % own.size()]);
        } else if (c.extent.size() == 3 && c.extent[0] > 1) {
          rows.push_back(box_ranks(name, c.extent));
        } else {
          rows.push_back(ranks(name, c.extent[c.extent.size() - 2], c.extent.back()));
        }
      }
    } else if (distance == "z-curve") {
      rows.emplace_back();
      for (std::int64_t p = 0; p < c.patches(); ++p) rows[0].push_back(p);
    } else if (distance == "random") {
      std::uint64_t seed = 0;
      for (const Real& number : c.parameter("order").data())
        seed = seed * 256 + static_cast<std::uint64_t>(number.value());
      const at::Tensor order = RandomStreams(seed).permutation("violin", "order", 0, c.patches());
      rows.emplace_back(order.const_data_ptr<std::int64_t>(), order.const_data_ptr<std::int64_t>() + c.patches());
    }
    return rows;
  }
};

}  // namespace

std::unique_ptr<ReferencePrior> reference_violin() { return std::make_unique<Violin>(); }

}  // namespace locus::engine::test
