// Lookups added to logits in place: no T x T tensor of what was found, no index the size of the logits.
#pragma once

#include "engine/layers/forms.h"

namespace locus::engine {

// Whether add_lookups() has a kernel for the type and device of `logits` and the form is one of lookups.
bool can_look_up(const Tensor& logits, const Form& form);

// logits [B, H, T, T] + the form (RelativeTable or Bucketed), differentiable once in both; `logits` is
// overwritten and must not be needed by anything else. can_look_up() must hold.
Tensor add_lookups(Tensor logits, const Form& form);

}  // namespace locus::engine
