// A line at the beginning and for every tenth.
#include "engine/train/prepared_data.h"

namespace locus::engine {

std::shared_ptr<Dataset> prepared(std::shared_ptr<Dataset> dataset, StageContext& context) {
  std::int64_t told = -1;
  dataset->prepare([&](std::int64_t done, std::int64_t all) {
    context.observer.wish();  // ends the stage where nobody listens any more
    context.observer.progress(0, 0, "read data");
    const std::int64_t tenth = all == 0 ? 0 : 10 * done / all;
    if (tenth == told) return;
    told = tenth;
    context.observer.say("reading the dataset through, once: " + std::to_string(done) + " of " + std::to_string(all) +
                         " images");
  });
  if (const Json used = dataset->used(); !used.is_null()) context.environment["data"] = used;
  return dataset;
}

}  // namespace locus::engine
