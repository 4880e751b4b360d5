// What other implementations keep in tables of their own, computed by the core; and weights moved between layouts.

import * as check from './check.js';
import type { Encoding, EncodingShape, Pairing } from './encoding.js';
import { Lengthwise } from './engine.js';
import type { EncodingSpec } from './spec.js';

/** The slopes of ALiBi, one for each head: the bias is −slope·distance. */
export function alibiSlopes(lw: Lengthwise, heads: number): Float32Array<ArrayBuffer> {
  const bias = once(lw, 'alibi', { heads: check.count('heads', heads), headDim: 1 }, (alibi) => alibi.bias({ queries: 1, keys: 2 })); // at distances 1 and 0
  return bias.filter((_, i) => i % 2 === 0).map((distant) => -distant);
}

/**
 * The bucket of each relative position in T5's table, as `_relative_position_bucket` of transformers has it.
 * @param relativePositions key − query: negative to the left.
 */
export function relativePositionBuckets(
  lw: Lengthwise, relativePositions: ArrayLike<number>, options: { bidirectional?: boolean; numBuckets?: number; maxDistance?: number } = {},
): Int32Array<ArrayBuffer> {
  check.keys('relativePositionBuckets options', options, ['bidirectional', 'numBuckets', 'maxDistance']);
  const { bidirectional = true } = options;
  const [numBuckets, maxDistance] = [check.count('numBuckets', options.numBuckets ?? 32), check.count('maxDistance', options.maxDistance ?? 128)];
  const list = check.numbers('relativePositions', relativePositions);
  const result = new Int32Array(list.length);
  const causal = !check.flag('bidirectional', bidirectional);
  once(lw, { name: 't5', buckets: numBuckets, max_distance: maxDistance }, { headDim: 1, causal }, (t5) => {
    t5.setParameter(Object.keys(t5.parameters)[0]!, Float32Array.from({ length: numBuckets }, (_, bucket) => bucket));
    const most = 256; // the core makes a table of keys × keys
    for (let at = 0; at < list.length; at += most) {
      const keys = Array.from({ length: Math.min(most, list.length - at) }, (_, i) => check.integer(`relativePositions[${at + i}]`, list[at + i]));
      const row = t5.bias({ queries: 1, positions: [...keys, 0] }); // the query, at 0, is the last token
      result.set(row.subarray(0, keys.length), at);
    }
  });
  return result;
}

function once<T>(lw: Lengthwise, spec: EncodingSpec, shape: EncodingShape, work: (encoding: Encoding) => T): T {
  if (!(lw instanceof Lengthwise)) throw new TypeError(`lw must be what load() gives, not ${check.describe(lw)}`);
  const encoding = lw.encoding(spec, shape);
  try {
    return work(encoding);
  } finally {
    encoding.dispose();
  }
}

/**
 * Moves the rows of a query or key projection (or of its bias) from one pairing to the other. GGUF files of the Llama
 * family are interleaved, Hugging Face's are half.
 * @param data `[heads·headDim][columns]`; what comes back is of the same kind.
 * @param options `heads` is the number of *key/value* heads for k. `columns`: numbers in a row, 1 for a bias.
 * `rotaryDim`: how many dimensions of a head turn (default all).
 */
export function permuteRotaryRows<T extends Float32Array | Float64Array | Uint16Array | Int8Array | Uint8Array | number[]>(
  data: T, options: { heads: number; headDim: number; columns: number; rotaryDim?: number; from: Pairing; to: Pairing },
): T {
  check.object('permuteRotaryRows options', options);
  check.keys('permuteRotaryRows options', options, ['heads', 'headDim', 'columns', 'rotaryDim', 'from', 'to']);
  const { heads, headDim, columns } = options;
  for (const name of ['heads', 'headDim', 'columns'] as const) check.count(name, options[name]);
  const rotaryDim = check.integer('rotaryDim', options.rotaryDim ?? headDim, 2, headDim);
  if (rotaryDim % 2) throw new RangeError(`rotaryDim is ${rotaryDim}; it must be even`);
  const [from, to] = (['from', 'to'] as const).map((name) => check.choice(name, options[name], ['interleaved', 'half']));
  check.exactly('data', check.numbers('data', data).length, heads * headDim * columns, `[${heads} heads · ${headDim}][${columns}]`);
  // A Buffer of Node is a Uint8Array whose slice() shares its memory.
  const result = (check.isA('Uint8Array', data) ? new Uint8Array(data) : data.slice()) as T;
  if (from === to) return result;
  for (let h = 0; h < heads; h++) {
    for (let d = 0; d < rotaryDim; d++) {
      const other = d % 2 ? (rotaryDim + d - 1) / 2 : d / 2; // where interleaved dimension d lies in half
      const [source, target] = (from === 'interleaved' ? [d, other] : [other, d]).map((row) => (h * headDim + row) * columns) as [number, number];
      for (let c = 0; c < columns; c++) result[target + c] = data[source + c]!;
    }
  }
  return result;
}
