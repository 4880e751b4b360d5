// llama2.c checkpoints: seven int32 (little endian), then the weights as floats, in a fixed order and without names.

import type { ModelRequest } from './core.js';
import { FormatError } from './errors.js';
import { floatsFrom } from './safetensors.js';

const HEADER_BYTES = 28;

/** A checkpoint in this package's terms: a configuration and named tensors. */
export interface Checkpoint {
  config: ModelRequest;
  tensors: Map<string, Float32Array>;
}

/**
 * Reads a llama2.c checkpoint (version 0, float32): RMSNorm, SwiGLU, rope with interleaved pairs and base 10000.
 * @throws FormatError when the header is not plausible or the file has not exactly the size that the header implies.
 */
export function readLlama2(file: Uint8Array): Checkpoint {
  if (file.length < HEADER_BYTES) throw new FormatError(`not a model file: ${file.length} bytes are too few`);
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const field = (i: number) => view.getInt32(4 * i, true);
  const config = { dim: field(0), hidden: field(1), layers: field(2), heads: field(3), kvHeads: field(4), length: field(6) };
  const vocabulary = Math.abs(field(5));
  const tied = field(5) > 0; // a negative vocabulary size marks a separate output head
  for (const [name, value] of Object.entries({ ...config, vocabulary })) {
    if (value < 1) throw new FormatError(`not a model file: as a llama2.c checkpoint its ${name} would be ${value}`);
  }
  const { dim, hidden, layers, heads, kvHeads, length } = config;
  if (dim % heads || heads % kvHeads || (dim / heads) % 2) {
    throw new FormatError(`not a model file: as a llama2.c checkpoint it has width ${dim}, ${heads} heads, ${kvHeads} key/value heads`);
  }

  const kvDim = (dim / heads) * kvHeads;
  const rotary = length * (dim / heads / 2); // cosines and sines, each; recomputed here
  // In the file's order; `layers` rows of each but the first and the last ones.
  const perLayer: [string, bigint][] = [
    ['attention_norm', BigInt(dim)], ['wq', BigInt(dim) ** 2n], ['wk', BigInt(kvDim) * BigInt(dim)],
    ['wv', BigInt(kvDim) * BigInt(dim)], ['wo', BigInt(dim) ** 2n], ['ffn_norm', BigInt(dim)],
    ['w1', BigInt(hidden) * BigInt(dim)], ['w2', BigInt(dim) * BigInt(hidden)], ['w3', BigInt(hidden) * BigInt(dim)],
  ];
  const embedding = BigInt(vocabulary) * BigInt(dim);
  const floats = embedding + perLayer.reduce((sum, [, size]) => sum + BigInt(layers) * size, 0n) + BigInt(dim) +
    2n * BigInt(length) * BigInt(dim / heads / 2) + (tied ? 0n : embedding);
  const wanted = BigInt(HEADER_BYTES) + 4n * floats;
  if (wanted !== BigInt(file.length)) {
    throw new FormatError(`not a whole llama2.c checkpoint: the header asks for ${wanted} bytes, the file has ${file.length}`);
  }

  // The sizes add up to the file's, so they are small integers from here on.
  const tensors = new Map<string, Float32Array>();
  let at = HEADER_BYTES;
  const take = (name: string, size: number) => {
    tensors.set(name, floatsFrom(file.subarray(at, at + 4 * size)));
    at += 4 * size;
  };
  take('embedding', Number(embedding));
  for (const [name, size] of perLayer) {
    for (let layer = 0; layer < layers; layer++) take(`layers.${layer}.${name}`, Number(size));
  }
  take('final_norm', dim);
  at += 4 * 2 * rotary;
  if (!tied) take('head', Number(embedding));
  return {
    config: {
      vocabulary, width: dim, layers, heads, kvHeads, hidden, trainedLength: length, norm: 'rms', normEpsilon: 1e-5,
      activation: 'swiglu', tied, causal: true, encoding: 'rope:pairing=interleaved',
    },
    tensors,
  };
}
