// A file layer for SQLite that can be told to fail.
#include "tests/storage/faulty_vfs.h"

#include <sqlite3.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>

namespace locus::testing {

struct FaultyVfs::State {
  sqlite3_vfs vfs{};
  sqlite3_vfs* real = nullptr;
  std::atomic<bool> full = false, sync_fails = false, read_only = false, log_dirty = false;
  std::atomic<int> calls_left = 0;  // until one fails; 0: none is to
  std::atomic<bool> fails_once = false, struck = false;

  std::mutex mutex;
  std::condition_variable changed;
  bool holding = false, held = false;

  // Waits while syncs are held.
  void pass_sync() {
    std::unique_lock lock(mutex);
    held = holding;
    changed.notify_all();
    changed.wait(lock, [this] { return !holding; });
    held = false;
  }
  // Whether this call is to fail.
  bool strikes() {
    if (calls_left == 0) return false;
    if (calls_left > 1) {
      --calls_left;
      return false;
    }
    if (fails_once) calls_left = 0;
    return struck = true;
  }
};

namespace {

struct FaultyFile {  // followed in memory by the real file
  sqlite3_file base;
  FaultyVfs::State* state;
  bool log;
};

FaultyFile* mine(sqlite3_file* file) { return reinterpret_cast<FaultyFile*>(file); }
sqlite3_file* real(sqlite3_file* file) { return reinterpret_cast<sqlite3_file*>(mine(file) + 1); }

int close_file(sqlite3_file* f) { return real(f)->pMethods ? real(f)->pMethods->xClose(real(f)) : SQLITE_OK; }
int read_file(sqlite3_file* f, void* to, int n, sqlite3_int64 at) {
  if (mine(f)->state->strikes()) return SQLITE_IOERR_READ;
  return real(f)->pMethods->xRead(real(f), to, n, at);
}
int write_file(sqlite3_file* f, const void* from, int n, sqlite3_int64 at) {
  if (mine(f)->state->full) return SQLITE_FULL;
  if (mine(f)->state->read_only) return SQLITE_IOERR_WRITE;
  if (mine(f)->state->strikes()) return SQLITE_IOERR_WRITE;
  if (mine(f)->log) mine(f)->state->log_dirty = true;
  return real(f)->pMethods->xWrite(real(f), from, n, at);
}
int truncate_file(sqlite3_file* f, sqlite3_int64 n) {
  if (mine(f)->state->read_only || mine(f)->state->strikes()) return SQLITE_IOERR_TRUNCATE;
  return real(f)->pMethods->xTruncate(real(f), n);
}
int sync_file(sqlite3_file* f, int flags) {
  mine(f)->state->pass_sync();
  if (mine(f)->state->sync_fails || mine(f)->state->strikes()) return SQLITE_IOERR_FSYNC;
  const int code = real(f)->pMethods->xSync(real(f), flags);
  if (code == SQLITE_OK && mine(f)->log) mine(f)->state->log_dirty = false;
  return code;
}
int file_size(sqlite3_file* f, sqlite3_int64* n) { return real(f)->pMethods->xFileSize(real(f), n); }
int lock_file(sqlite3_file* f, int how) { return real(f)->pMethods->xLock(real(f), how); }
int unlock_file(sqlite3_file* f, int how) { return real(f)->pMethods->xUnlock(real(f), how); }
int check_reserved(sqlite3_file* f, int* out) { return real(f)->pMethods->xCheckReservedLock(real(f), out); }
int control(sqlite3_file* f, int op, void* arg) { return real(f)->pMethods->xFileControl(real(f), op, arg); }
int sector_size(sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); }
int traits(sqlite3_file* f) { return real(f)->pMethods->xDeviceCharacteristics(real(f)); }
int map_shared(sqlite3_file* f, int page, int size, int extend, void volatile** out) {
  return real(f)->pMethods->xShmMap(real(f), page, size, extend, out);
}
int lock_shared(sqlite3_file* f, int at, int n, int flags) {
  return real(f)->pMethods->xShmLock(real(f), at, n, flags);
}
void barrier(sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); }
int unmap_shared(sqlite3_file* f, int remove) { return real(f)->pMethods->xShmUnmap(real(f), remove); }

const sqlite3_io_methods kMethods = {2,         close_file,   read_file, write_file,  truncate_file,
                                     sync_file, file_size,    lock_file, unlock_file, check_reserved,
                                     control,   sector_size,  traits,    map_shared,  lock_shared,
                                     barrier,   unmap_shared, nullptr,   nullptr};

int open_file(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out_flags) {
  auto* state = static_cast<FaultyVfs::State*>(vfs->pAppData);
  mine(file)->state = state;
  mine(file)->log = (flags & SQLITE_OPEN_WAL) != 0;
  file->pMethods = nullptr;
  const int code = state->real->xOpen(state->real, path, real(file), flags, out_flags);
  if (code == SQLITE_OK) file->pMethods = &kMethods;
  return code;
}

}  // namespace

FaultyVfs::FaultyVfs() : state_(new State) {
  static std::atomic<int> count = 0;
  name_ = "locus-faulty-" + std::to_string(count++);
  state_->real = sqlite3_vfs_find(nullptr);
  state_->vfs = *state_->real;  // everything that is not about open files is the real one's
  state_->vfs.zName = name_.c_str();
  state_->vfs.pNext = nullptr;
  state_->vfs.pAppData = state_;
  state_->vfs.szOsFile = static_cast<int>(sizeof(FaultyFile)) + state_->real->szOsFile;
  state_->vfs.xOpen = open_file;
  sqlite3_vfs_register(&state_->vfs, 0);
}

FaultyVfs::~FaultyVfs() {
  sqlite3_vfs_unregister(&state_->vfs);
  delete state_;
}

void FaultyVfs::set_full(bool full) { state_->full = full; }
void FaultyVfs::set_sync_fails(bool fails) { state_->sync_fails = fails; }
void FaultyVfs::set_read_only(bool only) { state_->read_only = only; }
void FaultyVfs::hold_syncs(bool hold) {
  const std::lock_guard lock(state_->mutex);
  state_->holding = hold;
  state_->changed.notify_all();
}
void FaultyVfs::await_held_sync() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [this] { return state_->held; });
}
void FaultyVfs::fail_call(int call, bool once) {
  state_->struck = false;
  state_->fails_once = once;
  state_->calls_left = call;
}
bool FaultyVfs::heal() {
  state_->calls_left = 0;
  return state_->struck;
}
bool FaultyVfs::log_is_synced() const { return !state_->log_dirty; }

}  // namespace locus::testing
