// Typed arrays as a careful user would write them: buffers made once, loops over adjacent numbers, tables hoisted.
import { likeliest, linear, Sequence } from './llama.mjs';
import { bucket, inputs, outIn } from './rows.mjs';

// c = a·b, b [k][n]. Its columns are copied side by side first, unless rows are too few for that to pay.
function matmul(m, n, k, a, b, c, turned) {
  if (m < 4) return few(m, n, k, a, b, c);
  for (let l = 0; l < k; l++) for (let j = 0; j < n; j++) turned[j * k + l] = b[l * n + j];
  linear(c, a, turned, m, k, n);
}
function few(m, n, k, a, b, c) {
  c.fill(0);
  for (let i = 0; i < m; i++) for (let l = 0; l < k; l++) addRow(n, a[i * k + l], b, l * n, c, i * n);
}
function addRow(n, x, b, from, c, to) {
  for (let j = 0; j < n; j++) c[to + j] += x * b[from + j];
}

function attend(length, heads, D, q, k, v, out, scores) {
  const width = heads * D, scale = 1 / Math.sqrt(D);
  for (let h = 0; h < heads; h++) for (let i = 0; i < length; i++) {
    const row = i * width + h * D;
    let most = -Infinity;
    for (let j = 0; j <= i; j++) {
      const key = j * width + h * D;
      let s0 = 0, s1 = 0, s2 = 0, s3 = 0;
      for (let d = 0; d < D; d += 4) {
        s0 += q[row + d] * k[key + d], s1 += q[row + d + 1] * k[key + d + 1];
        s2 += q[row + d + 2] * k[key + d + 2], s3 += q[row + d + 3] * k[key + d + 3];
      }
      const s = scores[j] = (s0 + s1 + s2 + s3) * scale;
      if (s > most) most = s;
    }
    let sum = 0;
    for (let j = 0; j <= i; j++) sum += scores[j] = Math.exp(scores[j] - most);
    out.fill(0, row, row + D);
    let j = 0;
    for (; j + 3 <= i; j += 4) { // four values for each trip through the row
      const w0 = scores[j] / sum, w1 = scores[j + 1] / sum, w2 = scores[j + 2] / sum, w3 = scores[j + 3] / sum;
      const v0 = j * width + h * D, v1 = v0 + width, v2 = v1 + width, v3 = v2 + width;
      for (let d = 0; d < D; d++) out[row + d] += w0 * v[v0 + d] + w1 * v[v1 + d] + w2 * v[v2 + d] + w3 * v[v3 + d];
    }
    for (; j <= i; j++) for (let d = 0, w = scores[j] / sum, from = j * width + h * D; d < D; d++) out[row + d] += w * v[from + d];
  }
}

function rotate(length, heads, D, x, cosine, sine) {
  const half = D / 2;
  for (let t = 0, at = 0; t < length; t++) for (let h = 0; h < heads; h++, at += D) for (let p = 0; p < half; p++) {
    const c = cosine[t * half + p], s = sine[t * half + p], a = x[at + p], b = x[at + half + p];
    x[at + p] = a * c - b * s, x[at + half + p] = b * c + a * s;
  }
}

function biases({ encoding, heads, length }, table) {
  const far = new Float32Array(heads * length);
  return () => {
    for (let h = 0; h < heads; h++) for (let distance = 0; distance < length; distance++) {
      far[h * length + distance] = encoding === 'alibi' ? -(2 ** (-8 * (h + 1) / heads)) * distance : table[bucket(distance) * heads + h];
    }
    return far;
  };
}

function generating(row, count) {
  const { weights, prompt } = inputs(row);
  const sequence = new Sequence({ ...row.config, length: prompt.length + count }, weights);
  const tokens = new Float32Array(count);
  const run = () => {
    sequence.reset();
    tokens[0] = likeliest(sequence.feed(prompt));
    for (let i = 1; i < count; i++) tokens[i] = likeliest(sequence.feed([tokens[i - 1]]));
  };
  return { run, result: () => tokens };
}

export async function load() {
  return {
    name: 'plain JavaScript',
    kinds: {
      product(row) {
        const { m, n, k } = row, { a, b } = inputs(row), c = new Float32Array(m * n), turned = new Float32Array(n * k);
        if (!row.outIn) return { run: () => matmul(m, n, k, a, b, c, turned), result: () => c };
        const weights = outIn(row);
        return { run: () => linear(c, a, weights, m, k, n), result: () => c };
      },
      attention(row) {
        const { length, heads, headDim } = row, { q, k, v } = inputs(row);
        const out = new Float32Array(q.length), scores = new Float32Array(length);
        return { run: () => attend(length, heads, headDim, q, k, v, out, scores), result: () => out };
      },
      rotate(row) {
        const { length, heads, headDim } = row, half = headDim / 2, x = inputs(row).x.slice();
        const cosine = new Float32Array(length * half), sine = new Float32Array(length * half);
        for (let p = 0; p < half; p++) for (let t = 0, f = 10000 ** (-2 * p / headDim); t < length; t++) {
          cosine[t * half + p] = Math.cos(t * f), sine[t * half + p] = Math.sin(t * f);
        }
        let first;
        return { run() { rotate(length, heads, headDim, x, cosine, sine), first ??= x.slice(); }, result: () => first };
      },
      copy(row) {
        const { x } = inputs(row), to = new Float32Array(x.length);
        return { run: () => to.set(x), result: () => to };
      },
      sinusoidal({ length, width }) {
        const half = width / 2, out = new Float32Array(length * width);
        const frequency = Float64Array.from({ length: half }, (_, k) => 10000 ** (-2 * k / width));
        const run = () => {
          for (let p = 0, at = 0; p < length; p++, at += width) for (let k = 0; k < half; k++) {
            const angle = p * frequency[k];
            out[at + k] = Math.sin(angle), out[at + half + k] = Math.cos(angle);
          }
        };
        return { run, result: () => out };
      },
      bias(row) {
        const { heads, length } = row, out = new Float32Array(heads * length ** 2), byDistance = biases(row, inputs(row).table);
        const run = () => {
          const far = byDistance();
          for (let h = 0, at = 0; h < heads; h++) for (let i = 0; i < length; i++) for (let j = 0; j < length; j++) out[at++] = far[h * length + Math.abs(i - j)];
        };
        return { run, result: () => out };
      },
      distances(row) {
        const byDistance = biases(row, inputs(row).table);
        let far;
        return { run() { far = byDistance(); }, result: () => far };
      },
      decode: (row) => generating(row, row.tokens),
      prefill: (row) => generating(row, 1),
    },
  };
}
