// Several threads: parallel(parts, f) runs f(part, thread) once for each part; the caller takes its share and waits until all
// are done. Who computes what is chance, so parts must not depend on each other, and a result must not depend on how work
// was cut: then it has the same bits with any number of threads. Parts do not allocate (malloc may not be theirs to call),
// and what is called inside a part finds one thread. `thread`, 0 … threads() − 1, is for choosing scratch.
// Built without LENGTHWISE_THREADS, as the modules for one thread are, all this is a loop.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <type_traits>

#include "simd/buffer.h"

namespace lw {

constexpr int most_threads = 16;

// Work worth handing over, in multiply-adds or as much: some 10 µs.
constexpr double worth_sharing = 1 << 17;

#ifdef LENGTHWISE_THREADS

int threads();
// 1 … 16, at first 1. Not while something is being computed: scratch is measured by threads().
Error set_threads(int count);

namespace threads_detail {
using Call = void (*)(const void* f, int part, int thread);
void run(int parts, Call call, const void* f);
}  // namespace threads_detail

template <class F>
void parallel(int parts, const F& f) {
  threads_detail::run(parts, [](const void* f, int part, int thread) { (*static_cast<const F*>(f))(part, thread); }, &f);
}

#else

constexpr int threads() { return 1; }

template <class F>
void parallel(int parts, const F& f) {
  for (int part = 0; part < parts; part++) f(part, 0);
}

#endif

// The same, but by the caller alone where the work is too little to share.
template <class F>
void parallel_if(bool worth, int parts, const F& f) {
  if (threads() == 1 || worth) return parallel(parts, f);
  for (int part = 0; part < parts; part++) f(part, 0);
}

// f(first, last) or f(first, last, thread) for a piece of 0 … count − 1 for each thread, cut at multiples of `unit`; one
// piece if it is too little to share. `work` is that of one of them. Who makes a piece of one thing mostly makes the same
// piece of the next, whose numbers then lie in that core's cache.
template <class F>
void parallel_ranges(ptrdiff_t count, ptrdiff_t unit, double work, const F& f) {
  auto piece = [&](ptrdiff_t first, ptrdiff_t last, int thread) {
    if constexpr (std::is_invocable_v<F, ptrdiff_t, ptrdiff_t, int>) f(first, last, thread);
    else f(first, last);
  };
  if (threads() == 1 || double(count) * work < worth_sharing) return piece(0, count, 0);
  const ptrdiff_t units = (count + unit - 1) / unit, each = (units + threads() - 1) / threads() * unit;
  parallel(int((count + each - 1) / each), [&](int part, int thread) { piece(part * each, std::min(count, (part + 1) * each), thread); });
}

// f(row) for each; `work` is that of one.
template <class F>
void parallel_rows(int rows, double work, const F& f) {
  parallel_ranges(rows, 1, work, [&](ptrdiff_t first, ptrdiff_t last) {
    for (ptrdiff_t r = first; r < last; r++) f(r);
  });
}

}  // namespace lw

#if defined LENGTHWISE_THREADS && defined __EMSCRIPTEN__
// Threads are workers of JavaScript's: each calls this, with the top of a stack of its own and its number from 1 on.
extern "C" void lengthwise_thread(void* stack, int thread);
// Who fails sets this, so that the caller does not wait for ever.
extern std::atomic<int> lengthwise_fault;
#endif
