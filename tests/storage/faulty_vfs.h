// A file layer for SQLite that can be told to be full, to fail a sync, and that knows what has not been
// synced.
#pragma once

#include <string>

namespace locus::testing {

// Registered with SQLite while it lives, under a name of its own; every database on it must be closed before
// it goes. Thread-safe: its switches may be turned while a store writes.
class FaultyVfs {
 public:
  FaultyVfs();
  ~FaultyVfs();
  FaultyVfs(const FaultyVfs&) = delete;
  FaultyVfs& operator=(const FaultyVfs&) = delete;

  const std::string& name() const { return name_; }
  void set_full(bool full);         // writes fail as on a disk without room
  void set_sync_fails(bool fails);  // fsync fails, writes work
  void set_read_only(bool only);  // nothing is written or cut any more, as after the kernel has remounted a file system
  void hold_syncs(bool hold);     // fsync takes until this is taken back
  void await_held_sync();         // blocks until one is held
  // The `call`-th reading, writing, cutting or syncing from now on fails with an error of the device, and if not `once` every later one.
  void fail_call(int call, bool once);
  bool heal();                 // nothing fails any more; whether something that fail_call() chose did
  bool log_is_synced() const;  // nothing was written to a write-ahead log since its last sync

  struct State;

 private:
  std::string name_;
  State* state_;
};

}  // namespace locus::testing
