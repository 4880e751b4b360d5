// TensorFlow.js with its WebAssembly backend (XNNPACK inside). Tensors stay in its heap.
import * as tf from '@tensorflow/tfjs-core';
import * as backend from '@tensorflow/tfjs-backend-wasm';
import { inputs } from './rows.mjs';

/** Keeps the latest result and frees the one before. */
function work(make, own) {
  let out;
  const run = () => {
    out?.dispose();
    out = tf.tidy(make);
  };
  return { run, result: () => out.dataSync().slice(), dispose: () => tf.dispose([out, own]) };
}

export async function load(assets) {
  if (assets.tfjsPaths) backend.setWasmPaths(assets.tfjsPaths);
  tf.env().set('WASM_HAS_MULTITHREAD_SUPPORT', false);
  await tf.setBackend('wasm');
  await tf.ready();
  if (tf.getBackend() !== 'wasm') throw new Error(`the wasm backend does not start, only ${tf.getBackend()}`);
  return {
    name: 'tfjs-wasm', version: tf.version_core,
    kinds: {
      product(row) {
        const { m, n, k } = row, from = inputs(row);
        const a = tf.tensor2d(from.a, [m, k]), b = tf.tensor2d(from.b, [k, n]);
        return work(() => tf.matMul(a, b), [a, b]);
      },
      // Head by head, and keys turned beforehand: its products of batches or with a transpose are plain loops.
      attention(row) {
        const { length, heads, headDim } = row, from = inputs(row);
        const own = (x) => Array.from({ length: heads }, (_, h) => tf.tidy(() => tf.reshape(tf.slice(tf.tensor3d(x, [length, heads, headDim]), [0, h, 0], [length, 1, headDim]), [length, headDim])));
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
        const angle = tf.tidy(() => tf.mul(tf.reshape(tf.range(0, length), [length, 1, 1]), tf.tensor1d(Array.from({ length: half }, (_, p) => 10000 ** (-2 * p / headDim)))));
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
    },
  };
}
