// Classic BPF over struct seccomp_data.
#include "core/process/system_calls.h"

#include <linux/audit.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace locus {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kArchitecture = 0;
#endif

constexpr std::uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;
constexpr std::uint32_t kUnknown = SECCOMP_RET_ERRNO | ENOSYS;
constexpr std::uint32_t kOtherAbi = 0x40000000;  // x32 calls, which have numbers of their own

constexpr std::uint32_t kNamespaces =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

constexpr long kRefused[] = {
#define LOCUS_REFUSED_CALL(name) SYS_##name,
#include "core/process/refused_calls.def"
#undef LOCUS_REFUSED_CALL
};

class Program {
 public:
  void load(std::size_t offset) { rules_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, std::uint32_t(offset))); }
  void answer(std::uint32_t action) { rules_.push_back(BPF_STMT(BPF_RET | BPF_K, action)); }
  // Answers at once where the loaded word is `value`.
  void answer_if(std::uint32_t value, std::uint32_t action) {
    rules_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
    answer(action);
  }
  void answer_unless(std::uint32_t value, std::uint32_t action) {
    rules_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0));
    answer(action);
  }
  void answer_from(std::uint32_t least, std::uint32_t action) {
    rules_.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, least, 0, 1));
    answer(action);
  }
  void answer_if_any(std::uint32_t bits, std::uint32_t action) {
    rules_.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1));
    answer(action);
  }
  // What `body` adds is for this call alone, and must end with an answer.
  template <class Body>
  void only_for(long call, Body body) {
    const std::size_t jump = rules_.size();
    rules_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, std::uint32_t(call), 0, 0));
    body();
    rules_[jump].jf = static_cast<std::uint8_t>(rules_.size() - jump - 1);
  }
  std::vector<SystemCallRule> take() { return std::move(rules_); }

 private:
  std::vector<SystemCallRule> rules_;
};

// Little-endian: the lower word of an argument comes first.
constexpr std::size_t argument(int index) { return offsetof(seccomp_data, args) + 8 * std::size_t(index); }

}  // namespace

std::vector<SystemCallRule> system_call_filter(ChildSockets sockets) {
  if (kArchitecture == 0) return {};
  Program program;
  program.load(offsetof(seccomp_data, arch));
  program.answer_unless(kArchitecture, kRefuse);
  program.load(offsetof(seccomp_data, nr));
  program.answer_from(kOtherAbi, kRefuse);
  // Its flags are in memory, where a filter cannot look; the C library then asks with clone().
  program.answer_if(SYS_clone3, kUnknown);
  program.only_for(SYS_clone, [&] {
    program.load(argument(0));
    program.answer_if_any(kNamespaces, kRefuse);
    program.answer(SECCOMP_RET_ALLOW);
  });
  program.only_for(SYS_socket, [&] {
    program.load(argument(0));
    if (sockets != ChildSockets::kNone) program.answer_if(AF_UNIX, SECCOMP_RET_ALLOW);
    if (sockets == ChildSockets::kNetwork) {
      program.answer_if(AF_INET, SECCOMP_RET_ALLOW);
      program.answer_if(AF_INET6, SECCOMP_RET_ALLOW);
      // By which the C library lists interfaces; what changes them needs a privilege that the child has not.
      program.only_for(AF_NETLINK, [&] {
        program.load(argument(2));
        program.answer_if(NETLINK_ROUTE, SECCOMP_RET_ALLOW);
        program.answer(kRefuse);
      });
    }
    program.answer(kRefuse);
  });
  // Limits are its own alone to look at and to change: lowered ones would end other processes of the same user.
  program.only_for(SYS_prlimit64, [&] {
    program.load(argument(0));
    program.answer_unless(0, kRefuse);
    program.answer(SECCOMP_RET_ALLOW);
  });
  for (const long call : kRefused) program.answer_if(std::uint32_t(call), kRefuse);
  program.answer(SECCOMP_RET_ALLOW);
  return program.take();
}

}  // namespace locus
