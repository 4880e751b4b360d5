// jax-js on its WebAssembly device, jitted. Its arrays are owned: each use but the last asks for a reference.
import { blockUntilReady, defaultDevice, init, jit, nn, numpy as np } from '@jax-js/jax';
import { inputs } from './rows.mjs';

function work(f, ...own) {
  let out;
  const compiled = jit(f);
  const run = async () => {
    out?.dispose();
    out = compiled(...own.map((x) => x.ref));
    await blockUntilReady(out.ref);
  };
  return { run, result: async () => Float32Array.from(await out.ref.data()), dispose: () => [out, ...own].forEach((x) => x?.dispose()) };
}
const array = (data, ...shape) => np.array(data).reshape(shape);

export async function load() {
  await init('wasm');
  defaultDevice('wasm');
  await np.array([1, 2]).add(1).data(); // throws where the engine and its memory do not get on
  return {
    name: 'jax-js',
    kinds: {
      product(row) {
        const { m, n, k } = row, { a, b } = inputs(row);
        return work((x, y) => np.matmul(x, y), array(a, m, k), array(b, k, n));
      },
      attention(row) {
        const { length, heads, headDim } = row, { q, k, v } = inputs(row);
        return work((x, y, z) => nn.dotProductAttention(x, y, z, { isCausal: true }), ...[q, k, v].map((x) => array(x, length, heads, headDim)));
      },
      rotate(row) {
        const { length, heads, headDim } = row, half = headDim / 2;
        const angle = (_, n) => Math.floor(n / half) * 10000 ** (-2 * (n % half) / headDim);
        const angles = Array.from({ length: length * half }, angle);
        const table = (f) => array(Float32Array.from(angles, f), length, 1, half);
        return work((x, cosine, sine) => {
          const [a, b] = np.split(x, 2, -1);
          return np.concatenate([a.ref.mul(cosine.ref).sub(b.ref.mul(sine.ref)), b.mul(cosine).add(a.mul(sine))], -1);
        }, array(inputs(row).x, length, heads, headDim), table(Math.cos), table(Math.sin));
      },
      sinusoidal({ length, width }) {
        return work((position, frequency) => {
          const angle = position.mul(frequency);
          return np.concatenate([np.sin(angle.ref), np.cos(angle)], 1);
        }, array(Float32Array.from({ length }, (_, p) => p), length, 1),
        array(Float32Array.from({ length: width / 2 }, (_, k) => 10000 ** (-2 * k / width)), 1, width / 2));
      },
    },
  };
}
