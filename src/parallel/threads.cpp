#include "parallel/threads.h"

#ifdef LENGTHWISE_THREADS
#include <cstdint>
#include <string>
#ifndef __EMSCRIPTEN__
#include <thread>
#endif

#ifdef __EMSCRIPTEN__
std::atomic<int> lengthwise_fault{0};
#endif

namespace lw {
namespace {

// What is being done, in one number, so that taking a part is one exchange: round (32 bits) | parts (16) | next part (16).
// Who has taken a part may read `call` and `argument`: they stand until that part is done.
std::atomic<uint64_t> ticket{0};
threads_detail::Call call;
const void* argument;
std::atomic<int> unfinished{0};   // parts
std::atomic<bool> working{false};
std::atomic<int> wanted{1};       // threads, the caller among them
std::atomic<bool> ending{false};
std::atomic<int> asleep{0};
std::atomic<uint32_t> alarm{0};   // sleepers wait until it changes

constexpr int most_parts = 0xffff;

// Whether a ticket has no part for this thread. (What is wanted was said before the ticket was made.)
bool nothing_in(uint64_t t, int thread) {
  return (t & most_parts) >= (t >> 16 & most_parts) || thread >= wanted.load(std::memory_order_relaxed);
}

// Does one part, if one is left.
bool take(int thread) {
  uint64_t t = ticket.load(std::memory_order_acquire);
  do {
    if (nothing_in(t, thread)) return false;
  } while (!ticket.compare_exchange_weak(t, t + 1, std::memory_order_acq_rel, std::memory_order_acquire));
  call(argument, int(t & most_parts), thread);
  unfinished.fetch_sub(1, std::memory_order_release);
  return true;
}

// So often a worker looks at the ticket before it goes to sleep: some 300 µs, more than a training step does between two
// pieces of shared work. To be woken takes as long as many of those pieces.
#if defined(__x86_64__) || defined(__i386__)
constexpr int patience = 6000;
void pause() { __builtin_ia32_pause(); }
#else
constexpr int patience = 200000;
void pause() {}
#endif

void sleep_until_alarm(uint32_t seen) {
#ifdef __EMSCRIPTEN__
  __builtin_wasm_memory_atomic_wait32(reinterpret_cast<int*>(&alarm), int(seen), -1);
#else
  alarm.wait(seen);
#endif
}
void sound_alarm() {
  alarm.fetch_add(1);
  if (asleep.load() == 0) return;
#ifdef __EMSCRIPTEN__
  __builtin_wasm_memory_atomic_notify(reinterpret_cast<int*>(&alarm), most_threads);
#else
  alarm.notify_all();
#endif
}

void serve(int thread) {
  while (!ending) {
    for (int looks = 0; looks < patience; looks++)
      if (take(thread)) looks = 0;
      else pause();
    asleep.fetch_add(1);
    const uint32_t seen = alarm.load();
    // Whoever hands out work after this look changes the alarm, whoever did before has been seen.
    if (nothing_in(ticket.load(), thread) && !ending) sleep_until_alarm(seen);
    asleep.fetch_sub(1);
  }
}

#ifndef __EMSCRIPTEN__
// Ended when the program ends.
struct Workers {
  std::thread threads[most_threads];
  void resize(int count) {
    ending = true, sound_alarm();
    for (std::thread& each : threads) if (each.joinable()) each.join();
    ending = false, wanted = count;
    for (int i = 1; i < count; i++) threads[i] = std::thread(serve, i);
  }
  ~Workers() { resize(1); }
} workers;
#endif

}  // namespace

int threads() { return wanted.load(std::memory_order_relaxed); }

Error set_threads(int count) {
  if (count < 1 || count > most_threads)
    return {"threads is " + std::to_string(count) + "; allowed: 1 to " + std::to_string(most_threads)};
#ifdef __EMSCRIPTEN__
  wanted = count;  // JavaScript starts and ends them
#else
  if (count != threads()) workers.resize(count);
#endif
  return {};
}

void threads_detail::run(int parts, Call f, const void* context) {
  // Inside a part, or while another thread of the program's own is at it, there is nobody to share with.
  if (parts > 1 && parts <= most_parts && threads() > 1 && !working.exchange(true, std::memory_order_acquire)) {
    call = f, argument = context;
    unfinished.store(parts, std::memory_order_relaxed);
    ticket.store(((ticket.load(std::memory_order_relaxed) >> 32) + 1) << 32 | uint64_t(parts) << 16);
    sound_alarm();
    while (take(0)) {}
    // Not by sleeping, which a page's main thread must not do; it is the rest of a part.
    while (unfinished.load(std::memory_order_acquire) > 0) {
      pause();
#ifdef __EMSCRIPTEN__
      if (lengthwise_fault) __builtin_trap();
#endif
    }
    working.store(false, std::memory_order_release);
  } else {
    for (int part = 0; part < parts; part++) f(context, part, 0);
  }
}

}  // namespace lw

#ifdef __EMSCRIPTEN__
// What a worker of JavaScript's runs: an instance of its own, on the same memory, with the stack that it is given.
extern "C" void lengthwise_serve(int thread) { lw::serve(thread); }
asm(R"(
  .globaltype __stack_pointer, i32
  .functype lengthwise_serve (i32) -> ()
  .section .text.lengthwise_thread,"",@
  .globl lengthwise_thread
  .type lengthwise_thread,@function
lengthwise_thread:
  .functype lengthwise_thread (i32, i32) -> ()
  local.get 0
  global.set __stack_pointer
  local.get 1
  call lengthwise_serve
  end_function
)");
#endif
#endif
