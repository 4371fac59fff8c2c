// Second definitions of the forms that follow coordinates and places: scalar loops in float64, entry by entry, with the
// gradient of sum(form * full) in each of their members.
#pragma once

#include "engine/layers/forms.h"

namespace locus::engine::test {

// Everything double; [B|1, H|1, T, T].
Tensor reference_value(const Quadratic& form);
Tensor reference_value(const Gated& form);
Tensor reference_value(const Scan& form);

// In `numbers`, `gate` and `place`; full is of the size of the value.
Tensor reference_gradient(const Quadratic& form, const Tensor& full);
Tensor reference_gradient(const Gated& form, const Tensor& full);
Tensor reference_gradient(const Scan& form, const Tensor& full);

// Which entry a pair reads by a rule, from the rule's words: [T, T] int64.
Tensor reference_entries(const PairIndex::Rule& rule);

}  // namespace locus::engine::test
