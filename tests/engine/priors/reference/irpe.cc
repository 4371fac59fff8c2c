// Buckets of offsets, looked up pair by pair.
#include "tests/engine/priors/reference/reference_prior.h"

namespace locus::engine::test {
namespace {

struct Buckets {
  std::string method;
  double ratio;
  std::int64_t most() const { return static_cast<std::int64_t>(2 * ratio); }

  std::int64_t index(double v) const {
    const double size = std::abs(v);
    if (size <= ratio) return static_cast<std::int64_t>(std::nearbyint(v));
    const double far =
        std::nearbyint(ratio + std::log(size / ratio) / std::log(8 * ratio / ratio) * (2 * ratio - ratio));
    return static_cast<std::int64_t>((v < 0 ? -1 : 1) * std::min(2 * ratio, far));
  }
  std::vector<std::string> parts() const {
    return method == "cross" ? std::vector<std::string>{"_rows", "_columns"} : std::vector<std::string>{""};
  }
  std::int64_t count() const { return method == "product" ? (2 * most() + 1) * (2 * most() + 1) : 2 * most() + 1; }

  std::int64_t of(const ReferenceContext& c, const std::string& part, std::int64_t i, std::int64_t j) const {
    if (!c.patch(i) || !c.patch(j)) return count();
    const auto dy = static_cast<double>(c.row(i) - c.row(j)), dx = static_cast<double>(c.column(i) - c.column(j));
    if (method == "product") return (index(dy) + most()) * (2 * most() + 1) + index(dx) + most();
    if (method == "euclid") return index(std::nearbyint(std::sqrt(dy * dy + dx * dx))) + most();
    if (method == "quant") return index(dy * dy + dx * dx) + most();
    return index(part == "_rows" ? dy : dx) + most();
  }
};

class Irpe final : public ReferencePrior {
 public:
  Array bias(const ReferenceContext& c) override {
    const std::string on = c.text("on");
    const bool keys = on.find('k') != std::string::npos, queries = on.find('q') != std::string::npos;
    if (!keys && !queries) return {};
    Array out({c.batch, c.heads, c.tokens(), c.tokens()});
    const Buckets buckets = buckets_of(c);
    for (const std::string& part : buckets.parts()) {
      for (std::int64_t b = 0; b < c.batch; ++b) {
        for (std::int64_t n = 0; n < c.heads; ++n) {
          for (std::int64_t i = 0; i < c.tokens(); ++i) {
            for (std::int64_t j = 0; j < c.tokens(); ++j) {
              if (keys) out(b, n, i, j) += met(c, *c.q, "k" + part, b, n, i, buckets.of(c, part, i, j));
              if (queries) out(b, n, i, j) += met(c, *c.k, "q" + part, b, n, j, buckets.of(c, part, j, i));
            }
          }
        }
      }
    }
    return out;
  }

  Array from_probabilities(const ReferenceContext& c, const Array& p) override {
    if (c.text("on").find('v') == std::string::npos) return {};
    Array out({c.batch, c.heads, c.tokens(), c.head_width()});
    const Buckets buckets = buckets_of(c);
    for (const std::string& part : buckets.parts()) {
      const Array& table = c.own("v" + part);
      for (std::int64_t b = 0; b < c.batch; ++b) {
        for (std::int64_t n = 0; n < c.heads; ++n) {
          for (std::int64_t i = 0; i < c.tokens(); ++i) {
            for (std::int64_t j = 0; j < c.tokens(); ++j) {
              for (std::int64_t e = 0; e < c.head_width(); ++e)
                out(b, n, i, e) += p(b, n, i, j) * table(n % table.size(0), buckets.of(c, part, i, j), e);
            }
          }
        }
      }
    }
    return out;
  }

 private:
  static Buckets buckets_of(const ReferenceContext& c) {
    const std::string method = c.text("method");
    const double own = method == "product" ? 1.9 : method == "quant" ? 33 : 20;
    return {method, c.number("ratio") > 0 ? c.number("ratio") : own};
  }

  static Real met(const ReferenceContext& c, const Array& side, const std::string& table, std::int64_t b,
                  std::int64_t n, std::int64_t t, std::int64_t bucket) {
    const Array& values = c.own(table);
    if (c.text("content") == "bias") return values(n % values.size(0), bucket);
    Real sum = 0.0;
    for (std::int64_t e = 0; e < c.head_width(); ++e) sum += side(b, n, t, e) * values(n % values.size(0), e, bucket);
    return sum * c.scale;
  }
};

}  // namespace

std::unique_ptr<ReferencePrior> reference_irpe() { return std::make_unique<Irpe>(); }

}  // namespace locus::engine::test
