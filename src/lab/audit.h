// What textbooks ask of a position encoding, measured in numbers and not judged: it should tell every two positions apart,
// be the same each time, go beyond the length it was trained on, leave the content legible, and cost little.
//
// n = min(L, 512), L the trained length of the shape. Parameters have their first values plus N(0, 0.02), so that tables
// that start at zero are not all alike. "The last token" is token n − 1 of n, or 4n − 1 of 4n. Content is equal: every token
// has the same q, k and input, so that what differs comes from positions alone. What an encoding mixes from such neighbours, of
// the norm of an embedding, stands with the input vectors. Numbers closer than 8 roundings of the largest of their kind (input
// vectors, biases of a head, factors …) are equal. NaN: a door is closed, nothing to measure.
#pragma once
#include "position/stack.h"

namespace lw {

struct Audit {
  int length = 0;  // n

  // The smallest distance between two of n positions as the last token sees them, and the first two that have it. The
  // square of a distance is the sum, over the open doors, of the mean square difference of
  //   input vectors, by dimension;  cosine and sine of the relative angle, by pair;  bias + content term, by head
  // Two tokens of which the last one sees only one are infinitely apart; of two that it does not see only the input counts.
  // 0: nothing that this encoding does tells them apart. (A causal mask alone is not the encoding's doing.)
  struct { double distance = 0; int first = 0, second = 0; } unique;

  // The largest difference of any entry of the plan (positions, input, cosine and sine, visible bias, who is seen as 0 or
  // 1, scale) between: two plans of n tokens in evaluation; two in training, one after the other; n tokens alone and as
  // the first n of 2n. NaN for the last: 2n tokens are refused. door: what the largest of them is behind, "" where all are 0.
  struct { double again = 0, training = 0, longer = 0; const char* door = ""; } deterministic;

  // What comes at 4n that never came at n (seen: the largest of 32 plans in training), from 0 to 1:
  //   distances  share of the keys that the last token sees, further away than any key was (bias, content, value, pattern doors);
  //              where a bias looks at more than the distance, with a bias outside of the range of their head so far
  //   angles     share of its relative angles, over keys and pairs, that lie modulo 2π outside of the arc of their pair so far
  //   rows       share of the input vectors that equal none of the first n within 1e-6
  //   factors    share of the factors on rows of scores, over queries and heads, outside of the range of their head so far
  //   weight     share of its attention, under bias and pattern with equal content, on keys at such distances; mean of heads
  // trained: the spec of training, where the encoding is put on a trained model (Descriptor::after_training), else "".
  // refused: the sentence with which 4n tokens are refused; then nothing else is measured.
  struct { std::string trained, refused; double distances = 0, angles = 0, rows = 0, factors = 0, weight = 0; } past;

  // input: root of the mean square norm of the vectors added at the input, over the norm of a token's embedding (1 times
  // embedding_scale, as models here start). bias: standard deviation of the last token's finite biases (root of the mean
  // square over heads), over that of q·k·score_scale for q and k of unit variance.
  struct { double input = 0, bias = 0; } content;

  // parameters; bytes of the plan for n tokens; time to plan and to attend (one layer, all heads, with what is mixed), each over
  // the time of attention with no encoding: the least of many that take turns. Times are the only numbers here that vary.
  struct { double parameters = 0, bytes = 0, planning = 0, attention = 0; } cost;
};

Error audit(std::string_view spec, const Shape& shape, Audit& out);

}  // namespace lw
