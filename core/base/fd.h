// The owner of a file descriptor.
#pragma once

#include <unistd.h>

#include <utility>

namespace locus {

// Closes its descriptor at the end of its life, and what it held when another one is put in its place. Move-only.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}  // below 0: none
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      const Fd former(std::exchange(fd_, other.release()));
    }
    return *this;
  }
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }  // it is the caller's from here on

 private:
  int fd_;
};

}  // namespace locus
