// Tries what its arguments name, one after the other, and prints "NAME ERRNO" for each; 0: it was allowed.
//
// read:PATH write:PATH list:PATH link:PATH run:PATH, connect:PORT and bind:PORT (TCP of this machine), abstract:NAME
// (connects to that socket), signal:PID, and calls by their names: those of kCalls, and every one that the filter refuses
// (core/process/refused_calls.def). They are made with arguments that are wrong, so that they do no harm where they are
// allowed; still, only a child that is isolated should make the latter.
#include <dirent.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <thread>

namespace {

int outcome(long result) { return result < 0 ? errno : 0; }

int opened(const std::string& path, int flags) {
  const int file = ::open(path.c_str(), flags, 0600);
  int error = outcome(file);
  char byte = 0;
  if (file >= 0 && flags == O_RDONLY) error = outcome(::read(file, &byte, 1));  // some files are guarded there
  if (file >= 0) ::close(file);
  return error;
}

int socket_of(int family, int type, int protocol = 0) {
  const int made = ::socket(family, type, protocol);
  const int error = outcome(made);
  if (made >= 0) ::close(made);
  return error;
}

int listed(const std::string& path) {
  DIR* folder = ::opendir(path.c_str());
  if (folder == nullptr) return errno;
  ::closedir(folder);
  return 0;
}

int ran(const std::string& path) {
  pid_t child = 0;
  char* arguments[] = {const_cast<char*>(path.c_str()), nullptr};
  const int error = ::posix_spawn(&child, path.c_str(), nullptr, nullptr, arguments, environ);
  if (error == 0) ::waitpid(child, nullptr, 0);
  return error;
}

// `ask`: connect or bind.
int at_port(const std::string& port, int (*ask)(int, const sockaddr*, socklen_t)) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  if (socket < 0) return errno;
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int error = outcome(ask(socket, reinterpret_cast<sockaddr*>(&at), sizeof(at)));
  ::close(socket);
  return error;
}

int at_abstract(const std::string& name) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  if (socket < 0) return errno;
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  name.copy(at.sun_path + 1, sizeof(at.sun_path) - 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const int error = outcome(::connect(socket, reinterpret_cast<sockaddr*>(&at), size));
  ::close(socket);
  return error;
}

int pair() {
  int ends[2];
  return outcome(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
}

int thread() {
  try {
    std::thread([] {}).join();
  } catch (const std::system_error& error) {
    return error.code().value();
  }
  return 0;
}

template <class... Arguments>
std::function<int()> call(long number, Arguments... arguments) {
  return [=] { return outcome(::syscall(number, arguments...)); };
}

constexpr long kWrong = -1;
constexpr long kNoQueue = 0x7ffffffe, kOtherAbi = 0x40000000;

const std::map<std::string, std::function<int()>>& calls() {
  static const std::map<std::string, std::function<int()>> kCalls = {
      // These three would make something of the arguments that others refuse.
      {"shmget", call(SYS_shmget, 0, 0, 0)},
      {"semget", call(SYS_semget, 0, 0, 0)},
      {"msgget", call(SYS_msgget, kNoQueue, 0)},
      {"limits-of-parent", [] { return outcome(::prlimit(::getppid(), RLIMIT_NOFILE, nullptr, nullptr)); }},
      {"limits-of-self", [] { return outcome(::prlimit(0, RLIMIT_NOFILE, nullptr, nullptr)); }},
      {"other-abi", call(kOtherAbi | SYS_getpid)},
      {"clone3", call(SYS_clone3, kWrong, kWrong)},
      {"clone-namespace", call(SYS_clone, CLONE_NEWUSER | CLONE_NEWNS | CLONE_FS, 0, 0, 0, 0)},
      {"socket-inet", [] { return socket_of(AF_INET, SOCK_STREAM); }},
      {"socket-inet6", [] { return socket_of(AF_INET6, SOCK_DGRAM); }},
      {"socket-netlink", [] { return socket_of(AF_NETLINK, SOCK_RAW); }},
      {"socket-netlink-events", [] { return socket_of(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT); }},
      {"socket-local", [] { return socket_of(AF_UNIX, SOCK_STREAM); }},
      {"socket-pair", pair},
      {"thread", thread},
      {"signal-self", [] { return outcome(::kill(::getpid(), 0)); }},
#define LOCUS_REFUSED_CALL(name) {#name, call(SYS_##name, kWrong, kWrong, kWrong, kWrong, kWrong, kWrong)},
#include "core/process/refused_calls.def"
#undef LOCUS_REFUSED_CALL
  };
  return kCalls;
}

int attempt(const std::string& word) {
  if (const auto found = calls().find(word); found != calls().end()) return found->second();
  const auto colon = word.find(':');
  const std::string verb = word.substr(0, colon), object = colon == word.npos ? "" : word.substr(colon + 1);
  if (verb == "read") return opened(object, O_RDONLY);
  if (verb == "write") return opened(object, O_WRONLY | O_CREAT);
  if (verb == "list") return listed(object);
  if (verb == "link") return outcome(::symlink("/etc/passwd", object.c_str()));
  if (verb == "run") return ran(object);
  if (verb == "connect") return at_port(object, ::connect);
  if (verb == "bind") return at_port(object, ::bind);
  if (verb == "abstract") return at_abstract(object);
  if (verb == "signal") return outcome(::kill(std::stoi(object), 0));
  std::cerr << "the probe knows no " << word << std::endl;
  ::_exit(1);
}

// What is no call: "core 0" and so on.
void print_state() {
  rlimit core{};
  ::getrlimit(RLIMIT_CORE, &core);
  const mode_t mask = ::umask(0);
  std::string score;
  std::ifstream("/proc/self/oom_score_adj") >> score;
  std::cout << "core-limit " << core.rlim_max << "\numask " << mask << "\nout-of-memory-score " << score << std::endl;
}

}  // namespace

int main(int count, char** words) {
  if (count == 2 && std::string(words[1]) == "calls") {
    for (const auto& [name, body] : calls()) std::cout << name << "\n";
    return 0;
  }
  print_state();
  for (int i = 1; i < count; ++i) std::cout << words[i] << " " << attempt(words[i]) << std::endl;
  ::_exit(0);  // a sanitizer would look for leaks now, by ptrace
}
