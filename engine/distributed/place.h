// Where a process stands among those that train one model together.
#pragma once

#include <stdexcept>

namespace locus::engine {

class Rendezvous;

// Of `world` processes, which all are given the same but for `rank`.
struct GangPlace {
  int rank = 0;                      // from 0; the process of rank 0 speaks for all
  int world = 1;                     // 1: it trains alone, and nothing below counts
  Rendezvous* rendezvous = nullptr;  // how it finds the others; must be there for as long as the group is
  double timeout_seconds = 300;      // that a process waits for another one, to form the group and in every exchange
  // Above 0: from the first step on it waits so long, or for 20 median steps where these are longer.
  double silence_seconds = 0;
};

// Another process of the group is gone, or was silent for longer than the time-out. Whatever ended it is the cause of the
// end; this is what the others saw of it.
class PeerLostError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace locus::engine
