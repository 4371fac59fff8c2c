// How parameters get their first values.
#pragma once

#include "engine/base/random.h"
#include "engine/base/torch.h"

namespace locus::engine {

// Draws for initialization, named after the parameter, so that equal names under equal seeds start equal. Refers to the
// streams, which outlive it. Thread-compatible.
class Initializer {
 public:
  Initializer(const RandomStreams& random, std::string prefix) : random_(random), prefix_(std::move(prefix)) {}
  // `name` is relative to the prefix. Each overwrites `parameter` in place.
  void truncated_normal(Tensor parameter, std::string_view name, double deviation) const;
  void normal(Tensor parameter, std::string_view name, double mean, double deviation) const;
  void uniform(Tensor parameter, std::string_view name, double low, double high) const;
  Initializer within(std::string_view name) const;  // prefix + name + "."

 private:
  const RandomStreams& random_;
  std::string prefix_;
};

// A part of a network that always starts alike, whatever the network does with its linear layers.
class SelfStarting {
 public:
  virtual ~SelfStarting() = default;
  // Sets its own parameters; `own` draws under its full name.
  virtual void start(const Initializer& own) = 0;
};

}  // namespace locus::engine
