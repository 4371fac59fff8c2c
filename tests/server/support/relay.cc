// One thread and poll().
#include "tests/server/support/relay.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <vector>

namespace locus::test {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return out;
}

int listening() {
  const int out = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in at = loopback(0);
  if (out < 0 || ::bind(out, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 || ::listen(out, 64) != 0)
    throw std::runtime_error("a relay cannot listen");
  return out;
}

struct Pair {
  int client = -1, server = -1;
};

void close_both(const Pair& pair) {
  ::close(pair.client);
  ::close(pair.server);
}

// False at the end of either side.
bool pass(int from, int to, std::atomic<bool>& flip) {
  char piece[65536];
  const ssize_t got = ::recv(from, piece, sizeof piece, 0);
  if (got <= 0) return false;
  if (flip.exchange(false)) piece[got - 1] = static_cast<char>(piece[got - 1] ^ 4);
  for (ssize_t at = 0; at < got;) {
    const ssize_t sent = ::send(to, piece + at, static_cast<std::size_t>(got - at), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    at += sent;
  }
  return true;
}

}  // namespace

Relay::Relay(const std::string& target)
    : target_(static_cast<std::uint16_t>(std::stoi(target.substr(target.rfind(':') + 1)))),
      listener_(listening()),
      waker_(::eventfd(0, EFD_CLOEXEC)),
      thread_([this] { serve(); }) {}

Relay::~Relay() {
  ended_ = true;
  ::eventfd_write(waker_, 1);
  thread_.join();
  ::close(listener_);
  ::close(waker_);
}

std::string Relay::address() const {
  sockaddr_in at{};
  socklen_t size = sizeof at;
  ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size);
  return "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
}

void Relay::cut() {
  const int number = ++cuts_asked_;
  ::eventfd_write(waker_, 1);
  for (int done = cuts_done_; done < number; done = cuts_done_) cuts_done_.wait(done);
}

void Relay::serve() {
  std::vector<Pair> pairs;
  while (!ended_) {
    std::vector<pollfd> waited = {{listener_, POLLIN, 0}, {waker_, POLLIN, 0}};
    for (const Pair& pair : pairs) {
      waited.push_back({pair.client, POLLIN, 0});
      waited.push_back({pair.server, POLLIN, 0});
    }
    ::poll(waited.data(), waited.size(), -1);
    std::vector<Pair> kept;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const bool open = (waited[2 + 2 * i].revents == 0 || pass(pairs[i].client, pairs[i].server, flip_up_)) &&
                        (waited[3 + 2 * i].revents == 0 || pass(pairs[i].server, pairs[i].client, flip_down_));
      if (open) kept.push_back(pairs[i]);
      if (!open) close_both(pairs[i]);
    }
    pairs = std::move(kept);
    if (waited[1].revents != 0) {
      eventfd_t ignored = 0;
      ::eventfd_read(waker_, &ignored);
    }
    if (const int asked = cuts_asked_; cuts_done_ < asked) {
      for (const Pair& pair : pairs) close_both(pair);
      pairs.clear();
      cuts_done_ = asked;
      cuts_done_.notify_all();
    }
    if (waited[0].revents == 0) continue;
    const Pair pair{::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC),
                    ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const sockaddr_in at = loopback(target_);
    ++connections_;
    if (::connect(pair.server, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0) {
      pairs.push_back(pair);
    } else {
      close_both(pair);
    }
  }
  for (const Pair& pair : pairs) close_both(pair);
}

}  // namespace locus::test
