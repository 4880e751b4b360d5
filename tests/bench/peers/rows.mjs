// What is measured: rows of numbers about the work, and the doubles that each result must agree with.

import { coarse, exactSequence, likeliest, lossOf, stories15M, trained, weightsOf } from './llama.mjs';
import { numbers } from './numbers.mjs';

const heads = 8, headDim = 64, width = heads * headDim;

const product = (m, k, n, options) => ({
  id: `product ${m}×${k}×${n}`, group: 'product', kind: 'product', m, n, k, work: 2 * m * n * k / 1e9, unit: 'GFLOP/s', ...options });
// Two products over the half of the square that a causal mask leaves.
const attention = (length, options) => ({
  id: `attention ${length}`, group: 'attention', kind: 'attention', length, heads, headDim,
  work: 2 * length * (length + 1) * width / 1e9, unit: 'GFLOP/s', ...options });

const training = (width) => ({ id: `training step, width ${width}`, group: 'training', kind: 'training', config: trained(width), batch: 16, work: 1, unit: 'steps/s' });

/** Steps of models side by side before they wait for each other. */
export const stepsEach = 16;

/** Every row. `entries` says who takes part where it is not everybody: [name of the contender, label, more]. */
export const rows = [
  { id: 'ten chains of multiply-adds', group: 'peak', kind: 'peak', steps: 1e6, work: 2 * 4 * 10 * 1e6 / 1e9, unit: 'GFLOP/s' },
  product(512, 512, 512), product(1024, 1024, 1024), product(16, 288, 768), product(1, 1024, 1024),
  // Weights lie [out][in] in our layers; peers take them as they like best.
  product(16, 288, 768, { id: 'linear 16×288×768', outIn: true }), product(1, 1024, 1024, { id: 'linear 1×1024×1024', outIn: true }),
  attention(256), attention(1024), attention(4096, { long: true }),
  // The doors beside the same attention without any: what they cost.
  attention(1024, { id: 'attention 1024, doors', beside: 'nope', specs: ['nope', 'alibi', 'rope:pairing=half'] }),
  attention(16384, { id: 'attention 16384, window 256', beside: 'nope', specs: ['nope', 'window:width=256'], long: true }),
  // Where far keys weigh nothing.
  ...[4096, 16384].map((length) => attention(length, { id: `attention ${length}, ALiBi`, beside: 'nope', specs: ['nope', 'alibi'], long: true })),
  { id: 'rotate 4096×8×64', group: 'rotate', kind: 'rotate', length: 4096, heads, headDim, work: 2 * 4096 * width * 4 / 1e9, unit: 'GB/s' },
  { id: 'copy 4096×8×64', group: 'rotate', kind: 'copy', length: 4096, heads, headDim, work: 2 * 4096 * width * 4 / 1e9, unit: 'GB/s' },
  { id: 'sinusoidal table 8192×512', group: 'tables', kind: 'sinusoidal', length: 8192, width: 512, work: 8192 * 512 * 4 / 1e9, unit: 'GB/s' },
  ...['alibi', 't5'].flatMap((encoding) => [
    { id: `${encoding} bias 8×2048×2048, dense`, group: 'tables', kind: 'bias', encoding, length: 2048, heads, headDim, work: heads * 2048 ** 2 * 4 / 1e9, unit: 'GB/s' },
    { id: `${encoding} bias 2048, by distance`, group: 'tables', kind: 'distances', encoding, length: 2048, heads, headDim, work: 1, unit: 'µs' },
  ]),
  ...[64, 128].map((width) => training(width)),
  // One thread and two: ours beside ourselves.
  ...[product(512, 512, 512), product(1024, 1024, 1024), attention(1024), training(64), training(128)]
    .map((row) => ({ ...row, id: `threads: ${row.id}`, group: 'threads', threads: true, turn: 600 })), // long turns: who was asleep takes some work to be at full speed
  { ...training(64), id: 'two models side by side, width 64', group: 'threads', kind: 'side', beside: '1 worker', specs: ['1 worker', '2 workers'], work: 2 * stepsEach },
  { id: 'decode, stories15M', group: 'model', kind: 'decode', config: stories15M, tokens: 64, work: 64, unit: 'tokens/s' },
  { id: 'decode, stories15M, precisions', group: 'model', kind: 'decode', config: stories15M, tokens: 64, work: 64, unit: 'tokens/s',
    beside: 'f32', specs: ['f32', 'f16', 'int8'] },
  { id: 'prefill 256, stories15M', group: 'model', kind: 'prefill', config: stories15M, tokens: 256, work: 256, unit: 'tokens/s' },
];
/** Steps that a training contender takes before it says what they did to the loss. */
export const checkedSteps = 20;

const kept = new Map();
/** Inputs of a row, made once. */
export function inputs(row) {
  const make = {
    product: ({ m, n, k }) => ({ a: numbers(m * k, 1), b: numbers(k * n, 2) }),
    attention: ({ length }) => ({ q: numbers(length * width, 1), k: numbers(length * width, 2), v: numbers(length * width, 3) }),
    rotate: ({ length }) => ({ x: numbers(length * width, 1) }),
    peak: () => ({}),
    copy: ({ length }) => ({ x: numbers(length * width, 1) }),
    sinusoidal: () => ({}),
    bias: () => ({ table: numbers(heads * 32, 1) }),
    distances: () => ({ table: numbers(heads * 32, 1) }),
    training: ({ config, batch }) => ({ weights: weightsOf(config), tokens: Int32Array.from({ length: batch * (config.length + 1) }, (_, i) => i * 7919 % config.vocabulary) }),
    side: (row) => make.training(row),
    decode: ({ config, specs }) => ({ weights: specs ? coarse(weightsOf(config)) : weightsOf(config), prompt: Int32Array.of(1, 500) }),
    prefill: ({ config, tokens }) => ({ weights: weightsOf(config), prompt: Int32Array.from({ length: tokens }, (_, i) => i ? 3 + i * 7919 % (config.vocabulary - 3) : 1) }),
  };
  const key = `${row.kind} ${row.m} ${row.n} ${row.k} ${row.length} ${row.config?.width} ${row.specs}`;
  if (!kept.has(key)) {
    kept.clear(); // the last row's may be large
    kept.set(key, make[row.kind](row));
  }
  return kept.get(key);
}

/** A product's b [k][n] as weights lie, [n][k]. */
export function outIn(row) {
  const { b } = inputs(row), { n, k } = row;
  return Float32Array.from(b, (_, i) => b[i % k * n + Math.floor(i / k)]);
}

// Some indices below n, the first and the last among them.
function some(n, count) {
  if (n <= count) return Array.from({ length: n }, (_, i) => i);
  return [...new Set(Array.from({ length: count }, (_, i) => Math.round(i * (n - 1) / (count - 1))))];
}

const references = {
  product({ m, n, k }, { a, b }) {
    const at = [], values = [];
    for (const i of some(m, 23)) for (const j of some(n, 29)) {
      let sum = 0;
      for (let l = 0; l < k; l++) sum += a[i * k + l] * b[l * n + j];
      at.push(i * n + j), values.push(sum);
    }
    return { size: m * n, at, values, tolerance: 1e-6 * k ** 0.5 * 10 };
  },
  attention({ length, spec = 'nope' }, { q, k, v }) {
    const at = [], values = [];
    const [name, option] = spec.split(':');
    const window = name === 'window' ? Number(option.split('=')[1]) : Infinity;
    const dot = (i, j, h) => {
      const a = i * width + h * headDim, b = j * width + h * headDim;
      let sum = 0;
      if (name === 'rope') {
        for (let p = 0; p < headDim / 2; p++) {
          const turn = (i - j) * 10000 ** (-2 * p / headDim), c = Math.cos(turn), s = Math.sin(turn);
          const [q0, q1, k0, k1] = [q[a + p], q[a + p + headDim / 2], k[b + p], k[b + p + headDim / 2]];
          sum += c * (q0 * k0 + q1 * k1) + s * (q0 * k1 - q1 * k0);
        }
      } else for (let d = 0; d < headDim; d++) sum += q[a + d] * k[b + d];
      return sum / Math.sqrt(headDim);
    };
    for (const h of some(heads, 3)) for (const i of some(length, 9)) {
      const first = Math.max(0, i + 1 - window);
      const scores = Array.from({ length: i + 1 - first }, (_, n) => dot(i, first + n, h) - (name === 'alibi' ? 2 ** (-8 * (h + 1) / heads) * (i - first - n) : 0));
      const most = scores.reduce((x, y) => Math.max(x, y));
      const weights = scores.map((s) => Math.exp(s - most));
      const sum = weights.reduce((x, y) => x + y);
      for (let d = 0; d < headDim; d++) {
        at.push(i * width + h * headDim + d);
        values.push(weights.reduce((x, w, n) => x + w * v[(first + n) * width + h * headDim + d], 0) / sum);
      }
    }
    return { size: length * width, at, values, tolerance: 2e-5 };
  },
  rotate({ length }, { x }) {
    const at = [], values = [];
    for (const t of some(length, 300)) for (const h of some(heads, 3)) for (let p = 0; p < headDim / 2; p++) {
      const turn = t * 10000 ** (-2 * p / headDim), a = t * width + h * headDim + p, b = a + headDim / 2;
      at.push(a, b), values.push(x[a] * Math.cos(turn) - x[b] * Math.sin(turn), x[b] * Math.cos(turn) + x[a] * Math.sin(turn));
    }
    return { size: length * width, at, values, tolerance: 1e-3 }; // of peers whose angles are f32
  },
  peak: () => ({ size: 1, values: [40], tolerance: 1e-5 }), // each number tends to a / (1 − a)
  copy: (_, { x }) => ({ size: x.length, values: x, tolerance: 0 }),
  // All sines, then all cosines.
  sinusoidal({ length, width }) {
    const values = new Float64Array(length * width);
    for (let k = 0; k < width / 2; k++) {
      const frequency = 10000 ** (-2 * k / width);
      for (let p = 0; p < length; p++) values[p * width + k] = Math.sin(p * frequency), values[p * width + width / 2 + k] = Math.cos(p * frequency);
    }
    return { size: values.length, values, tolerance: 1e-3 };
  },
  bias({ encoding, length }, { table }) {
    const at = [], values = [];
    for (let h = 0; h < heads; h++) for (const i of some(length, 31)) for (const j of some(i + 1, 97)) {
      at.push((h * length + i) * length + j), values.push(biasOf(encoding, table, h, i - j));
    }
    return { size: heads * length * length, at, values, tolerance: 1e-4 };
  },
  // [heads][length], by distance 0 … length − 1
  distances({ encoding, length }, { table }) {
    const values = Array.from({ length: heads * length }, (_, n) => biasOf(encoding, table, Math.floor(n / length), n % length));
    return { size: values.length, values, tolerance: 1e-4 };
  },
  // The loss before the first step; and that it fell by a tenth at least (1) in some more.
  training: ({ config, batch }, { weights, tokens }) => ({ size: 2, values: [lossOf(config, weights, tokens, batch), 1], tolerance: 1e-4 }),
  side: ({ config, batch }, { weights, tokens }) => ({ size: 2, values: Array(2).fill(lossOf(config, weights, tokens, batch)), tolerance: 1e-4 }),
  decode: (row, from) => ({ size: row.tokens, values: continued(row, from, row.tokens), tolerance: 0 }),
  prefill: (row, from) => ({ size: 1, values: continued(row, from, 1), tolerance: 0 }),
};

function continued({ config }, { weights, prompt }, count) {
  const sequence = exactSequence({ ...config, length: prompt.length + count }, weights);
  const tokens = [likeliest(sequence.feed(prompt))];
  while (tokens.length < count) tokens.push(likeliest(sequence.feed(tokens.slice(-1))));
  return tokens;
}

/** The bucket of a distance ≥ 0 (T5, 32 of them up to 128). */
export const bucket = (distance) => (distance < 16 ? distance : Math.min(31, 16 + Math.floor(Math.log(distance / 16) / Math.log(8) * 16 + 1e-9)));

const biasOf = (encoding, table, head, distance) =>
  encoding === 'alibi' ? -(2 ** (-8 * (head + 1) / heads)) * distance : table[bucket(distance) * heads + head];

let latest = {};
/** What the result of a row (with the entry's own settings) must be. */
export function expected(row) {
  const key = `${row.id} ${row.spec}`;
  if (latest.key !== key) latest = { key, value: references[row.kind](row, inputs(row)) };
  return latest.value;
}
