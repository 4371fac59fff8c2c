// What of published weights depends on the size of images: position tables and patch embeddings.
#pragma once

#include "engine/weights/layout.h"

namespace locus::engine {

// A patch embedding [D, C, p, p] for patches of `patch` pixels: [D, C, patch, patch]. The old kernel times the
// pseudo-inverse of the antialiased bicubic resize from p to `patch`, so that an enlarged image gives nearly the old
// tokens. Computed in double precision, returned in the kernel's type. Source: Beyer et al. 2022, arXiv:2212.08013
// (FlexiViT), section 3.3; timm 1.0, layers/patch_embed.py, resample_patch_embed.
Tensor resampled_kernel(const Tensor& kernel, std::int64_t patch);

// How the tensors of a file are made to fit.
struct Fit {
  std::string position = "refuse";      // refuse, resize or drop
  std::string resize = "layout";        // the manner: layout, deit, dino or timm
  std::vector<std::int64_t> grid = {};  // of the file's position table, rows and columns; empty: square
  std::string patch = "refuse";         // refuse or resample
};

// The model that they are to fit.
struct FitTarget {
  std::int64_t channels = 3;
  std::vector<std::int64_t> extent;  // of images: height, width
  Tensor embed;                      // "embed.weight" [D, C patch^2]
  Tensor table;                      // "position" [prefix rows + N, D]; undefined: it has none

  std::int64_t patch() const;              // pixels; 0: `embed` is no map of patches of that many channels
  std::vector<std::int64_t> grid() const;  // of patches
};

// Makes "embed.weight" a map of the target's patches where it is of other patches or of color, `fit.patch` allowing.
// Notes go to `notes`. Throws DataError that says what the specification must say.
void fit_patches(CanonicalWeights& weights, const FitTarget& target, const Fit& fit, std::vector<std::string>& notes);

// Makes "position" the target's table where it is of another grid, `fit.position` allowing. Rows of prefix tokens that
// the target's table has not are added to those tokens, which changes nothing; rows that the file has not are 0. Throws
// likewise.
void fit_positions(CanonicalWeights& weights, const FitTarget& target, const Fit& fit, std::vector<std::string>& notes);

// Makes each table of relative positions [(2 side - 1)^2, heads] that of the window the model has under the same name
// ("priors.relative-bias.stages.0.layers.0.table"), bicubically or, in the manner of timm, between samples in geometric
// progression; `fit.position` must allow it, or drop such tables. Tables that are not of squares stay as they are. Throws
// likewise.
void fit_windows(CanonicalWeights& weights, const std::map<std::string, Tensor>& model, const Fit& fit,
                 std::vector<std::string>& notes);

}  // namespace locus::engine
