// What the documents of trained models share: the hosts, their heading, and which rows they hold.
#pragma once

#include "engine/probe/trained.h"
#include "engine/probe/views.h"

namespace locus::engine {

// A model of a stage configuration, initialized, and filled from a file of weights where one is given.
class TrainedHost {
 public:
  // Throws DataError on weights that are not this model's.
  TrainedHost(const Json& configuration, const std::filesystem::path& weights);

  const Host& host() const { return host_; }
  bool trained() const { return trained_; }
  std::int64_t step() const { return step_; }
  ForwardContext forward_context() const { return {.step = step_, .steps = 1, .training = false, .random = random_}; }
  // What both documents begin with.
  Json heading(const char* kind, const Json& configuration) const;

 private:
  Host host_;
  RandomStreams random_;
  bool trained_ = false;
  std::int64_t step_ = 0;
};

// The layers asked for, or all; throws std::invalid_argument on one there is not.
std::vector<std::int64_t> layers_of(const Host& host, const std::vector<std::int64_t>& wanted);

// The queries asked for, or as many as are worth `maps` maps of all patches each within what a document may
// hold: all, or an even grid of them. Throws std::invalid_argument on one there is not, and where those asked
// for do not fit.
std::vector<std::int64_t> queries_of(const Host& host, const std::vector<std::int64_t>& wanted, std::int64_t maps);

// Attention takes place for as many patches as this at most.
inline constexpr std::int64_t kPicturePatches = 1600;

}  // namespace locus::engine
