// Cross-entropy of the next token. logits[rows][vocabulary], targets[rows] in 0 … vocabulary − 1, or negative for a row
// that has no target: loss and gradient 0.
#pragma once
#include <cstdint>

namespace lw {

// losses[rows] = −log softmax(logits)[target], in nats.
void cross_entropy(float* losses, const float* logits, const int32_t* targets, int rows, int vocabulary);

// In place: logits become their gradient (softmax − onehot(target)) · weight, where weights[rows] is d total / d loss of
// the row. losses[rows] as above, because the exponentials are the same; or nullptr.
void cross_entropy_backward(float* logits, float* losses, const int32_t* targets, const float* weights, int rows, int vocabulary);

}  // namespace lw
