// Normalisation of each row x[width] of x[rows][width]; gain and bias are [width], epsilon > 0 (usually 1e-5).
#pragma once

namespace lw {

// y = gain · x / rms(x), rms(x) = √(mean x² + epsilon). inverse_rms[rows] is kept for the backward, or nullptr.
// y may be x.
void rms_norm(float* y, float* inverse_rms, const float* x, const float* gain, int rows, int width, float epsilon);

// dx += …, because x is the residual stream, which has a gradient already; dgain[width] += … (or nullptr).
void rms_norm_backward(float* dx, float* dgain, const float* dy, const float* x, const float* gain,
                       const float* inverse_rms, int rows, int width);

// y = gain · (x − mean) / deviation + bias, deviation = √(variance + epsilon).
// mean[rows] and inverse_deviation[rows] are kept for the backward, or both nullptr. y may be x.
void layer_norm(float* y, float* mean, float* inverse_deviation, const float* x, const float* gain, const float* bias,
                int rows, int width, float epsilon);

// dx += …; dgain[width] += …, dbias[width] += … (or nullptr).
void layer_norm_backward(float* dx, float* dgain, float* dbias, const float* dy, const float* x, const float* gain,
                         const float* mean, const float* inverse_deviation, int rows, int width);

}  // namespace lw
