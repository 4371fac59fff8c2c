// A time of day that jumps, for server and workers: preloaded into them, it adds to the wall clock the seconds that the file
// LOCUS_WRONG_CLOCK holds, whenever those change. Monotonic clocks go on as they do in a machine whose clock is set; times of
// day that somebody waits for are turned back into what the kernel knows.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

using Seconds = std::atomic<std::int64_t>;

const Seconds* shared_seconds() {
  static const Seconds kNone{0};
  const char* path = std::getenv("LOCUS_WRONG_CLOCK");
  const int file = path == nullptr ? -1 : ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return &kNone;
  void* mapped = ::mmap(nullptr, sizeof(Seconds), PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  return mapped == MAP_FAILED ? &kNone : static_cast<const Seconds*>(mapped);
}

std::int64_t wrong_by() {
  static const Seconds* const kSeconds = shared_seconds();
  return kSeconds->load(std::memory_order_relaxed);
}

template <class Function>
Function next(Function, const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

// A time of day, as the kernel knows it.
timespec as_it_is(timespec asked) {
  asked.tv_sec -= wrong_by();
  return asked;
}

std::time_t seconds_from(clockid_t clock, std::time_t then) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::abs(then - now.tv_sec);
}

// Of a condition that does not tell its clock: what is waited for is near one of the two.
bool is_time_of_day(const timespec& asked) {
  return seconds_from(CLOCK_REALTIME, asked.tv_sec) < seconds_from(CLOCK_MONOTONIC, asked.tv_sec);
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* out) noexcept {
  static const auto kNext = next(&clock_gettime, "clock_gettime");
  const int done = kNext(clock, out);
  if (done == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) out->tv_sec += wrong_by();
  return done;
}

int gettimeofday(timeval* out, void* zone) noexcept {
  static const auto kNext = next(&gettimeofday, "gettimeofday");
  const int done = kNext(out, zone);
  if (done == 0) out->tv_sec += wrong_by();
  return done;
}

std::time_t time(std::time_t* out) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
  static const auto kNext = next(&pthread_cond_timedwait, "pthread_cond_timedwait");
  const timespec real = is_time_of_day(*until) ? as_it_is(*until) : *until;
  return kNext(condition, mutex, &real);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  static const auto kNext = next(&pthread_cond_clockwait, "pthread_cond_clockwait");
  const timespec real = clock == CLOCK_REALTIME ? as_it_is(*until) : *until;
  return kNext(condition, mutex, clock, &real);
}

// Abseil waits for times of day by the system call itself.
long syscall(long number, ...) noexcept {
  static const auto kNext = next(&syscall, "syscall");
  std::va_list list;
  va_start(list, number);
  long words[6];
  for (long& word : words) word = va_arg(list, long);
  va_end(list);
  timespec real{};
  const bool by_day = number == SYS_futex && (words[1] & FUTEX_CLOCK_REALTIME) != 0 && words[3] != 0;
  if (by_day) {
    real = as_it_is(*reinterpret_cast<const timespec*>(words[3]));
    words[3] = reinterpret_cast<long>(&real);
  }
  return kNext(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

}  // extern "C"
