// What a decoder costs beside its backbone, by the catalog's formulas.
#pragma once

#include <functional>
#include <vector>

#include "core/experiment/plan/formulas.h"
#include "core/experiment/plan/resolver.h"

namespace locus {

// The maps that a decoder reads, as it knows them: those of `facts.maps` blocks, or of as many as its option `taps` names, or of
// every stage of a backbone of several; without facts.maps the last tokens alone.
class DecoderCost {
 public:
  // `outputs`: numbers of a pixel. `backbone`: what the backbone says of a word in a stage. `images`: of the model. All are used
  // during construction, `decoder` as long as this lives.
  DecoderCost(const ResolvedSection& decoder, double outputs, std::size_t stages, const Formulas::Lookup& backbone,
              const ModelImages& images);

  // Its formulas (docs/formats/catalog.md, decoder); nothing where one is missing or cannot be computed.
  std::optional<double> formula(const std::string& name) const;

 private:
  struct Level {
    double width = 0, cells = 0, rows = 0, columns = 0;
  };
  std::optional<double> word(const std::string& name) const;
  std::optional<double> of_level(const std::string& name) const;

  const ResolvedSection& decoder_;
  bool hierarchical_;
  double outputs_, height_ = 0, width_ = 0;
  std::vector<Level> levels_;
};

}  // namespace locus
