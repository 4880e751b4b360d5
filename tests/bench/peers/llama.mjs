// A transformer in plain typed arrays: a peer in Float32Array, the reference of the others in Float64Array.
import { numbers } from './numbers.mjs';

/** stories15M without its weights. */
export const stories15M = { vocabulary: 32000, width: 288, layers: 6, heads: 6, hidden: 768, length: 256, activation: 'swiglu', half: false };
export const trained = (width) => ({ vocabulary: 256, width, layers: 2, heads: 4, hidden: 4 * width, length: 64, activation: 'gelu', half: true });

/** { embedding, final_norm, layers: [{ attention_norm, wq, … }] }, small and all different; matrices are [out][in]. */
export function weightsOf({ vocabulary, width, layers, hidden, activation }) {
  let seed = 1;
  const matrix = (out, into) => numbers(out * into, seed++).map((x) => x * (3 / into) ** 0.5);
  const gain = () => numbers(width, seed++).map((x) => 1 + 0.1 * x);
  return {
    embedding: numbers(vocabulary * width, seed++).map((x) => 0.05 * x), final_norm: gain(),
    layers: Array.from({ length: layers }, () => ({
      attention_norm: gain(), wq: matrix(width, width), wk: matrix(width, width), wv: matrix(width, width), wo: matrix(width, width),
      ffn_norm: gain(), w1: matrix(hidden, width), w2: matrix(width, hidden), ...(activation === 'swiglu' && { w3: matrix(hidden, width) }),
    })),
  };
}

/** The same on a grid that every precision holds, so that all must say the same: in each row 127·2ⁿ and whole multiples of 2ⁿ. */
export function coarse(weights) {
  const width = weights.final_norm.length;
  const rounded = (matrix, into) => {
    for (let first = 0; first < matrix.length; first += into) {
      const row = matrix.subarray(first, first + into), unit = 2 ** Math.ceil(Math.log2(Math.max(...row.map(Math.abs)) / 127));
      for (let i = 0; i < into; i++) row[i] = Math.round(row[i] / unit) * unit;
      row[0] = 127 * unit;
    }
  };
  rounded(weights.embedding, width);
  for (const layer of weights.layers)
    for (const [name, matrix] of Object.entries(layer)) if (name.startsWith('w')) rounded(matrix, name === 'w2' ? layer.w1.length / width : width);
  return weights;
}

/** Everything that is hot, to be made again for doubles: code that has seen both kinds of arrays is slow with either. */
function makeLoops() {
  // y[rows][out] = x[rows][into] · w[out][into]ᵀ in tiles of two rows and four columns; out is a multiple of 4.
  function linear(y, x, w, rows, into, out) {
    let r = 0;
    for (; r + 2 <= rows; r += 2) for (let o = 0; o < out; o += 4) tile(y, r * out + o, x, r * into, w, o * into, into, out);
    for (; r < rows; r++) for (let o = 0; o < out; o += 4) row(y, r * out + o, x, r * into, w, o * into, into);
  }
  function tile(y, to, x, p, w, w0, into, out) {
    const q = p + into, w1 = w0 + into, w2 = w1 + into, w3 = w2 + into;
    let a0 = 0, a1 = 0, a2 = 0, a3 = 0, b0 = 0, b1 = 0, b2 = 0, b3 = 0;
    for (let i = 0; i < into; i++) {
      const a = x[p + i], b = x[q + i], v0 = w[w0 + i], v1 = w[w1 + i], v2 = w[w2 + i], v3 = w[w3 + i];
      a0 += a * v0, a1 += a * v1, a2 += a * v2, a3 += a * v3;
      b0 += b * v0, b1 += b * v1, b2 += b * v2, b3 += b * v3;
    }
    y[to] = a0, y[to + 1] = a1, y[to + 2] = a2, y[to + 3] = a3;
    y[to + out] = b0, y[to + out + 1] = b1, y[to + out + 2] = b2, y[to + out + 3] = b3;
  }
  function row(y, to, x, p, w, w0, into) {
    const w1 = w0 + into, w2 = w1 + into, w3 = w2 + into;
    let a0 = 0, a1 = 0, a2 = 0, a3 = 0;
    for (let i = 0; i < into; i++) {
      const a = x[p + i];
      a0 += a * w[w0 + i], a1 += a * w[w1 + i], a2 += a * w[w2 + i], a3 += a * w[w3 + i];
    }
    y[to] = a0, y[to + 1] = a1, y[to + 2] = a2, y[to + 3] = a3;
  }

  function normalise(y, x, gain, rows, width) {
    for (let r = 0; r < rows; r++) {
      let squares = 0;
      for (let i = 0; i < width; i++) squares += x[r * width + i] ** 2;
      const factor = 1 / Math.sqrt(squares / width + 1e-5);
      for (let i = 0; i < width; i++) y[r * width + i] = x[r * width + i] * factor * gain[i];
    }
  }

  /** One sequence with its cache. */
  class Sequence {
    constructor(config, weights, Type = Float32Array) {
      Object.assign(this, { config, weights, Type, count: 0 });
      const { layers, length, width } = config;
      this.keys = Array.from({ length: layers }, () => new Type(length * width));
      this.values = Array.from({ length: layers }, () => new Type(length * width));
      const pairs = width / config.heads / 2;
      const angle = (n) => Math.floor(n / pairs) * 10000 ** (-(n % pairs) / pairs);
      this.cosine = Type.from({ length: length * pairs }, (_, n) => Math.cos(angle(n)));
      this.sine = Type.from({ length: length * pairs }, (_, n) => Math.sin(angle(n)));
      this.logits = new Type(config.vocabulary);
      this.#make(1);
    }
    #make(rows) {
      const { width, hidden } = this.config;
      this.space = Object.fromEntries([['x', width], ['y', width], ['q', width], ['z', width], ['up', hidden], ['gate', hidden]].map(([name, n]) => [name, new this.Type(rows * n)]));
      this.space.rows = rows;
      this.scores = new this.Type(this.config.length);
    }
    reset() { this.count = 0; }

    #turn(x, at, position) {
      const { width, heads, half } = this.config, D = width / heads, pairs = D / 2;
      for (let h = 0; h < heads; h++) for (let p = 0; p < pairs; p++) {
        const c = this.cosine[position * pairs + p], s = this.sine[position * pairs + p];
        const first = at + h * D + (half ? p : 2 * p), second = half ? first + pairs : first + 1, a = x[first], b = x[second];
        x[first] = a * c - b * s, x[second] = b * c + a * s;
      }
    }

    #attend(q, z, layer, position) {
      const { width, heads } = this.config, D = width / heads, keys = this.keys[layer], values = this.values[layer], { scores } = this;
      const scale = 1 / Math.sqrt(D);
      for (let h = 0; h < heads; h++) {
        const at = h * D;
        let most = -Infinity, sum = 0;
        for (let j = 0; j <= position; j++) {
          let s = 0;
          for (let d = 0; d < D; d++) s += q[at + d] * keys[j * width + at + d];
          scores[j] = s * scale;
          if (scores[j] > most) most = scores[j];
        }
        for (let j = 0; j <= position; j++) sum += scores[j] = Math.exp(scores[j] - most);
        z.fill(0, at, at + D);
        for (let j = 0; j <= position; j++) for (let d = 0, w = scores[j] / sum; d < D; d++) z[at + d] += w * values[j * width + at + d];
      }
    }

    /** Takes tokens in, all at once; `each` gets the logits after every one of them, else only the last has any. */
    feed(tokens, each) {
      const { config: { vocabulary, width, hidden, activation }, weights, count } = this, rows = tokens.length;
      if (this.space.rows < rows) this.#make(rows);
      const { x, y, q, z, up, gate } = this.space;
      for (let r = 0; r < rows; r++) x.set(weights.embedding.subarray(tokens[r] * width, (tokens[r] + 1) * width), r * width);
      weights.layers.forEach((w, l) => {
        normalise(y, x, w.attention_norm, rows, width);
        const keys = this.keys[l].subarray(count * width), values = this.values[l].subarray(count * width);
        linear(q, y, w.wq, rows, width, width), linear(keys, y, w.wk, rows, width, width), linear(values, y, w.wv, rows, width, width);
        for (let r = 0; r < rows; r++) this.#turn(q, r * width, count + r), this.#turn(keys, r * width, count + r);
        for (let r = 0; r < rows; r++) this.#attend(q.subarray(r * width, (r + 1) * width), z.subarray(r * width, (r + 1) * width), l, count + r);
        linear(y, z, w.wo, rows, width, width);
        for (let i = 0; i < rows * width; i++) x[i] += y[i];
        normalise(y, x, w.ffn_norm, rows, width);
        linear(gate, y, w.w1, rows, width, hidden);
        if (activation === 'swiglu') {
          linear(up, y, w.w3, rows, width, hidden);
          for (let i = 0; i < rows * hidden; i++) gate[i] = gate[i] / (1 + Math.exp(-gate[i])) * up[i];
        } else for (let i = 0; i < rows * hidden; i++) gate[i] /= 1 + Math.exp(-2 * Math.sqrt(2 / Math.PI) * (gate[i] + 0.044715 * gate[i] ** 3));
        linear(y, gate, w.w2, rows, hidden, width);
        for (let i = 0; i < rows * width; i++) x[i] += y[i];
      });
      normalise(y, x, weights.final_norm, rows, width);
      for (let r = each ? 0 : rows - 1; r < rows; r++) {
        linear(this.logits, y.subarray(r * width, (r + 1) * width), weights.embedding, 1, width, vocabulary);
        each?.(this.logits, r);
      }
      this.count += rows;
      return this.logits;
    }
  }

  return { linear, Sequence };
}
export const { linear, Sequence } = makeLoops();
function again() {
  try {
    return new Function(`return (${makeLoops})()`)();
  } catch { // a page's policy may forbid it: the same loops will do
    return makeLoops();
  }
}
let doubles;
/** A sequence in double precision. */
export const exactSequence = (config, weights) => new (doubles ??= again()).Sequence(config, weights, Float64Array);

/** Mean negative log-likelihood of each token but the first, [batch][length + 1]. */
export function lossOf(config, weights, tokens, batch) {
  let sum = 0;
  const row = tokens.length / batch;
  for (let b = 0; b < batch; b++) {
    const own = tokens.subarray(b * row, (b + 1) * row);
    exactSequence(config, weights).feed(own.subarray(0, row - 1), (logits, r) => {
      const most = logits.reduce((x, l) => Math.max(x, l), -Infinity);
      sum += Math.log(logits.reduce((x, l) => x + Math.exp(l - most), 0)) + most - logits[own[r + 1]];
    });
  }
  return sum / (tokens.length - batch);
}

export const likeliest = (logits) => logits.reduce((best, x, i) => (x > logits[best] ? i : best), 0);

/** The same weights as a llama2.c checkpoint. */
export function checkpoint({ vocabulary, width, layers, heads, hidden, length }, weights) {
  const per = (name) => weights.layers.map((layer) => layer[name]);
  const parts = [weights.embedding, ...['attention_norm', 'wq', 'wk', 'wv', 'wo', 'ffn_norm', 'w1', 'w2', 'w3'].flatMap(per), weights.final_norm, new Float32Array(length * width / heads)];
  const bytes = new Uint8Array(28 + 4 * parts.reduce((n, part) => n + part.length, 0));
  new Int32Array(bytes.buffer, 0, 7).set([width, hidden, layers, heads, heads, vocabulary, length]);
  let at = 28;
  for (const part of parts) bytes.set(new Uint8Array(part.buffer, part.byteOffset, part.byteLength), at), at += part.byteLength;
  return bytes;
}
