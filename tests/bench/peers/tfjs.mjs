// TensorFlow.js with its WebAssembly backend (XNNPACK inside). Tensors stay in its heap.
import * as tf from '@tensorflow/tfjs';
import * as backend from '@tensorflow/tfjs-backend-wasm';
import { checkedSteps, inputs } from './rows.mjs';

/** Keeps the latest result and frees the one before. */
function work(make, own) {
  let out;
  const run = () => {
    out?.dispose();
    out = tf.tidy(make);
  };
  return { run, result: () => out.dataSync().slice(), dispose: () => tf.dispose([out, own]) };
}

// A product of matrices whose gradient turns first and multiplies then: products with a transpose are plain loops there.
const turnedFirst = tf.customGrad((a, b, save) => {
  save([a, b]);
  return { value: tf.matMul(a, b), gradFunc: (dy, [x, y]) => [tf.matMul(dy, tf.transpose(y)), tf.matMul(tf.transpose(x), dy)] };
});

/** The model of llama.mjs with gelu and turned halves. Weights lie [in][out], the embedding as it is. */
function transformer({ vocabulary, width, layers, heads, hidden, length }, weights, tokens, batch, multiply) {
  const D = width / heads, rows = batch * length, variables = [];
  const variable = (values, ...shape) => variables[variables.push(tf.variable(tf.tensor(values, shape))) - 1];
  const matrix = (values, out, into) => tf.tidy(() => variables[variables.push(tf.variable(tf.transpose(tf.tensor2d(values, [out, into])))) - 1]);
  const embedding = variable(weights.embedding, vocabulary, width), finalNorm = variable(weights.final_norm, width);
  const blocks = weights.layers.map((w) => ({ norm1: variable(w.attention_norm, width), q: matrix(w.wq, width, width),
    k: matrix(w.wk, width, width), v: matrix(w.wv, width, width), o: matrix(w.wo, width, width), norm2: variable(w.ffn_norm, width), up: matrix(w.w1, hidden, width), down: matrix(w.w2, width, hidden) }));
  const own = (row, i) => tokens[Math.floor(row / length) * (length + 1) + row % length + i];
  const ids = (shift) => tf.tensor1d(Array.from({ length: rows }, (_, row) => own(row, shift)), 'int32');
  const oneHot = (shift) => tf.tidy(() => tf.cast(tf.oneHot(ids(shift), vocabulary), 'float32'));
  const read = oneHot(0), wanted = oneHot(1);
  const frequency = tf.tensor1d(Array.from({ length: D / 2 }, (_, p) => 10000 ** (-2 * p / D)));
  const angle = tf.tidy(() => tf.mul(tf.reshape(tf.range(0, length), [1, length, 1]), frequency));
  const cosine = tf.cos(angle), sine = tf.sin(angle);
  const mask = tf.tensor2d(Float32Array.from({ length: length ** 2 }, (_, n) => (n % length > Math.floor(n / length) ? -1e30 : 0)), [length, length]);
  const norm = (x, gain) => tf.mul(tf.mul(x, tf.rsqrt(tf.add(tf.mean(tf.square(x), -1, true), 1e-5))), gain);
  const split = (x) => tf.reshape(tf.transpose(tf.reshape(x, [batch, length, heads, D]), [0, 2, 1, 3]), [batch * heads, length, D]);
  const turn = (x) => {
    const [a, b] = tf.split(x, 2, 2);
    return tf.concat([tf.sub(tf.mul(a, cosine), tf.mul(b, sine)), tf.add(tf.mul(b, cosine), tf.mul(a, sine))], 2);
  };
  const block = (x, { norm1, q, k, v, o, norm2, up, down }) => {
    const y = norm(x, norm1);
    const scores = tf.mul(tf.matMul(turn(split(multiply(y, q))), turn(split(multiply(y, k))), false, true), D ** -0.5);
    const z = tf.matMul(tf.softmax(tf.add(scores, mask)), split(multiply(y, v)));
    const middle = tf.add(x, multiply(tf.reshape(tf.transpose(tf.reshape(z, [batch, heads, length, D]), [0, 2, 1, 3]), [rows, width]), o));
    const raised = multiply(norm(middle, norm2), up);
    const active = tf.mul(raised, tf.sigmoid(tf.mul(raised, tf.add(tf.mul(tf.square(raised), 0.0713548163), 1.5957691216))));
    return tf.add(middle, multiply(active, down));
  };
  const loss = () => {
    const x = blocks.reduce(block, multiply(read, embedding));
    const logits = multiply(norm(x, finalNorm), tf.transpose(embedding));
    return tf.neg(tf.mean(tf.sum(tf.mul(wanted, tf.logSoftmax(logits)), -1)));
  };
  return { variables, loss };
}

export async function load(assets) {
  if (assets.tfjsPaths) backend.setWasmPaths(assets.tfjsPaths);
  tf.env().set('WASM_HAS_MULTITHREAD_SUPPORT', false);
  await tf.setBackend('wasm');
  await tf.ready();
  if (tf.getBackend() !== 'wasm') throw new Error(`the wasm backend does not start, only ${tf.getBackend()}`);
  return {
    name: 'tfjs-wasm',
    forms: { training: ['transposes first', 'as written'] },
    kinds: {
      product(row) {
        const { m, n, k } = row, from = inputs(row);
        const a = tf.tensor2d(from.a, [m, k]), b = tf.tensor2d(from.b, [k, n]);
        return work(() => tf.matMul(a, b), [a, b]);
      },
      // Head by head, and keys turned beforehand: its products of batches or with a transpose are plain loops.
      attention(row) {
        const { length, heads, headDim } = row, from = inputs(row);
        const head = (x, h) => tf.reshape(tf.slice(tf.tensor3d(x, [length, heads, headDim]), [0, h, 0], [length, 1, headDim]), [length, headDim]);
        const own = (x) => Array.from({ length: heads }, (_, h) => tf.tidy(() => head(x, h)));
        const [q, k, v] = [own(from.q), own(from.k).map((x) => tf.transpose(x)), own(from.v)];
        const after = new Float32Array(length * length);
        for (let i = 0; i < length; i++) after.fill(-1e30, i * length + i + 1, (i + 1) * length);
        const mask = tf.tensor2d(after, [length, length]), scale = tf.scalar(headDim ** -0.5);
        return work(() => tf.reshape(tf.stack(q.map((_, h) => tf.tidy(() =>
          tf.matMul(tf.softmax(tf.add(tf.mul(tf.matMul(q[h], k[h]), scale), mask)), v[h]))), 1), [length, heads * headDim]), [q, k, v, mask, scale]);
      },
      rotate(row) {
        const { length, heads, headDim } = row, half = headDim / 2;
        const x = tf.tensor3d(inputs(row).x, [length, heads, headDim]);
        const frequency = tf.tensor1d(Array.from({ length: half }, (_, p) => 10000 ** (-2 * p / headDim)));
        const angle = tf.tidy(() => tf.mul(tf.reshape(tf.range(0, length), [length, 1, 1]), frequency));
        const table = (f) => tf.tidy(() => tf.concat([f(angle), f(angle)], 2));
        const cosine = table(tf.cos), sine = table(tf.sin);
        return work(() => {
          const [a, b] = tf.split(x, 2, 2);
          return tf.add(tf.mul(x, cosine), tf.mul(tf.concat([tf.neg(b), a], 2), sine));
        }, [x, angle, cosine, sine]);
      },
      sinusoidal({ length, width }) {
        const position = tf.reshape(tf.range(0, length), [length, 1]);
        const frequency = tf.tensor2d(Array.from({ length: width / 2 }, (_, k) => 10000 ** (-2 * k / width)), [1, width / 2]);
        return work(() => {
          const angle = tf.mul(position, frequency);
          return tf.concat([tf.sin(angle), tf.cos(angle)], 1);
        }, [position, frequency]);
      },
      bias(row) {
        const { encoding, heads, length } = row;
        const position = tf.range(0, length);
        const distance = () => tf.abs(tf.sub(tf.reshape(position, [length, 1]), tf.reshape(position, [1, length])));
        if (encoding === 'alibi') {
          const slope = tf.tensor3d(Array.from({ length: heads }, (_, h) => -(2 ** (-8 * (h + 1) / heads))), [heads, 1, 1]);
          return work(() => tf.mul(tf.reshape(distance(), [1, length, length]), slope), [position, slope]);
        }
        const table = tf.tensor2d(inputs(row).table, [32, heads]);
        return work(() => {
          const far = tf.floor(tf.add(tf.mul(tf.log(tf.div(tf.maximum(distance(), 1), 16)), 16 / Math.log(8)), 16 + 1e-4));
          const bucket = tf.cast(tf.where(tf.less(distance(), 16), distance(), tf.minimum(far, 31)), 'int32');
          return tf.transpose(tf.gather(table, tf.reshape(bucket, [-1])), [1, 0]);
        }, [position, table]);
      },
      training({ config, batch, form, ...row }) {
        const { weights, tokens } = inputs({ config, batch, ...row });
        const { variables, loss } = transformer(config, weights, tokens, batch, form === 'as written' ? tf.matMul : turnedFirst);
        const optimiser = tf.train.adam(3e-3, 0.9, 0.99, 1e-8);
        const step = () => {
          const cost = optimiser.minimize(loss, true, variables);
          const [value] = cost.dataSync();
          cost.dispose();
          return value;
        };
        const first = step();
        let last;
        for (let i = 0; i < checkedSteps; i++) last = step();
        return { run: step, result: () => Float32Array.of(first, last < 0.9 * first),
          dispose() { tf.dispose(variables), optimiser.dispose(); } };
      },
    },
  };
}
