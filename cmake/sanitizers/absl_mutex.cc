// Tells the thread sanitizer what the distribution's Abseil synchronizes, which is built without it: these stand before those
// of libabsl_synchronization, for our code and for gRPC's, and call them. For programs that are built with the sanitizer.
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#include <cstdio>
#include <cstdlib>

#include "absl/synchronization/mutex.h"

extern "C" void AnnotateIgnoreReadsBegin(const char* file, int line);
extern "C" void AnnotateIgnoreReadsEnd(const char* file, int line);

namespace absl {
ABSL_NAMESPACE_BEGIN
namespace {

template <class Function>
Function next(const char* symbol) {
  void* found = ::dlsym(RTLD_NEXT, symbol);
  if (found == nullptr) {
    std::fprintf(stderr, "there is no %s: Abseil is another one, correct cmake/sanitizers/absl_mutex.cc\n", symbol);
    std::abort();
  }
  return reinterpret_cast<Function>(found);
}

// While the real one waits it evaluates the condition, under the lock, before we can say that it has it.
class Waiting {
 public:
  explicit Waiting(Mutex* held) {
    if (held != nullptr) __tsan_release(held);
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  }
  ~Waiting() { AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
};

}  // namespace

// The symbols are how the compiler writes the functions' names.
#define LOCUS_REAL(type, symbol) static const auto real = next<type>("_ZN4absl7debian3" symbol)

#define LOCUS_TAKES(Function, symbol)     \
  void Mutex::Function() {                \
    LOCUS_REAL(void (*)(Mutex*), symbol); \
    real(this);                           \
    __tsan_acquire(this);                 \
  }
#define LOCUS_TRIES(Function, symbol)     \
  bool Mutex::Function() {                \
    LOCUS_REAL(bool (*)(Mutex*), symbol); \
    const bool taken = real(this);        \
    if (taken) __tsan_acquire(this);      \
    return taken;                         \
  }
#define LOCUS_GIVES_BACK(Function, symbol) \
  void Mutex::Function() {                 \
    LOCUS_REAL(void (*)(Mutex*), symbol);  \
    __tsan_release(this);                  \
    real(this);                            \
  }
// `held`: this, where the mutex is held before the call.
#define LOCUS_WAITS(Function, held, symbol)                 \
  void Mutex::Function(const Condition& condition) {        \
    LOCUS_REAL(void (*)(Mutex*, const Condition&), symbol); \
    {                                                       \
      const Waiting waiting(held);                          \
      real(this, condition);                                \
    }                                                       \
    __tsan_acquire(this);                                   \
  }
#define LOCUS_WAITS_FOR(Function, Until, held, symbol)             \
  bool Mutex::Function(const Condition& condition, Until until) {  \
    LOCUS_REAL(bool (*)(Mutex*, const Condition&, Until), symbol); \
    bool met = false;                                              \
    {                                                              \
      const Waiting waiting(held);                                 \
      met = real(this, condition, until);                          \
    }                                                              \
    __tsan_acquire(this);                                          \
    return met;                                                    \
  }

LOCUS_TAKES(Lock, "5Mutex4LockEv")
LOCUS_TAKES(ReaderLock, "5Mutex10ReaderLockEv")
LOCUS_TRIES(TryLock, "5Mutex7TryLockEv")
LOCUS_TRIES(ReaderTryLock, "5Mutex13ReaderTryLockEv")
LOCUS_GIVES_BACK(Unlock, "5Mutex6UnlockEv")
LOCUS_GIVES_BACK(ReaderUnlock, "5Mutex12ReaderUnlockEv")
LOCUS_WAITS(Await, this, "5Mutex5AwaitERKNS0_9ConditionE")
LOCUS_WAITS(LockWhen, nullptr, "5Mutex8LockWhenERKNS0_9ConditionE")
LOCUS_WAITS(ReaderLockWhen, nullptr, "5Mutex14ReaderLockWhenERKNS0_9ConditionE")
LOCUS_WAITS_FOR(AwaitWithTimeout, Duration, this, "5Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE")
LOCUS_WAITS_FOR(AwaitWithDeadline, Time, this, "5Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE")
LOCUS_WAITS_FOR(LockWhenWithTimeout, Duration, nullptr, "5Mutex19LockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE")
LOCUS_WAITS_FOR(LockWhenWithDeadline, Time, nullptr, "5Mutex20LockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE")
LOCUS_WAITS_FOR(ReaderLockWhenWithTimeout, Duration, nullptr,
                "5Mutex25ReaderLockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE")
LOCUS_WAITS_FOR(ReaderLockWhenWithDeadline, Time, nullptr,
                "5Mutex26ReaderLockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE")

void CondVar::Wait(Mutex* mutex) {
  LOCUS_REAL(void (*)(CondVar*, Mutex*), "7CondVar4WaitEPNS0_5MutexE");
  __tsan_release(mutex);
  real(this, mutex);
  __tsan_acquire(mutex);
}
bool CondVar::WaitWithTimeout(Mutex* mutex, Duration timeout) {
  LOCUS_REAL(bool (*)(CondVar*, Mutex*, Duration), "7CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE");
  __tsan_release(mutex);
  const bool over = real(this, mutex, timeout);
  __tsan_acquire(mutex);
  return over;
}
bool CondVar::WaitWithDeadline(Mutex* mutex, Time deadline) {
  LOCUS_REAL(bool (*)(CondVar*, Mutex*, Time), "7CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE");
  __tsan_release(mutex);
  const bool over = real(this, mutex, deadline);
  __tsan_acquire(mutex);
  return over;
}

ABSL_NAMESPACE_END
}  // namespace absl
