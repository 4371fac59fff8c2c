// Fibers by a switch of stacks. swapcontext asks the system for the signal mask each time, a tenth of a microsecond
// that blocks of hundreds of thousands of switches would spend on nothing; it serves processors that we have no
// switch for.
#include "tests/gpu_shim/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace locus::gpu_shim {

namespace {
constexpr std::size_t kStack = 128 * 1024;
}

#if defined(__x86_64__)
// Saves what a function must preserve on the stack, and its top in *from; goes on where `to` stopped.
extern "C" void locus_switch_stack(void** from, void* to);
asm(R"(
.text
.globl locus_switch_stack
.type locus_switch_stack, @function
locus_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size locus_switch_stack, .-locus_switch_stack
)");
#endif

struct Fiber::Context {
  Context()
      : stack(::mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (stack == MAP_FAILED) throw std::bad_alloc();
  }
  ~Context() { ::munmap(stack, kStack); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  void* stack;
#if defined(__x86_64__)
  void *own = nullptr, *caller = nullptr;  // tops of stacks
#else
  ucontext_t own, caller;
#endif
};

Fiber::Fiber() : context_(std::make_unique<Context>()) {}
Fiber::~Fiber() = default;

namespace {
thread_local Fiber* entering = nullptr;  // whose body runs first on a new stack
}

void Fiber::enter(void* self) {
  auto* fiber = static_cast<Fiber*>(self);
  (*fiber->body_)();
  fiber->done_ = true;
  fiber->give_way();
}

#if defined(__x86_64__)
namespace {
void (*enter_of_fiber)(void*) = nullptr;
void first_frame() {
  enter_of_fiber(entering);
  __builtin_trap();  // enter() does not return
}
}  // namespace

void Fiber::start(const std::function<void()>* body) {
  body_ = body;
  done_ = false;
  enter_of_fiber = &Fiber::enter;
  // As locus_switch_stack leaves a stack: six registers, then where to return to; a function starts 8 beside 16 bytes.
  auto* top = reinterpret_cast<std::uintptr_t*>(static_cast<char*>(context_->stack) + kStack) - 2;
  *top = reinterpret_cast<std::uintptr_t>(&first_frame);
  context_->own = top - 6;
}

void Fiber::run() {
  entering = this;
  locus_switch_stack(&context_->caller, context_->own);
}
void Fiber::give_way() { locus_switch_stack(&context_->own, context_->caller); }
#else
void Fiber::start(const std::function<void()>* body) {
  body_ = body;
  done_ = false;
  ::getcontext(&context_->own);
  context_->own.uc_stack.ss_sp = context_->stack;
  context_->own.uc_stack.ss_size = kStack;
  context_->own.uc_link = nullptr;
  ::makecontext(
      &context_->own, [] { Fiber::enter(entering); }, 0);
}
void Fiber::run() {
  entering = this;
  ::swapcontext(&context_->caller, &context_->own);
}
void Fiber::give_way() { ::swapcontext(&context_->own, &context_->caller); }
#endif

}  // namespace locus::gpu_shim
