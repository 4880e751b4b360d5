// Several threads: parallel(parts, f) runs f(part, thread) once for each part; the caller takes its share and waits until all
// are done. Who computes what is chance, so parts must not depend on each other, and a result must not depend on how work
// was cut: then it has the same bits with any number of threads. Parts do not allocate (malloc may not be theirs to call),
// and what is called inside a part finds one thread. `thread`, 0 … threads() − 1, is for choosing scratch.
// Built without LENGTHWISE_THREADS, as the modules for one thread are, all this is a loop.
#pragma once
#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "simd/buffer.h"

namespace lw {

constexpr int most_threads = 16;

// Work worth handing over, in multiply-adds or as much: some 10 µs.
constexpr double worth_sharing = 1 << 17;

#ifdef LENGTHWISE_THREADS

int threads();
// 1 … 16, at first 1. Threads that are no longer wanted end. Not while something is being computed: scratch is measured
// by threads().
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

// f(first, last) for pieces of 0 … count − 1 that begin at multiples of `unit`; `work` is that of one of them. With one
// thread it is one piece, with more they are a few each, if they are worth it.
template <class F>
void parallel_ranges(ptrdiff_t count, ptrdiff_t unit, double work, const F& f) {
  if (threads() == 1 || double(count) * work < worth_sharing) return f(ptrdiff_t(0), count);
  const double pieces = std::min(4.0 * threads(), double(count) * work * 2 / worth_sharing);
  const ptrdiff_t each = ptrdiff_t(double(count) / pieces / double(unit) + 1) * unit;
  parallel(int((count + each - 1) / each), [&](int part, int) { f(part * each, std::min(count, (part + 1) * each)); });
}

}  // namespace lw
