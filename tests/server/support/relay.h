// What lies between a client and a server: passes bytes on, flips one of them or cuts everything when told to.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

namespace locus::test {

// Listens on a free port of loopback and passes each connection on to `target`, HOST:PORT of IPv4, until its end. Thread-safe.
class Relay {
 public:
  explicit Relay(const std::string& target);  // throws std::runtime_error
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  std::string address() const;
  // One bit of the last byte of the next piece that goes to the server, or comes from it, is flipped.
  void flip_to_server() { flip_up_ = true; }
  void flip_to_client() { flip_down_ = true; }
  bool flipping() const { return flip_up_ || flip_down_; }  // the piece has not come yet
  void cut();                                               // ends every connection that is open; returns when it has
  int connections() const { return connections_; }          // ever taken

 private:
  void serve();
  std::uint16_t target_ = 0;
  int listener_ = -1, waker_ = -1;
  std::atomic<bool> flip_up_ = false, flip_down_ = false, ended_ = false;
  std::atomic<int> connections_ = 0, cuts_asked_ = 0, cuts_done_ = 0;
  std::thread thread_;
};

}  // namespace locus::test
