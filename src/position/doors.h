// The doors through which position enters a transformer, and the plan: plain data, one optional part per door.
// The kernels know the plan and never an encoding.
#pragma once
#include <climits>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "simd/buffer.h"

namespace lw {

enum class Door : unsigned {
  ids = 1,         // the number that a token carries
  input = 2,       // a vector added to the token's embedding
  rotation = 4,    // a rotation of each pair of q and k
  bias = 8,        // a number added to the score, known before the content is
  content = 16,    // a score term that depends on content and position together
  pattern = 32,    // who may look at whom
  scale = 64,      // a factor on the scores of a row
  value = 128,     // a position term added to what is read
};
constexpr unsigned operator|(Door a, Door b) { return unsigned(a) | unsigned(b); }
constexpr unsigned operator|(unsigned a, Door b) { return a | unsigned(b); }
constexpr bool opens(unsigned doors, Door door) { return doors & unsigned(door); }

// What an encoding is asked to serve. All sizes ≥ 1; heads is a multiple of kv_heads.
struct Shape {
  int heads = 1;           // H, query heads
  int kv_heads = 1;        // key/value heads (grouped-query attention)
  int head_dim = 1;        // D
  int width = 1;           // d, the model's width
  int trained_length = 1;  // L, the length trained on
  bool causal = true;
};

// interleaved: pair k is (2k, 2k+1). half: pair k is (k, k + pairs). Weights made for one are wrong for the other.
enum class Pairing { interleaved, half };

// Pair k of token p turns by the angle whose cosine and sine stand here, multiplied by the gain if there is one;
// dimensions ≥ 2·pairs are left alone.
struct Rotation {
  int pairs = 0;  // 0: the door is closed
  Pairing pairing = Pairing::interleaved;
  Buffer<float> cosine, sine;          // [length][pairs]
  Buffer<float> key_cosine, key_sine;  // of keys, where their gain is another; empty: the same as for queries
};
enum class Side { query, key };

// A table: row(h, i)[j] is added to the score of query i and key j. row_stride −1 is "by distance" (Toeplitz). Tables are
// padded so that reading up to 16 floats past a row is safe.
struct Bias {
  Buffer<float> table;  // empty: the door is closed
  ptrdiff_t head_stride = 0, row_stride = 0, origin = 0;
  bool triangular = false;  // row after row of the keys 0 … i only: a causal table that is not by distance
  ptrdiff_t index(int head, int query) const {
    return head * head_stride + (triangular ? ptrdiff_t(query) * (query + 1) / 2 : query * row_stride) + origin;
  }
  const float* row(int head, int query) const { return table.data() + index(head, query); }
};

struct Interval { int first, last; };  // keys first ≤ j < last

// Who sees whom: sorted, disjoint, non-empty intervals of keys for each query, already causal if the shape is.
// Empty: every query sees keys [0, i] (causal) or all keys.
struct Pattern {
  Buffer<int> begin;           // [length + 1], into intervals
  Buffer<Interval> intervals;  // clip `last` to the keys that exist
};

// Where distance is remapped, as Self-Extend does: in each zone of keys, counted from the query, tokens carry other
// numbers. Zone 0 is the nearest.
struct Zone {
  Buffer<double> query, key;  // [length], the numbers in this zone
  Buffer<int> first;          // [length]: of query i it holds the keys first[i] ≤ j, up to the nearer zone
  Rotation rotation;          // from zone 1 on; zone 0's is Plan::rotation
};

// One sequence as the content terms see it: tokens offset … offset + count − 1 are new; keys 0 … offset + count − 1 exist.
struct Sequence {
  int offset = 0, count = 0;
  const float* x = nullptr;  // [count][width], the attention layer's (normalised) input for the new tokens
  const float* q = nullptr;  // new tokens' queries before any rotation, head h at q + row·q_stride + h·D
  const float* k = nullptr;  // new tokens' keys before any rotation
  ptrdiff_t q_stride = 0, k_stride = 0;
};

struct Row {
  int head, query;   // query: index in the sequence (offset included)
  const float* q;    // [D], before any rotation
  int first, last;   // hull of the keys it may see: first ≤ j < last; arrays below are indexed by j itself
};

// The content (and value) door: made by an encoding, one per layer and sequence (a KV cache owns its own).
// Called once per row, never per score. Scores are q·k·score_scale, before bias and scale.
class ContentTerm {
 public:
  virtual ~ContentTerm() = default;
  // Parameters may have changed; `length` tokens at most will come. Rebuild what depends on parameters alone.
  virtual bool begin(int length) = 0;  // false: out of memory
  // New tokens of one sequence (offset 0 starts a fresh one): extend the per-token state.
  virtual bool sequence(const Sequence& tokens) = 0;
  // scores[j] += term; `raw` holds q·k·score_scale before any content term, valid in [first, last).
  virtual void row(const Row& row, const float* raw, float* scores) = 0;
  // The value door: out[D] += Σ_j weights[j]·(position term).
  virtual void read(const Row&, const float* /*weights*/, float* /*out*/) {}

  // Backward, in this order: begin and sequence again (they recompute), read_backward and row_backward for every row,
  // then sequence_backward once per sequence and end_backward once. Gradients of parameters are accumulated (+=).
  // dweights[j] += …, from dout[D].
  virtual void read_backward(const Row&, const float* /*weights*/, const float* /*dout*/, float* /*dweights*/) {}
  // dscores: gradient of the summed score. draw[j] += the part that flows to raw through this term; dq[D] += its part.
  virtual void row_backward(const Row& row, const float* raw, const float* dscores, float* draw, float* dq) = 0;
  // dx [count][width], dq and dk (before rotation; strides as in Sequence) are accumulated into.
  virtual void sequence_backward(const Sequence& tokens, float* dx, float* dq, float* dk) = 0;
  virtual void end_backward() = 0;
};

// What a stack of encodings gives for the tokens 0 … length − 1 of a sequence.
struct Plan {
  int length = 0;
  bool causal = true;
  Buffer<double> positions;   // [length], after the ids door
  Buffer<int> tokens;         // [length], which tokens they are; empty where no encoding reads them
  float embedding_scale = 1;  // factor on token embeddings before `input` is added
  Buffer<float> input;        // [length][width]; empty: closed
  Rotation rotation;
  std::vector<Zone> zones;    // empty: one zone, where tokens carry `positions`
  Bias bias;
  Pattern pattern;
  Buffer<float> scale;        // [H][length]; empty: closed. score ← scale·(q·k/√D + content + bias)
  float score_scale = 0;      // factor on q·k, 1/√D unless an encoding says otherwise
  bool linear = false;        // no softmax: weights are φ(q)·φ(k) over their sum, see attention.h. Only ids, input, rotation are open
  bool has_content = false;   // the stack has content terms: ask Stack::content()

  // As far as rotations go.
  int zone_count() const { return zones.empty() || rotation.pairs == 0 ? 1 : int(zones.size()); }
  const Rotation& zone_rotation(int zone) const { return zone == 0 ? rotation : zones[zone].rotation; }
  Interval zone_keys(int zone, int query) const {
    if (zone_count() == 1) return {0, INT_MAX};
    return {zones[zone].first[query], zone == 0 ? INT_MAX : zones[zone - 1].first[query]};
  }
};

// Gradients of a plan's tables, same layouts; accumulated into. Empty where the door is closed or nothing is learned.
struct PlanGradient {
  Buffer<float> input;     // [length][width]
  Buffer<float> angle;     // [length][pairs]; with several zones [zones][Side][length][pairs]
  Buffer<float> bias;      // as Bias::table
  Buffer<float> scale;     // [H][length]
};

}  // namespace lw
