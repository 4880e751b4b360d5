// The kernels as plain functions over memory of the module: what the bench against peers calls. Peers keep their tensors
// in their own heaps, so ours are timed without copies too. One file of WebAssembly without a loader: kernels.mjs reads it.
#include <emscripten.h>

#include <cstdlib>

#include "attention/attention.h"
#include "nn/linear.h"
#include "parallel/threads.h"
#include "position/stack.h"
#include "simd/simd.h"

#define EXPORT extern "C" EMSCRIPTEN_KEEPALIVE

using namespace lw;

namespace {

// A stack of encodings and what it gives for some length.
struct Site {
  Stack stack;
  Plan plan;
  std::vector<std::vector<float>> values;  // of its parameters
  AttentionScratch scratch;
};

char text[1024];      // from JavaScript, a spec; to JavaScript, what went wrong
float* last_scratch;  // of products

float* scratch(size_t floats) {
  static size_t held = 0;
  if (floats > held) {
    std::free(last_scratch);
    last_scratch = static_cast<float*>(std::malloc(floats * sizeof(float)));
    held = last_scratch ? floats : 0;
  }
  return last_scratch;
}

}  // namespace

#ifdef LENGTHWISE_THREADS
// As in bindings/threads.cpp.
EXPORT double share(int count) {
  static uintptr_t places[2] = {reinterpret_cast<uintptr_t>(&lengthwise_thread), reinterpret_cast<uintptr_t>(&lengthwise_fault)};
  (void)set_threads(count);
  return double(reinterpret_cast<uintptr_t>(places));
}
#endif

EXPORT char* text_area() { return text; }
EXPORT void* allocate(size_t bytes) { return std::aligned_alloc(64, (bytes + 63) / 64 * 64); }
EXPORT void release(void* block) { std::free(block); }

// c[m][n] = a[m][k] · b[k][n]
EXPORT void matmul(int m, int n, int k, const float* a, const float* b, float* c) {
  product(m, n, k, a, k, 1, b, n, 1, c, n, false, scratch(product_scratch(n, k)));
}
// c[m][n] = a[m][k] · w[n][k]ᵀ
EXPORT void matmul_transposed(int m, int n, int k, const float* a, const float* w, float* c) {
  linear(c, a, w, m, k, n, scratch(linear_scratch(m, k, n)));
}

// The spec lies in text_area(). nullptr: there is a sentence in it.
EXPORT Site* site(int heads, int head_dim, int trained_length, bool causal) {
  Shape shape;
  shape.heads = shape.kv_heads = heads, shape.head_dim = head_dim, shape.width = heads * head_dim;
  shape.trained_length = trained_length, shape.causal = causal;
  auto* made = new Site;
  if (Error error = Stack::make(text, shape, made->stack)) {
    std::strncpy(text, error.text.c_str(), sizeof text - 1);
    delete made;
    return nullptr;
  }
  for (Parameter* p : made->stack.parameters()) made->values.emplace_back(p->size()), p->value = made->values.back().data();
  Random random(1);
  made->stack.initialise(random);
  return made;
}
EXPORT float* site_parameters(Site* s) { return s->values.empty() ? nullptr : s->values[0].data(); }
EXPORT void site_release(Site* s) { delete s; }

// Into the same memory again and again, as a model does.
EXPORT bool plan(Site* s, int length) { return !s->stack.plan(length, 0, nullptr, s->plan); }
EXPORT const float* plan_input(Site* s) { return s->plan.input.data(); }

// The bias written out: [heads][length][length].
EXPORT void write_bias(Site* s, int length, float* out) {
  for (int h = 0; h < s->stack.shape().heads; h++)
    for (int i = 0; i < length; i++, out += length) std::memcpy(out, s->plan.bias.row(h, i), length * sizeof(float));
}

// q, k, v, out: [length][heads][head_dim]
EXPORT bool attend(Site* s, int length, const float* q, const float* k, const float* v, float* out) {
  const Shape& shape = s->stack.shape();
  AttentionInput in;
  in.queries = in.keys = length;
  in.heads = in.kv_heads = shape.heads, in.head_dim = shape.head_dim;
  in.q = q, in.k = k, in.v = v;
  in.q_stride = in.k_stride = in.v_stride = shape.width;
  return attention(in, s->plan, {}, out, shape.width, nullptr, s->scratch);
}
// The token after keys − 1 others, as a model decodes it: q, out [heads][head_dim]; k, v the cache, [heads][keys][head_dim].
EXPORT bool attend_next(Site* s, int keys, const float* q, const float* k, const float* v, float* out) {
  const Shape& shape = s->stack.shape();
  AttentionInput in;
  in.queries = 1, in.keys = keys, in.offset = keys - 1;
  in.heads = in.kv_heads = shape.heads, in.head_dim = shape.head_dim;
  in.q = q, in.k = k, in.v = v, in.keys_rotated = true;
  in.q_stride = shape.width, in.k_stride = in.v_stride = shape.head_dim, in.head_stride = ptrdiff_t(keys) * shape.head_dim;
  return attention(in, s->plan, {}, out, shape.width, nullptr, s->scratch);
}
// What the last pass needed beyond q, k, v and out, in floats.
EXPORT size_t scratch_floats(const Site* s) { return s->scratch.floats.size(); }

// In place: x [length][heads][head_dim]
EXPORT void turn(Site* s, int length, float* x) {
  const Shape& shape = s->stack.shape();
  rotate(s->plan.rotation, Side::query, x, shape.width, length, shape.heads, shape.head_dim, 0, false);
}
// What the processor can do through this engine: ten chains of multiply-adds in registers, x ← a·x + a; their sum.
EXPORT float chains(int steps, float a) {
  simd::f32x4 x[10], total = simd::zero();
  for (auto& chain : x) chain = simd::zero();
  for (int i = 0; i < steps; i++)
    for (auto& chain : x) chain = simd::madd(chain, simd::splat(a), simd::splat(a));
  for (auto& chain : x) total += chain;
  return simd::sum(total);
}
EXPORT void copy(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }
