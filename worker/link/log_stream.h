// Sends what trainers print to the server, piece by piece, in the background.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "client/client.h"
#include "worker/link/lease_book.h"

namespace locus {

// What is not sent lives in memory: after a crash of the daemon the last half second of a log is lost, which
// its trainer did not survive either. While the server is away an attempt keeps kLogBytes; what is older
// gives way to a line that says so. Thread-safe.
class LogStream {
 public:
  LogStream(Client& client, std::string session);
  ~LogStream();

  void start();
  void stop();  // what is not sent is lost
  void append(LeaseBook::Key key, const std::string& text);
  void close(LeaseBook::Key key);  // nothing more comes; forgotten once sent
  // Waits until everything is sent; false when `time` was up.
  bool wait_sent(std::chrono::microseconds time);
  // The same for one attempt, whose log does not linger meanwhile.
  bool wait_sent(LeaseBook::Key key, std::chrono::microseconds time);

 private:
  struct Log {
    std::string pending;
    std::int64_t offset = 0;  // of the first pending byte
    std::int64_t left_out = 0;
    bool closed = false;
  };
  struct Piece {
    LeaseBook::Key key;
    std::int64_t offset = 0;
    std::string text;
  };

  void run();
  bool next(Piece& piece);  // waits; false: stopped
  absl::Status send(const Piece& piece);
  void take_answer(const Piece& piece, const absl::Status& status);
  bool idle() const;  // under the mutex
  void linger();      // so that a burst becomes one report; not while somebody waits for it

  Client& client_;
  const std::string session_;
  Cancellation stopping_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<LeaseBook::Key, Log> logs_;
  LeaseBook::Key last_served_{};
  int hurried_ = 0;  // who wait for a log
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace locus
