// An encoding on its own: what each of its doors gives, as plain arrays.

import * as check from './check.js';
import type { Core, NativeEncoder, ShapeRequest } from './core.js';
import { made, succeed } from './errors.js';
import { borrow, filledFloats, Handle, readBytes, readDoubles, readFloats, type Scratch } from './memory.js';
import { specText, type EncodingSpec } from './spec.js';

/** A door: where position enters a transformer. */
export type Door = 'ids' | 'input' | 'rotation' | 'bias' | 'content' | 'pattern' | 'scale' | 'value';

/** Which neighbours a rotation pairs: 'interleaved' (2k, 2k+1) or 'half' (k, k + pairs). */
export type Pairing = 'interleaved' | 'half';

/** The attention an encoding is made for. */
export interface EncodingShape {
  /** Query heads, 1 … 1024 (default 1). */
  heads?: number;
  /** Key/value heads, a divisor of `heads` (default `heads`). */
  kvHeads?: number;
  /** Width of one head, 1 … 4096 (default `width / heads`, or 64). */
  headDim?: number;
  /** Width of the model, 1 … 65536 (default `heads · headDim`). */
  width?: number;
  /** Length trained on: the size of learned tables, the border that scales know (default 512). */
  trainedLength?: number;
  /** Whether a token sees only itself and those before it (default true). */
  causal?: boolean;
  /** Seed of learned parameters and random ids, an integer ≥ 0 (default 0). */
  seed?: number;
}

/** A rectangle of scores: `queries` rows, the first of them token `offset`, against `keys` columns. */
export interface Rectangle {
  queries?: number;
  /** Default: as many as `positions`, or up to the last query. */
  keys?: number;
  /**
   * Which token the first query is. Default `keys − queries`: the queries are the latest tokens. With a causal mask it may
   * be negative: rows before token 0 see nothing, and their bias is 0.
   */
  offset?: number;
  /** The numbers that tokens 0, 1, … carry; default 0, 1, … They may be fractional. */
  positions?: ArrayLike<number>;
}

/** Cosines and sines `[length][pairs]` of a rotation; no pairs: the door is closed. */
export interface Rotation {
  cos: Float32Array<ArrayBuffer>;
  sin: Float32Array<ArrayBuffer>;
  pairs: number;
  pairing: Pairing;
}

/** Learned parameters by name. */
export type EncodingParameters = Record<string, { rows: number; columns: number; data: Float32Array<ArrayBuffer> }>;

interface Description {
  spec: string;
  doors: Door[];
  readsInput: boolean;
  readsTokens: boolean;
  mixes: boolean;
  pairs: number;
  pairing: Pairing;
  scoreScale: number;
  embeddingScale: number;
  lengthDependent: boolean;
  learned: boolean;
  parameters: { name: string; rows: number; columns: number; offset: number }[];
}

export const SHAPE_KEYS = ['heads', 'kvHeads', 'headDim', 'width', 'trainedLength', 'causal', 'seed'] as const;
const MOST_TOKENS = 2 ** 24; // the longest plan the core makes

/** Fills in the defaults of a shape and checks what depends on them; the core checks the ranges. */
export function shapeRequest(shape: EncodingShape = {}): ShapeRequest {
  check.keys('shape', shape, SHAPE_KEYS);
  const heads = check.count('heads', shape.heads ?? 1);
  if (shape.headDim === undefined && shape.width !== undefined && check.count('width', shape.width) % heads !== 0) {
    throw new RangeError(`width is ${shape.width}; without headDim it must be a multiple of heads (${heads})`);
  }
  const headDim = check.count('headDim', shape.headDim ?? (shape.width === undefined ? 64 : shape.width / heads));
  return {
    heads, headDim,
    kvHeads: check.count('kvHeads', shape.kvHeads ?? heads),
    width: check.count('width', shape.width ?? heads * headDim),
    trainedLength: check.count('trainedLength', shape.trainedLength ?? 512),
    causal: check.flag('causal', shape.causal ?? true),
  };
}

/**
 * One encoding, or several working together, made by {@link Lengthwise.encoding}. A door that is closed gives its neutral
 * element: vectors and biases of 0, factors of 1, no pairs, everything visible that the mask allows. All results are copies.
 */
export class Encoding extends Handle<NativeEncoder> {
  readonly #core: Core;
  readonly #shape: ShapeRequest;
  readonly #description: Description;

  /** @internal */
  constructor(core: Core, spec: EncodingSpec, shape: EncodingShape = {}) {
    const request = shapeRequest(shape);
    const seed = check.integer('seed', shape.seed ?? 0, 0);
    const text = specText(spec);
    if (text.includes('|')) throw new RangeError(`encoding is '${check.shorten(text)}'; allowed here: one stack, without |, which separates the layers of a model`);
    super(made(core.Encoder.make(text, request, seed), core), 'encoding');
    this.#core = core;
    this.#shape = request;
    try {
      succeed(this.native.plan(0, 1, 0));
      this.#description = JSON.parse(this.native.describe());
      if (this.#description.readsTokens) succeed(this.native.tokens(0, 0)); // from now on they are the caller's
    } catch (error) {
      this.dispose();
      throw error;
    }
  }

  /** The spec as text, in the core's spelling. */
  get spec(): string { return this.#description.spec; }
  /** The doors it opens. */
  get doors(): Door[] { return [...this.#description.doors]; }
  /** The factor on q·k: 1/√headDim unless the encoding says otherwise. */
  get scoreScale(): number { return this.#description.scoreScale; }
  /** The factor on token embeddings before the input door's vector is added. */
  get embeddingScale(): number { return this.#description.embeddingScale; }
  /** Whether its rotation depends on how many tokens there are. */
  get lengthDependent(): boolean { return this.#description.lengthDependent; }
  /** Whether it has learned parameters. */
  get learned(): boolean { return this.#description.learned; }
  get shape(): Required<Omit<EncodingShape, 'seed'>> { return { ...this.#shape }; }

  /** Whether it looks at which tokens there are: then {@link setTokens} comes first. */
  get readsTokens(): boolean { return this.#description.readsTokens; }

  /** Whether it adds to the embedding what it mixes from those of neighbours, inside a model: no {@link table} holds that. */
  get mixes(): boolean { return this.#description.mixes; }

  /** Says which tokens the following calls are about, for encodings that look at them. @param tokens their ids, one for each position. */
  setTokens(tokens: ArrayLike<number>): void {
    const ids = check.tokens('tokens', tokens, 2 ** 31);
    borrow(this.#core, (scratch) => succeed(this.native.tokens(scratch.integers(ids), ids.length)));
  }

  /** The numbers that tokens carry after the ids door. @param tokens a length, or the numbers before it. */
  positions(tokens: number | ArrayLike<number>): Float64Array<ArrayBuffer> {
    return borrow(this.#core, (scratch) => {
      const length = this.#plan(scratch, 'tokens', tokens);
      const out = scratch.space(length * 8);
      this.native.positions(out);
      return readDoubles(this.#core, out, length);
    });
  }

  /** What is added to token embeddings, `[length][width]`. @param tokens a length, or the positions of the tokens. */
  table(tokens: number | ArrayLike<number>): Float32Array<ArrayBuffer> {
    return borrow(this.#core, (scratch) => {
      const length = this.#plan(scratch, 'tokens', tokens);
      const size = length * this.#shape.width;
      if (!this.#opens('input')) return new Float32Array(size);
      if (this.mixes) throw new RangeError(`${this.spec} has no table: it mixes neighbours by learned weights, inside a model; allowed: encodings that do not`);
      return filledFloats(this.#core, size, (out) => this.native.input(out));
    });
  }

  /**
   * Cosines and sines of the rotation, times the gain where there is one.
   * @param tokens a length, or the positions of the tokens.
   * @param options `side`: queries (default) or keys, which differ in xpos; `length` is how many tokens there are
   * (default: up to the last position), for encodings that ask.
   */
  rotation(tokens: number | ArrayLike<number>, options: { side?: 'query' | 'key'; length?: number } = {}): Rotation {
    check.keys('rotation options', options, ['side', 'length']);
    const key = check.choice('side', options.side ?? 'query', ['query', 'key']) === 'key';
    return borrow(this.#core, (scratch) => {
      const length = this.#plan(scratch, 'tokens', tokens, options.length);
      const { pairs, pairing } = this.#description;
      const size = length * pairs;
      const cosine = scratch.space(size * 4);
      const sine = scratch.space(size * 4);
      if (pairs) this.native.rotation(cosine, sine, key);
      return { cos: readFloats(this.#core, cosine, size), sin: readFloats(this.#core, sine, size), pairs, pairing };
    });
  }

  /**
   * How far each pair turns from one position to the next, in radians: `inv_freq`. Empty without a rotation.
   * @param options `length`: how many tokens there are (default 1), for encodings that ask.
   */
  inverseFrequencies(options: { length?: number } = {}): Float64Array<ArrayBuffer> {
    check.keys('inverseFrequencies options', options, ['length']);
    const length = check.count('length', options.length ?? 1, MOST_TOKENS);
    return borrow(this.#core, (scratch) => {
      const out = scratch.space(this.#description.pairs * 8);
      this.native.frequencies(out, length);
      return readDoubles(this.#core, out, this.#description.pairs);
    });
  }

  /**
   * Rotates queries or keys.
   * @param x vectors `[count][heads][headDim]`; NaN stays NaN.
   * @param positions the position of each token, or that of the first one, the others following.
   * @param options `heads` (default: the shape's), `side`: queries (default) or keys, which differ where there is a gain,
   * `inverse` turns back (the adjoint: a gain is applied once more), `inPlace` writes into `x` (a Float32Array) and
   * returns it, `length` is how many tokens there are (default: up to the last position), for encodings that ask.
   */
  rotate(
    x: ArrayLike<number>,
    positions: number | ArrayLike<number>,
    options: { heads?: number; side?: 'query' | 'key'; inverse?: boolean; inPlace?: boolean; length?: number } = {},
  ): Float32Array {
    check.keys('rotate options', options, ['heads', 'side', 'inverse', 'inPlace', 'length']);
    const heads = check.count('heads', options.heads ?? this.#shape.heads);
    const side = check.choice('side', options.side ?? 'query', ['query', 'key']);
    const inverse = check.flag('inverse', options.inverse ?? false);
    if (check.flag('inPlace', options.inPlace ?? false) && !check.isA('Float32Array', x)) throw new TypeError('x must be a Float32Array to be rotated in place');
    const { data, count } = this.#vectors(x, heads);
    const where = placed('positions', positions, count);
    return borrow(this.#core, (scratch) => {
      this.#plan(scratch, 'positions', where, options.length);
      const block = scratch.floats(data);
      succeed(this.native.rotate(block, count, heads, 0, side === 'key', inverse));
      const result = readFloats(this.#core, block, data.length);
      if (!options.inPlace) return result;
      data.set(result);
      return data;
    });
  }

  /**
   * Moves vectors that were rotated for positions `from` to positions `to`, for instance cached keys after tokens before
   * them were dropped. Equals rotating the raw vectors at `to`: a gain is not applied again.
   * @param x vectors `[count][heads][headDim]`.
   * @param from the position of each token, or that of the first one, the others following; `to` likewise.
   * @param options `heads` (default: the shape's key/value heads), `side`: keys (default) or queries.
   */
  reposition(
    x: ArrayLike<number>, from: number | ArrayLike<number>, to: number | ArrayLike<number>, options: { heads?: number; side?: 'query' | 'key' } = {},
  ): Float32Array<ArrayBuffer> {
    check.keys('reposition options', options, ['heads', 'side']);
    if (this.lengthDependent) throw new RangeError(`'${this.spec}' turns all keys anew when there are more; keep them unrotated`);
    const heads = check.count('heads', options.heads ?? this.#shape.kvHeads);
    const side = check.choice('side', options.side ?? 'key', ['query', 'key']);
    const { data, count } = this.#vectors(x, heads);
    const where = [...placed('from', from, count), ...placed('to', to, count)];
    return borrow(this.#core, (scratch) => {
      this.#plan(scratch, 'positions', where);
      const block = scratch.floats(data);
      this.native.turnOn(block, count, heads, side === 'key');
      return readFloats(this.#core, block, data.length);
    });
  }

  /**
   * What is added to the scores, `[heads][queries][keys]`. The mask is not in it: what a causal one hides means nothing.
   * @param scores a length, or a rectangle.
   */
  bias(scores: number | Rectangle): Float32Array<ArrayBuffer> {
    return borrow(this.#core, (scratch) => {
      const { queries, keys, offset, unseeing } = this.#rectangle(scratch, scores);
      const { heads } = this.#shape;
      const seeing = filledFloats(this.#core, heads * queries * keys, (out) => this.native.bias(out, queries, keys, offset));
      if (!unseeing) return seeing;
      const [from, to] = [queries * keys, (queries + unseeing) * keys];
      const result = new Float32Array(heads * to);
      for (let h = 0; h < heads; h++) result.set(seeing.subarray(h * from, (h + 1) * from), (h + 1) * to - from);
      return result;
    });
  }

  /** Which query sees which key, `[queries][keys]`, 1 = visible. @param scores a length, or a rectangle. */
  pattern(scores: number | Rectangle): Uint8Array<ArrayBuffer> {
    return borrow(this.#core, (scratch) => {
      const { queries, keys, offset, unseeing } = this.#rectangle(scratch, scores);
      const out = scratch.space((unseeing + queries) * keys);
      const seeing = out + unseeing * keys;
      this.#core.HEAPU8.fill(0, out, seeing);
      this.native.pattern(seeing, queries, keys, offset);
      return readBytes(this.#core, out, (unseeing + queries) * keys);
    });
  }

  /** The factor on the scores of each row, `[heads][length]`. @param tokens a length, or the positions of the tokens. */
  scale(tokens: number | ArrayLike<number>): Float32Array<ArrayBuffer> {
    return borrow(this.#core, (scratch) => {
      const length = this.#plan(scratch, 'tokens', tokens);
      return filledFloats(this.#core, this.#shape.heads * length, (out) => this.native.scale(out));
    });
  }

  /**
   * Attention with this encoding's rotation, bias, content, pattern and scale: softmax(scores)·v for each head.
   * @param q `[queries][heads][headDim]`, unrotated.
   * @param k `[keys][kvHeads][headDim]`, unrotated.
   * @param v as `k`.
   * @param options `offset`: which token the first query is (default `keys − queries`; rows before token 0 see nothing
   * and give zeros); `positions`: the numbers that the tokens carry; `x`: the layer's input `[queries][width]`, which
   * forget gates read.
   * @returns `[queries][heads][headDim]`
   */
  attention(
    q: ArrayLike<number>, k: ArrayLike<number>, v: ArrayLike<number>,
    options: { offset?: number; positions?: ArrayLike<number>; x?: ArrayLike<number> } = {},
  ): Float32Array<ArrayBuffer> {
    check.keys('attention options', options, ['offset', 'positions', 'x']);
    const { heads, kvHeads, headDim, width } = this.#shape;
    const data = { q: check.floats('q', q), k: check.floats('k', k), v: check.floats('v', v) };
    const [rowSize, keySize] = [heads * headDim, kvHeads * headDim];
    const rows = Math.ceil(data.q.length / rowSize) || 1;
    const keys = Math.ceil(data.k.length / keySize) || 1;
    check.exactly('q', data.q.length, rows * rowSize, `whole rows of ${heads} heads of ${headDim}`);
    check.exactly('k', data.k.length, keys * keySize, `whole rows of ${kvHeads} heads of ${headDim}`);
    check.exactly('v', data.v.length, data.k.length, `as many keys as k`);
    const { queries, offset, unseeing } = this.#place(rows, keys, options.offset);
    const x = options.x === undefined ? undefined : check.floats('x', options.x);
    if (x) check.exactly('x', x.length, rows * width, `${rows} rows of width ${width}`);
    else if (this.#description.readsInput) throw new RangeError(`x is missing; '${this.spec}' reads the layer's input [queries][width]`);
    const result = new Float32Array(rows * rowSize);
    if (queries === 0) return result;
    return borrow(this.#core, (scratch) => {
      this.#planFor(scratch, Math.max(keys, offset + queries), options.positions);
      const [qAt, kAt, vAt] = [scratch.floats(data.q.subarray(unseeing * rowSize)), scratch.floats(data.k), scratch.floats(data.v)];
      const xAt = x ? scratch.floats(x.subarray(unseeing * width)) : 0;
      const seeing = filledFloats(this.#core, queries * rowSize, (out) => this.native.attention(qAt, kAt, vAt, xAt, out, queries, keys, offset));
      result.set(seeing, unseeing * rowSize);
      return result;
    });
  }

  /** The learned parameters, copied; empty when nothing is learned. Where two encodings use one name it is `encoding.name`. */
  get parameters(): EncodingParameters {
    const base = this.native.parameters() / 4;
    return Object.fromEntries(this.#description.parameters.map(({ name, rows, columns, offset }) =>
      [name, { rows, columns, data: readFloats(this.#core, (base + offset) * 4, rows * columns) }]));
  }

  /**
   * Replaces a learned parameter, for instance by a table trained elsewhere.
   * @param data `[rows][columns]`; infinities may stand in it (a bias of −∞ hides a key), NaN may not.
   */
  setParameter(name: string, data: ArrayLike<number>): void {
    const known = this.#description.parameters;
    const parameter = known.find((p) => p.name === check.text('name', name));
    if (!parameter) throw new RangeError(`'${this.spec}' has no parameter of the name '${check.shorten(name)}'; it has ${known.map((p) => p.name).join(', ') || 'none'}`);
    const values = check.floats(name, data);
    check.exactly(name, values.length, parameter.rows * parameter.columns, `[${parameter.rows}][${parameter.columns}]`);
    const bad = values.findIndex(Number.isNaN);
    if (bad >= 0) throw new RangeError(`${name}[${bad}] is NaN; it must be a number, or an infinity`);
    this.#core.HEAPF32.set(values, this.native.parameters() / 4 + parameter.offset);
  }

  #vectors(x: ArrayLike<number>, heads: number): { data: Float32Array; count: number } {
    const data = check.floats('x', x);
    const vector = heads * this.#shape.headDim;
    const count = Math.floor(data.length / vector);
    check.exactly('x', data.length, Math.max(count, 1) * vector, `a multiple of ${heads} heads of ${this.#shape.headDim}`);
    return { data, count };
  }

  #opens(door: Door): boolean {
    return this.#description.doors.includes(door);
  }

  /** Makes the core plan for these tokens. @returns how many they are. */
  #plan(scratch: Scratch, name: string, tokens: number | ArrayLike<number>, present?: number): number {
    if (typeof tokens !== 'object') {
      if (typeof tokens !== 'number') throw new TypeError(`${name} must be a number or an array of numbers, not ${check.describe(tokens)}`);
      const length = check.count(name, tokens, MOST_TOKENS);
      succeed(this.native.plan(0, length, check.count('length', present ?? length, MOST_TOKENS)));
      return length;
    }
    const where = check.positions(name, tokens);
    const last = where.reduce((most, p) => Math.max(most, p), 0);
    const now = check.count('length', present ?? Math.min(Math.max(where.length, Math.floor(last) + 1), MOST_TOKENS), MOST_TOKENS);
    succeed(this.native.plan(scratch.doubles(where), where.length, now));
    return where.length;
  }

  /** Makes the core plan for `length` tokens, which may carry numbers of their own. */
  #planFor(scratch: Scratch, length: number, positions: ArrayLike<number> | undefined): void {
    if (positions === undefined) this.#plan(scratch, 'length', length);
    else check.exactly('positions', this.#plan(scratch, 'positions', check.positions('positions', positions)), length, `${length} tokens`);
  }

  /** Where the rows lie: `unseeing` ones before token 0, then `queries` from token `offset`. */
  #place(rows: number, keys: number, given: number | undefined): { queries: number; offset: number; unseeing: number } {
    const wanted = given === undefined ? keys - rows : checkOffset(given);
    if (wanted < 0 && !this.#shape.causal) {
      throw new RangeError(`offset is ${wanted}${given === undefined ? ' (keys − queries)' : ''}; without a causal mask it must be at least 0`);
    }
    const unseeing = Math.min(Math.max(-wanted, 0), rows);
    return { queries: rows - unseeing, offset: wanted + unseeing, unseeing };
  }

  #rectangle(scratch: Scratch, scores: number | Rectangle): { queries: number; keys: number; offset: number; unseeing: number } {
    if (typeof scores === 'number') scores = { queries: check.count('scores', scores, MOST_TOKENS) };
    check.keys('scores', scores ?? null, ['queries', 'keys', 'offset', 'positions']);
    const { offset, positions } = scores;
    const told = positions === undefined ? undefined : check.positions('positions', positions).length;
    const rows = check.count('queries', scores.queries ?? scores.keys ?? told, MOST_TOKENS);
    const keys = check.count('keys', scores.keys ?? told ?? (offset === undefined ? 0 : checkOffset(offset)) + rows, MOST_TOKENS);
    const place = this.#place(rows, keys, offset);
    this.#planFor(scratch, Math.max(keys, place.offset + place.queries), positions);
    return { keys, ...place };
  }
}

function checkOffset(offset: unknown): number {
  return check.integer('offset', offset, -MOST_TOKENS, MOST_TOKENS);
}

/** The positions of `count` tokens: as given, or counted from the first. */
function placed(name: string, positions: number | ArrayLike<number>, count: number): Float64Array {
  if (typeof positions !== 'object') {
    const first = check.integer(name, positions, -(2 ** 53) + 1, 2 ** 53 - 1 - count);
    return Float64Array.from({ length: count }, (_, i) => first + i);
  }
  const where = check.positions(name, positions);
  check.exactly(name, where.length, count, `x with ${count} tokens`);
  return where;
}
