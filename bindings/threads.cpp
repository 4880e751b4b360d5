// How threads.ts reaches the core: threads(count) sets how many share work, and tells the function that another thread runs
// and where it says that it failed. With one thread there is nothing to tell, but the loader is to be the same.
#include "parallel/threads.h"

#include <emscripten/bind.h>

#include <cstdint>

namespace {

double threads([[maybe_unused]] int count) {
#ifdef LENGTHWISE_THREADS
  static uintptr_t places[2] = {reinterpret_cast<uintptr_t>(&lengthwise_thread), reinterpret_cast<uintptr_t>(&lengthwise_fault)};
  (void)lw::set_threads(count);
  return double(reinterpret_cast<uintptr_t>(places));
#else
  return 0;
#endif
}

}  // namespace

EMSCRIPTEN_BINDINGS(threads) { emscripten::function("threads", &threads); }
