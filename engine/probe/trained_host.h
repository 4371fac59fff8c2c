// What the documents of trained models share: the hosts, their heading, and which rows they hold.
#pragma once

#include "engine/probe/trained.h"
#include "engine/probe/views.h"

namespace locus::engine {

// A model of a stage configuration, initialized, and filled from a file of weights where one is given.
class TrainedHost {
 public:
  // Of a stage of the network. Throws DataError on weights that are not this model's, std::invalid_argument on a stage there
  // is not.
  TrainedHost(const Json& configuration, const std::filesystem::path& weights, std::int64_t stage);

  const Host& host() const { return host_; }
  Shown shown() const { return shown_stage(host_, stage_); }
  bool trained() const { return trained_; }
  std::int64_t step() const { return step_; }
  ForwardContext forward_context() const { return {.step = step_, .steps = 1, .training = false, .random = random_}; }
  // What both documents begin with.
  Json heading(const char* kind, const Json& configuration) const;

 private:
  Host host_;
  std::int64_t stage_;
  RandomStreams random_;
  bool trained_ = false;
  std::int64_t step_ = 0;
};

// The layers asked for, or all of the stage; throws std::invalid_argument on one that it has not.
std::vector<std::int64_t> layers_of(const Shown& shown, const std::vector<std::int64_t>& wanted);

// The queries asked for, or as many as are worth `maps` maps of all patches each within what a document may
// hold: all, or an even grid of them. Throws std::invalid_argument on one there is not, and where those asked
// for do not fit.
std::vector<std::int64_t> queries_of(const Shown& shown, const std::vector<std::int64_t>& wanted, std::int64_t maps);

// Attention takes place for as many patches as this at most.
inline constexpr std::int64_t kPicturePatches = 1600;

}  // namespace locus::engine
