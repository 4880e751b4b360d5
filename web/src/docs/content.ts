// What a content term does to attention, for sample tokens. The library gives what is read: with one-hot values that is the
// attention itself, and with values of zero it is what the value door adds.
import type { Encoding, Lengthwise } from 'lengthwise';
import { heads, make, type Picture, type Scene } from './pictures.ts';

export const mostContentTokens = 64;
const headDim = mostContentTokens; // room for one-hot values
const width = 64;

export function contentPictures(lw: Lengthwise, spec: string, scene: Scene): Picture[] {
  const { tokens, head } = scene;
  const random = normal(7);
  const draw = (size: number) => Float32Array.from({ length: tokens * size }, random);
  const [q, k, x] = [draw(heads * headDim), draw(heads * headDim), draw(width)];
  const oneHot = new Float32Array(tokens * heads * headDim), nothing = new Float32Array(oneHot.length);
  for (let j = 0; j < tokens; j++) for (let h = 0; h < heads; h++) oneHot[(j * heads + h) * headDim + j] = 1;

  const look = (name: string) => {
    const encoding = make(lw, name, scene, { headDim, width });
    turnUp(encoding, normal(11));
    const read = encoding.attention(q, k, oneHot, { x });
    const added = encoding.attention(q, k, nothing, { x });
    encoding.dispose();
    const of = (row: number) => row * heads * headDim + head * headDim;
    const weights = new Float32Array(tokens * tokens);
    for (let i = 0; i < tokens; i++) for (let j = 0; j < tokens; j++) {
      weights[i * tokens + j] = scene.causal && j > i ? NaN : read[of(i) + j]! - added[of(i) + j]!;
    }
    const value = Float32Array.from({ length: tokens * headDim }, (_, at) => added[of(Math.floor(at / headDim)) + (at % headDim)]!);
    return { weights, value };
  };
  const { weights, value } = look(spec), plain = look('nope').weights;
  // Logarithms of weights are scores up to a constant of each row: that of the query's own key.
  const score = (w: Float32Array, at: number) => Math.log(w[at]! / w[Math.floor(at / tokens) * (tokens + 1)]!);
  const term = weights.map((_, at) => score(weights, at) - score(plain, at));
  const map = { kind: 'map', x: 'key', y: 'query', columns: tokens, rows: tokens, head } as const;
  const all: Picture[] = [
    { ...map, what: 'term', door: 'content', data: term },
    { ...map, what: 'weights', door: 'content', data: weights },
  ];
  if (value.some((v) => v !== 0)) all.push({ ...map, what: 'read', door: 'value', x: 'column', columns: headDim, data: value });
  return all;
}

// At the start of training most learned numbers are too small to see, or zero: they are made larger here.
function turnUp(encoding: Encoding, random: () => number): void {
  const all = Object.entries(encoding.parameters);
  const largest = (data: Float32Array) => data.reduce((most, v) => Math.max(most, Math.abs(v)), 0);
  const blank = all.every(([, { data }]) => largest(data) === 0);
  for (const [name, { data }] of all) {
    if (largest(data) < 0.2) encoding.setParameter(name, data.map((v) => (blank ? 0.2 * random() : 10 * v)));
  }
}

/** Normally distributed numbers, the same ones for a seed. */
function normal(seed: number): () => number {
  let state = seed;
  const uniform = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
  return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
}
