// What a prior is, once more: its formulas as scalar loops in float64, by which the engine's are judged.
// Nothing here or in the files beside it includes engine/priors.
//
// One file for each line of priors.def: reference/<file>.cc defines `std::unique_ptr<ReferencePrior>
// reference_<file>()`; a prior without one does not link.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "core/base/json.h"
#include "engine/base/random.h"
#include "tests/engine/priors/reference/real.h"

namespace locus::engine::test {

using Values = std::map<std::string, Array, std::less<>>;

// Where a hook is called. In a pass of attention along an axis every line is a sample: batch counts lines,
// extent is the line, prefix 0, axis the axis followed.
struct ReferenceContext {
  const Json& options;       // every option of the prior, defaults filled in
  const Values& parameters;  // the prior's parameters and buffers by name ("layers.0.alpha", "table")
  std::vector<std::int64_t> extent, reference_extent;  // now, and at construction
  std::int64_t prefix = 0, batch = 0, width = 0, heads = 0, hidden = 0, layer = 0, layers = 0, axis = -1;
  double scale = 1;  // c
  bool training = false;
  std::int64_t step = 0;
  const RandomStreams& random;
  // In a layer: its normed input [B, T, D]; raw q, k, v [B, H, T, d]. Null elsewhere.
  const Array *x = nullptr, *q = nullptr, *k = nullptr, *v = nullptr;

  std::int64_t patches() const;
  std::int64_t tokens() const { return prefix + patches(); }
  std::int64_t head_width() const { return width / heads; }
  bool patch(std::int64_t token) const { return token >= prefix; }
  // Index of a patch token along an axis of the grid, from 0. Throws for prefix tokens.
  std::int64_t at(std::int64_t token, std::size_t axis) const;
  std::int64_t row(std::int64_t token) const { return at(token, 0); }
  std::int64_t column(std::int64_t token) const { return at(token, 1); }
  const Array& parameter(const std::string& name) const { return parameters.at(name); }
  const Array& own(const std::string& name) const;  // of this layer
  bool has_own(const std::string& name) const;
  std::string text(const char* option) const { return options.at(option).get<std::string>(); }
  double number(const char* option) const { return options.at(option).get<double>(); }
  std::int64_t integer(const char* option) const { return options.at(option).get<std::int64_t>(); }
  bool flag(const char* option) const { return options.at(option).get<bool>(); }
};

// A block's MLP in parts.
struct ReferenceMlp {
  std::function<Array(const Array&)> norm, in, out;
};

// Hooks as in the engine; what is not overridden does nothing. An empty Array means none.
class ReferencePrior {
 public:
  virtual ~ReferencePrior() = default;
  virtual void embed(const ReferenceContext&, bool /*after_prefix*/, Array& /*tokens [B, N or T, D]*/) {}
  virtual void block_embed(const ReferenceContext&, bool /*end*/, Array& /*tokens [B, T, D]*/) {}
  virtual void transform(const ReferenceContext&, Array& /*q*/, Array& /*k*/) {}
  virtual bool axial(const ReferenceContext&) { return false; }
  // The block before which class and register tokens join.
  virtual std::int64_t prefix_from(const Json& /*options*/) { return 0; }
  virtual Array bias(const ReferenceContext&) { return {}; }   // [B, H, T, T]
  virtual Array scale(const ReferenceContext&) { return {}; }  // [B, H, T, T]
  virtual bool scales_biases(const ReferenceContext&) { return false; }
  virtual void probabilities(const ReferenceContext&, Array& /*p [B, H, T, T]*/) {}
  virtual Array from_probabilities(const ReferenceContext&, const Array& /*p*/) { return {}; }  // [B, H, T, d]
  virtual Array add_output(const ReferenceContext&) { return {}; }                              // [B, T, D]
  virtual Array gate_output(const ReferenceContext&) { return {}; }                             // [B, T, D]
  // Returns what is added to the stream instead of the MLP, or empty.
  virtual Array feed_forward(const ReferenceContext&, const Array& /*stream*/, const ReferenceMlp&) { return {}; }
  virtual bool replaces_mlp(const ReferenceContext&) { return false; }
  // Weighted; 0 where there is none. Tokens [B, T, D] before and after the final norm.
  virtual Real loss(const ReferenceContext&, const Array& /*before*/, const Array& /*after*/) { return 0.0; }
};

#define LOCUS_PRIOR(file) std::unique_ptr<ReferencePrior> reference_##file();
#include "engine/priors/priors.def"
#undef LOCUS_PRIOR

// A reference for the prior of that id; throws std::out_of_range.
std::unique_ptr<ReferencePrior> reference_prior(std::string_view id);

}  // namespace locus::engine::test
