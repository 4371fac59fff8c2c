// No position encoding: blocks see content only, and a patch could lie anywhere.
#include "engine/priors/items.h"

namespace locus::engine::priors {

PriorItem none() {
  Item item = prior_entry("none", 1, "No position encoding", "", "L = c q k^T", {}, {1, 2, 3});
  weigh(item, {.parameters = "none",
               .counts = {{"parameters", "0"}},
               .base = 0,
               .paths = {"flash", "sdpa", "explicit"},
               .cost = "none"});
  takes_points(item);
  item.set("provides", Json::array()).set("excludes", Json::array({kSpatialPrior}));
  return {item, [](const PriorContext&, const Options&) { return std::make_shared<Prior>(); }};
}

}  // namespace locus::engine::priors
